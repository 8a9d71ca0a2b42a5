/**
 * The edits of the verbatim lane, made in the client's own bytes: the output limit where it has to be lowered or
 * stated, our own `provider` object out, and the model where the body names it; otherwise the address does.
 */
import type { Edit, Retarget } from '../../../core/index.ts';
import { GenerateCall } from './read-request.ts';
import { toldPath } from './spelling.ts';

const limitPath = ['generationConfig', 'maxOutputTokens'] as const;

export function retarget({ call, model, outputLimit }: Retarget): readonly Edit[] {
  const edits: Edit[] = [];
  const words = call instanceof GenerateCall ? call.words : [];
  const path = call instanceof GenerateCall ? call.modelPath : undefined;
  if (call instanceof GenerateCall)
    for (const each of call.providerPaths) edits.push({ path: told(each, words), value: undefined });
  if (path) edits.push({ path: told(path, words), value: `models/${model}` });
  if (outputLimit !== undefined && outputLimit !== call.outputLimit)
    edits.push({ path: told(limitPath, words), value: outputLimit });
  return edits;
}

/** The path by the names the client uses. */
function told(path: readonly [string] | readonly [string, string], words: readonly string[]): Edit['path'] {
  const [outer, inner] = path;
  const outerName = toldPath(outer, words);
  if (inner === undefined) return [outerName];
  return [outerName, toldPath(`${outer}.${inner}`, words).slice(outerName.length + 1)];
}
