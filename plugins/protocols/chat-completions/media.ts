/**
 * Media as chat-completions writes it, to canonical sources and back. Data URLs are taken apart without looking
 * at their content, and one written in an unusual way (parameters, upper case) keeps its own beginning.
 */
import type { Block } from '../../../core/index.ts';

export type MediaBlock = Extract<Block, { type: 'media' }>;
export type Source = MediaBlock['source'];

const longestPrefix = 256;
const dataUrl = /^data:([^;,]*)[^,]*;base64,$/i;

/** Where the data of a base64 data URL begins; undefined for any other URL. */
function dataStart(url: string): number | undefined {
  if (!url.startsWith('data:')) return undefined;
  const comma = url.slice(0, longestPrefix).indexOf(',');
  return comma > 0 && dataUrl.test(url.slice(0, comma + 1)) ? comma + 1 : undefined;
}

export function base64Of(url: string): string | undefined {
  const start = dataStart(url);
  return start === undefined ? undefined : url.slice(start);
}

/** Clients send a file's data as a data URL, OpenRouter's also as an address, and some as bare base64. */
export function isUrl(text: string): boolean {
  return /^(data|https?):/.test(text);
}

export interface ReadUrl {
  readonly source: Source;
  readonly mediaType?: string;
  /** The URL's own beginning, where it is not the usual one. */
  readonly form: readonly string[];
}

/** A URL as a source: the data itself where the URL holds it in base64. */
export function readUrl(url: string): ReadUrl {
  const start = dataStart(url);
  if (start === undefined) return { source: { type: 'url', url }, form: [] };
  const prefix = url.slice(0, start);
  const mediaType = dataUrl.exec(prefix)?.[1]?.toLowerCase() ?? '';
  const source: Source = { type: 'base64', data: url.slice(start) };
  if (mediaType === '') return { source, form: [prefix] };
  return { source, mediaType, form: prefix === usualPrefix(mediaType) ? [] : [prefix] };
}

function usualPrefix(mediaType: string): string {
  return `data:${mediaType};base64,`;
}

/** A source as a URL; undefined where it has none: a vendor's own file, or bare text. */
export function writeUrl({ source, mediaType }: MediaBlock, form: readonly string[]): string | undefined {
  if (source.type === 'url') return source.url;
  if (source.type !== 'base64') return undefined;
  return (form.find((word) => word.startsWith('data:')) ?? usualPrefix(mediaType ?? 'application/octet-stream')) + source.data;
}

const audioTypes: Readonly<Record<string, string>> = { wav: 'audio/wav', mp3: 'audio/mpeg' };
const audioFormats: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
};

export function audioType(format: string): string {
  return audioTypes[format] ?? `audio/${format}`;
}

/** The word chat-completions has for a media type; undefined where it takes no such audio. */
export function audioFormat(mediaType: string | undefined): string | undefined {
  return mediaType === undefined ? undefined : audioFormats[mediaType.toLowerCase()];
}
