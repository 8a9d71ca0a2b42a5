/** The entries of `reasoning_details` in a reply, and which of them belong to the block of reasoning that is open. */
import type { Opaque } from '../../../core/index.ts';
import type { Transcript } from '../../shared/wire-kit/transcript.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { readDetail, type Detail } from './reasoning.ts';

/** A block of reasoning: its text so far, the index of the entry it came from, and the state sealed with it. */
export interface OpenReasoning {
  readonly said: Transcript | undefined;
  entry: unknown;
  readonly opaque: Opaque[];
}

export interface Entry extends Pick<Detail, 'text' | 'opaque'> {
  readonly index: unknown;
  /** Whether any entry of the same delta holds sealed state. */
  readonly isSealing: boolean;
}

/** The entries that say something, and whether any of them has text. */
export function readEntries(details: readonly unknown[]): {
  readonly entries: readonly Entry[];
  readonly hasText: boolean;
} {
  const all = details
    .filter(isObject)
    .map((entry) => ({ ...readDetail(entry), index: entry.index ?? undefined }));
  const isSealing = all.some(({ opaque }) => opaque.length > 0);
  const entries = all.filter(({ text, opaque }) => text !== '' || opaque.length > 0);
  return {
    entries: entries.map((entry) => ({ ...entry, isSealing })),
    hasText: all.some(({ text }) => text !== ''),
  };
}

/** Whether an entry begins a block or belongs to the open one. It may repeat the whole text of that one, only to seal it. */
export function relationOf(
  { text, index, isSealing }: Entry,
  open: OpenReasoning | undefined,
): 'begins' | 'goes on' | 'repeats' {
  if (!open || (index !== undefined && open.entry !== undefined && open.entry !== index)) return 'begins';
  if (isSealing && text === open.said?.text) return 'repeats';
  return text === '' || open.opaque.length === 0 ? 'goes on' : 'begins';
}

/** Content in parts: Mistral writes it so once there is reasoning in it. */
export function* readParts(
  parts: readonly unknown[],
): Generator<readonly [kind: 'text' | 'reasoning', text: string]> {
  for (const part of parts) {
    if (!isObject(part)) continue;
    const { text, thinking } = part;
    if (typeof text === 'string') yield ['text', text];
    const thoughts: unknown[] = Array.isArray(thinking) ? thinking : [];
    for (const thought of thoughts)
      if (isObject(thought) && typeof thought.text === 'string') yield ['reasoning', thought.text];
  }
}

/** The addresses of pictures in `images`, as OpenRouter writes them. */
export function* readImages(images: readonly unknown[]): Generator<string> {
  for (const image of images) {
    const url = isObject(image) && isObject(image.image_url) ? image.image_url.url : undefined;
    if (typeof url === 'string') yield url;
  }
}
