/**
 * Base64 in both alphabets: Google's Python SDK writes the URL-safe one, which other vendors refuse. We keep
 * data in the standard alphabet, with notes on how it was written, so that the same text can be restored.
 */
import type { Base64Form } from './bag.ts';

export interface ReadBase64 {
  readonly data: string;
  /** Empty if the text was in the standard alphabet, with padding. */
  readonly form: readonly Base64Form[];
}

/** Converts text to the standard alphabet. Text that mixes both alphabets stays as it is. */
export function readBase64(text: string): ReadBase64 {
  const isUrlSafe = text.includes('-') || text.includes('_');
  if (isUrlSafe && (text.includes('+') || text.includes('/'))) return { data: text, form: [] };
  const data = isUrlSafe ? text.replaceAll('-', '+').replaceAll('_', '/') : text;
  const missing = (4 - (data.length % 4)) % 4;
  const lacksPadding = missing === 1 || missing === 2;
  return {
    data: lacksPadding ? data + '='.repeat(missing) : data,
    form: [...(isUrlSafe ? (['url-safe'] as const) : []), ...(lacksPadding ? (['unpadded'] as const) : [])],
  };
}

/** Restores the text as it was written. */
export function writeBase64(data: string, form: readonly string[]): string {
  const text = form.includes('url-safe') ? data.replaceAll('+', '-').replaceAll('/', '_') : data;
  return form.includes('unpadded') ? text.replace(/={1,2}$/, '') : text;
}
