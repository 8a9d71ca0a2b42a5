/**
 * Media URLs and audio formats, in both directions. Data URLs are split without reading their content. One
 * with an unusual prefix (parameters, upper case) keeps it.
 */
import type { MediaBlock } from '../../../core/index.ts';
import { buildDataUrl, readDataUrl } from '../../shared/wire-kit/media.ts';

type Source = MediaBlock['source'];

interface ReadUrl {
  readonly source: Source;
  readonly mediaType?: string;
  /** The data URL's prefix, if it is not the usual one. */
  readonly form: readonly string[];
}

/** Turns a URL into a source. A data URL in base64 becomes its data. */
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

/** Turns a source into a URL. Returns undefined for a vendor's file or plain text, which have none. */
export function writeUrl({ source, mediaType }: MediaBlock, form: readonly string[]): string | undefined {
  if (source.type === 'url') return source.url;
  if (source.type !== 'base64') return undefined;
  const prefix = form.find((flag) => flag.startsWith('data:'));
  return buildDataUrl(source.data, mediaType, prefix);
}

/** Flag of media in one of Mistral's short forms. */
export const shortForm = 'short';

const prefixes = [
  ['UklGR', 'audio/wav'],
  ['SUQz', 'audio/mpeg'],
  ['//', 'audio/mpeg'],
  ['ZkxhQ', 'audio/flac'],
  ['T2dnU', 'audio/ogg'],
] as const;

/** Guesses the media type of base64 audio by its first bytes. */
export function soundTypeOf(data: string): string | undefined {
  return prefixes.find(([prefix]) => data.startsWith(prefix))?.[1];
}
