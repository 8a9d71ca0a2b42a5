/**
 * Media as chat-completions writes it, to canonical sources and back. Data URLs are taken apart without looking
 * at their content, and one written in an unusual way (parameters, upper case) keeps its own beginning.
 */
import type { Block } from '../../../core/index.ts';
import { dataUrl, readDataUrl } from '../../shared/wire-kit/media.ts';

export type MediaBlock = Extract<Block, { type: 'media' }>;
export type Source = MediaBlock['source'];

export interface ReadUrl {
  readonly source: Source;
  readonly mediaType?: string;
  /** The URL's own beginning, where it is not the usual one. */
  readonly form: readonly string[];
}

/** A URL as a source: the data itself where the URL holds it in base64. */
export function readUrl(url: string): ReadUrl {
  const read = readDataUrl(url);
  if (!read) return { source: { type: 'url', url }, form: [] };
  const { data, mediaType, prefix } = read;
  return {
    source: { type: 'base64', data },
    ...(mediaType === '' ? {} : { mediaType }),
    form: prefix === undefined ? [] : [prefix],
  };
}

/** A source as a URL; undefined where it has none: a vendor's own file, or bare text. */
export function writeUrl({ source, mediaType }: MediaBlock, form: readonly string[]): string | undefined {
  if (source.type === 'url') return source.url;
  if (source.type !== 'base64') return undefined;
  return dataUrl(
    source.data,
    mediaType,
    form.find((word) => word.startsWith('data:')),
  );
}

/** How media is kept that was written in one of Mistral's short forms. */
export const shortForm = 'short';

const audioTypes: ReadonlyMap<string, string> = new Map([
  ['wav', 'audio/wav'],
  ['mp3', 'audio/mpeg'],
]);
const audioFormats: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
};

export function audioType(format: string): string {
  return audioTypes.get(format) ?? `audio/${format}`;
}

const beginnings = [
  ['UklGR', 'audio/wav'],
  ['SUQz', 'audio/mpeg'],
  ['//', 'audio/mpeg'],
  ['ZkxhQ', 'audio/flac'],
  ['T2dnU', 'audio/ogg'],
] as const;

/** The type of a sound in base64 that came without one, as far as its beginning shows. */
export function soundTypeOf(data: string): string | undefined {
  return beginnings.find(([beginning]) => data.startsWith(beginning))?.[1];
}

/** The word chat-completions has for a media type; undefined where it takes no such audio. */
export function audioFormat(mediaType: string | undefined): string | undefined {
  return mediaType === undefined ? undefined : audioFormats[mediaType.toLowerCase()];
}
