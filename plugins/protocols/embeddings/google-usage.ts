/** Google's counts of tokens, of which those of media have rates of their own. */
import { toCount, type Usage } from '../../../core/index.ts';
import { keepKnown, readObjects } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';

const modalities = [
  ['AUDIO', 'inputAudio'],
  ['IMAGE', 'inputImage'],
  ['VIDEO', 'inputVideo'],
] as const;

/** Undefined if there are no counts, as for the older models. */
export function decodeUsage({ promptTokenCount, promptTokensDetails }: Fields): Usage | undefined {
  const input = toCount(promptTokenCount);
  if (input === undefined) return undefined;
  const details = readObjects(promptTokensDetails);
  const parts = modalities.map(([word, name]) => [
    name,
    toCount(details.find(({ modality }) => modality === word)?.tokenCount),
  ]);
  return { input, output: 0, ...keepKnown(Object.fromEntries(parts)) };
}

export function encodeUsage(usage: Usage): Fields {
  const { input = 0 } = usage;
  const media = modalities.flatMap(([modality, name]) => {
    const tokenCount = usage[name];
    return tokenCount === undefined ? [] : [{ modality, tokenCount }];
  });
  const text = input - media.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  const details = [...(text > 0 ? [{ modality: 'TEXT', tokenCount: text }] : []), ...media];
  return { promptTokenCount: input, totalTokenCount: input, promptTokensDetails: details };
}
