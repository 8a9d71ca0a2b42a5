/**
 * Token counts of this wire. Its candidates leave thoughts out, its prompt what the vendor's own tools read, and a
 * zero is not written at all: the total tells the rest. Each chunk has the whole count so far.
 */
import { knownCount, type Usage } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

function sum(...counts: readonly (number | undefined)[]): number | undefined {
  return counts.every((count) => count === undefined)
    ? undefined
    : counts.reduce<number>((total, count) => total + (count ?? 0), 0);
}

function modality(details: unknown, name: string): number | undefined {
  const entries: unknown[] = Array.isArray(details) ? details : [];
  const entry = entries.find((each) => isObject(each) && each.modality === name);
  return isObject(entry) ? knownCount(entry.tokenCount) : undefined;
}

function outputOf(wire: Fields, prompt: number | undefined): number | undefined {
  const told = sum(knownCount(wire.candidatesTokenCount), knownCount(wire.thoughtsTokenCount));
  const total = knownCount(wire.totalTokenCount);
  if (total === undefined || prompt === undefined) return told;
  return Math.max(told ?? 0, total - prompt);
}

/** The counts as such; what else a vendor says of them, as which media they are of, is kept as it stands. */
export const counters: ReadonlySet<string> = new Set([
  'promptTokenCount',
  'cachedContentTokenCount',
  'candidatesTokenCount',
  'toolUsePromptTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
]);

/** A count that is not written is none beside the media it would be told with: clients want the one with the other. */
function countBeside(media: readonly (number | undefined)[], count: unknown): number | undefined {
  return knownCount(count) ?? (media.some((known) => known !== undefined) ? 0 : undefined);
}

/** Undefined where nothing in it is a count. */
export function decodeUsage(wire: Fields): Usage | undefined {
  const toolPrompt = knownCount(wire.toolUsePromptTokenCount);
  const input = sum(knownCount(wire.promptTokenCount), toolPrompt);
  const [inputAudio, inputImage] = ['AUDIO', 'IMAGE'].map((name) => modality(wire.promptTokensDetails, name));
  const [outputAudio, outputImage] = ['AUDIO', 'IMAGE'].map((name) =>
    modality(wire.candidatesTokensDetails, name),
  );
  const counts = {
    input,
    cacheRead: countBeside([inputAudio, inputImage], wire.cachedContentTokenCount),
    cacheReadAudio: modality(wire.cacheTokensDetails, 'AUDIO'),
    inputAudio,
    inputImage,
    toolPrompt,
    output: outputOf(wire, input),
    reasoning: countBeside([outputAudio, outputImage], wire.thoughtsTokenCount),
    outputAudio,
    outputImage,
  };
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

function details(
  whole: number | undefined,
  audio: number | undefined,
  image: number | undefined,
): Fields[] | undefined {
  if (whole === undefined) return undefined;
  const text = Math.max(0, whole - (audio ?? 0) - (image ?? 0));
  const rows = [
    ['TEXT', text || undefined],
    ['IMAGE', image],
    ['AUDIO', audio],
  ] as const;
  return rows.flatMap(([name, tokenCount]) =>
    tokenCount === undefined ? [] : [{ modality: name, tokenCount }],
  );
}

/** Passed also what a vendor of this wire said of the counts, which is more than they tell. */
export function encodeUsage(usage: Usage, said: Fields): Fields {
  const { input, output, reasoning, toolPrompt } = usage;
  const prompt = input === undefined ? undefined : Math.max(0, input - (toolPrompt ?? 0));
  const candidates = output === undefined ? undefined : Math.max(0, output - (reasoning ?? 0));
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: usage.cacheRead,
    candidatesTokenCount: candidates,
    toolUsePromptTokenCount: toolPrompt,
    thoughtsTokenCount: reasoning,
    totalTokenCount: input === undefined || output === undefined ? undefined : input + output,
    promptTokensDetails: details(prompt, usage.inputAudio, usage.inputImage),
    candidatesTokensDetails: details(candidates, usage.outputAudio, usage.outputImage),
    ...said,
  };
}
