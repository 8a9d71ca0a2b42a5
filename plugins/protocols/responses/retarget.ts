/** The edits of the verbatim lane: the model by the vendor's name, our own `provider` object out, and a lowered limit. */
import type { Edit, Retarget } from '../../../core/index.ts';

export function retarget({ model, outputLimit }: Retarget): readonly Edit[] {
  const edits: Edit[] = [
    { path: ['model'], value: model },
    { path: ['provider'], value: undefined },
  ];
  if (outputLimit !== undefined) edits.push({ path: ['max_output_tokens'], value: outputLimit });
  return edits;
}
