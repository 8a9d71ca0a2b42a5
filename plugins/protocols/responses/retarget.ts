/**
 * Edits for the verbatim lane: sets the provider's model name and a lowered limit, and removes our `provider`
 * object.
 */
import type { Edit, Retarget } from '../../../core/index.ts';

export function retarget({ model, outputLimit }: Retarget): readonly Edit[] {
  const edits: Edit[] = [
    { path: ['model'], value: model },
    { path: ['provider'], value: undefined },
  ];
  if (outputLimit !== undefined) edits.push({ path: ['max_output_tokens'], value: outputLimit });
  return edits;
}
