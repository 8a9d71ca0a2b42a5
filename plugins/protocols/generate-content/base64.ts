/**
 * Base64 in both its alphabets: Google's Python SDK writes the URL-safe one, which other vendors refuse. Data is
 * kept in the standard alphabet, with words that say how it was written, so that the same text can be restored.
 */

const urlSafe = 'url-safe';
const unpadded = 'unpadded';

export interface ReadBase64 {
  readonly data: string;
  /** How it was written, where that is not the standard way. */
  readonly form: readonly string[];
}

function standard(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/');
}

/** Text of either alphabet, in the standard one; a mixture of both is nobody's form and stays as it is. */
export function readBase64(text: string): ReadBase64 {
  const isUrlSafe = text.includes('-') || text.includes('_');
  if (isUrlSafe && (text.includes('+') || text.includes('/'))) return { data: text, form: [] };
  const data = isUrlSafe ? standard(text) : text;
  const missing = (4 - (data.length % 4)) % 4;
  const pads = missing === 1 || missing === 2;
  return {
    data: pads ? data + '='.repeat(missing) : data,
    form: [...(isUrlSafe ? [urlSafe] : []), ...(pads ? [unpadded] : [])],
  };
}

/** The text as it was written. */
export function writeBase64(data: string, form: readonly string[]): string {
  const text = form.includes(urlSafe) ? data.replaceAll('+', '-').replaceAll('/', '_') : data;
  return form.includes(unpadded) ? text.replace(/={1,2}$/, '') : text;
}
