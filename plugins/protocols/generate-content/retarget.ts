/**
 * The edits of the verbatim lane, made in the client's own bytes. They set the output limit, remove our
 * `provider` object, and set the model if the body names one. Usually only the address does.
 */
import type { Edit, Retarget } from '../../../core/index.ts';
import { GenerateCall } from './read-request.ts';
import { writtenPath, type SpellingNote } from './spelling.ts';

const limitPath = ['generationConfig', 'maxOutputTokens'] as const;

export function retarget({ call, model, outputLimit }: Retarget): readonly Edit[] {
  const edits: Edit[] = [];
  const { spelling = [], modelPath, providerPaths = [] } = call instanceof GenerateCall ? call : {};
  for (const path of providerPaths) edits.push({ path: respell(path, spelling), value: undefined });
  if (modelPath) edits.push({ path: respell(modelPath, spelling), value: `models/${model}` });
  if (outputLimit !== undefined && outputLimit !== call.outputLimit)
    edits.push({ path: respell(limitPath, spelling), value: outputLimit });
  return edits;
}

/** The path with the client's own field names. */
function respell(
  [outer, inner]: readonly [string] | readonly [string, string],
  spelling: readonly SpellingNote[],
): Edit['path'] {
  const outerName = writtenPath(outer, spelling);
  if (inner === undefined) return [outerName];
  return [outerName, writtenPath(`${outer}.${inner}`, spelling).slice(outerName.length + 1)];
}
