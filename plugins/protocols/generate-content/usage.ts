/**
 * Converts token counts, in both directions. The candidates' count excludes thoughts, the prompt's count
 * excludes the input of Google's own tools, and zeros are omitted. The total includes everything. Each chunk
 * holds the counts so far.
 */
import { toCount, type Usage } from '../../../core/index.ts';
import { keepKnown, readObjects } from '../../shared/wire-kit/values.ts';
import { type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';

function addCounts(...counts: readonly (number | undefined)[]): number | undefined {
  return counts.every((count) => count === undefined)
    ? undefined
    : counts.reduce<number>((total, count) => total + (count ?? 0), 0);
}

function readModality(details: unknown, name: string): number | undefined {
  return toCount(readObjects(details).find((each) => each.modality === name)?.tokenCount);
}

function readOutput(wire: Fields, prompt: number | undefined): number | undefined {
  const listed = addCounts(toCount(wire.candidatesTokenCount), toCount(wire.thoughtsTokenCount));
  const total = toCount(wire.totalTokenCount);
  if (total === undefined || prompt === undefined) return listed;
  return Math.max(listed ?? 0, total - prompt);
}

/** Fields that hold the counts. Other fields, such as the counts by modality, are kept unchanged. */
export const countFields = splitNames(`
  promptTokenCount cachedContentTokenCount candidatesTokenCount toolUsePromptTokenCount thoughtsTokenCount
  totalTokenCount
`);

/** If there are counts by modality, an omitted count is zero, since clients expect both together. */
function readWithMedia(media: readonly (number | undefined)[], count: unknown): number | undefined {
  return toCount(count) ?? (media.some((known) => known !== undefined) ? 0 : undefined);
}

/** Returns undefined if `wire` holds no counts. */
export function decodeUsage(wire: Fields): Usage | undefined {
  const toolPrompt = toCount(wire.toolUsePromptTokenCount);
  const input = addCounts(toCount(wire.promptTokenCount), toolPrompt);
  const [inputAudio, inputImage] = ['AUDIO', 'IMAGE'].map((name) =>
    readModality(wire.promptTokensDetails, name),
  );
  const [outputAudio, outputImage] = ['AUDIO', 'IMAGE'].map((name) =>
    readModality(wire.candidatesTokensDetails, name),
  );
  return keepKnown({
    input,
    cacheRead: readWithMedia([inputAudio, inputImage], wire.cachedContentTokenCount),
    cacheReadAudio: readModality(wire.cacheTokensDetails, 'AUDIO'),
    inputAudio,
    inputImage,
    toolPrompt,
    output: readOutput(wire, input),
    reasoning: readWithMedia([outputAudio, outputImage], wire.thoughtsTokenCount),
    outputAudio,
    outputImage,
  });
}

function encodeModalities(
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

/** `vendorFields` are the fields besides the counts, from a provider of this protocol. */
export function encodeUsage(usage: Usage, vendorFields: Fields): Fields {
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
    promptTokensDetails: encodeModalities(prompt, usage.inputAudio, usage.inputImage),
    candidatesTokensDetails: encodeModalities(candidates, usage.outputAudio, usage.outputImage),
    ...vendorFields,
  };
}
