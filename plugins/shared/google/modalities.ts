/** Google's counts of tokens by modality, in both directions. What is no media is text. */
import { toCount } from '../../../core/index.ts';
import { readObjects } from '../wire-kit/values.ts';
import type { Fields } from '../wire-kit/vendor-bag.ts';

export function readModality(details: unknown, name: string): number | undefined {
  return toCount(readObjects(details).find(({ modality }) => modality === name)?.tokenCount);
}

export function encodeModalities(
  whole: number | undefined,
  media: Readonly<Record<string, number | undefined>>,
): Fields[] | undefined {
  if (whole === undefined) return undefined;
  const listed = Object.entries(media).flatMap(([modality, tokenCount]) =>
    tokenCount === undefined ? [] : [{ modality, tokenCount }],
  );
  const text = whole - listed.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  return text > 0 ? [{ modality: 'TEXT', tokenCount: text }, ...listed] : listed;
}
