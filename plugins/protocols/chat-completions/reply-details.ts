/** Reads the parts of a reply that come as lists: `reasoning_details`, content in parts, and `images`. */
import type { Opaque } from '../../../core/index.ts';
import type { Transcript } from '../../shared/wire-kit/transcript.ts';
import { readObject, readObjects } from '../../shared/wire-kit/values.ts';
import { readDetail, type Detail } from './reasoning.ts';

/** A block of reasoning: its text so far, the index of its entry, and its sealed state. */
export interface OpenReasoning {
  readonly transcript: Transcript | undefined;
  entry: unknown;
  readonly opaque: Opaque[];
}

interface Entry extends Pick<Detail, 'text' | 'opaque'> {
  readonly index: unknown;
  /** Whether any entry of the same delta holds sealed state. */
  readonly isSealing: boolean;
}

/** Returns the entries with text or sealed state, and whether any has text. */
export function readEntries(details: readonly unknown[]): {
  readonly entries: readonly Entry[];
  readonly hasText: boolean;
} {
  const all = readObjects(details).map((entry) => ({
    ...readDetail(entry),
    index: entry.index ?? undefined,
  }));
  const isSealing = all.some(({ opaque }) => opaque.length > 0);
  const entries = all.filter(({ text, opaque }) => text !== '' || opaque.length > 0);
  return {
    entries: entries.map((entry) => ({ ...entry, isSealing })),
    hasText: all.some(({ text }) => text !== ''),
  };
}

/** Tells how an entry relates to the open block. A provider may repeat the block's entire text to seal it. */
export function compareEntry(
  { text, index, isSealing }: Entry,
  open: OpenReasoning | undefined,
): 'begins' | 'continues' | 'repeats' {
  if (!open || (index !== undefined && open.entry !== undefined && open.entry !== index)) return 'begins';
  if (isSealing && text === open.transcript?.text) return 'repeats';
  return text === '' || open.opaque.length === 0 ? 'continues' : 'begins';
}

/** Reads content that comes in parts. Mistral sends parts if the content holds reasoning. */
export function* readParts(
  parts: readonly unknown[],
): Generator<readonly [kind: 'text' | 'reasoning', text: string]> {
  for (const { text, thinking } of readObjects(parts)) {
    if (typeof text === 'string') yield ['text', text];
    for (const thought of readObjects(thinking))
      if (typeof thought.text === 'string') yield ['reasoning', thought.text];
  }
}

/** Reads the URLs in OpenRouter's `images`. */
export function* readImages(images: readonly unknown[]): Generator<string> {
  for (const image of readObjects(images)) {
    const { url } = readObject(image.image_url);
    if (typeof url === 'string') yield url;
  }
}
