/** Reads a request's body as a vendor does: valid UTF-8, one JSON object, and no name twice at its top. */
import { isObject } from '../json.ts';

/**
 * The names at the top of a JSON object, repeated ones repeated: a parser would keep the last and hide a bad
 * splice.
 */
export function listTopLevelNames(text: string): string[] {
  const names: string[] = [];
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*:?|[{}[\]]/gs)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && token.endsWith(':')) names.push(String(JSON.parse(token.slice(0, -1))));
  }
  return names;
}

export type ReadBody =
  | { readonly body: Readonly<Record<string, unknown>> }
  | { readonly fault: 'unreadable' }
  | { readonly fault: 'repeated'; readonly name: string };

export function readBody(bytes: Buffer): ReadBody {
  let text: string;
  let body: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    body = JSON.parse(text);
  } catch {
    return { fault: 'unreadable' };
  }
  if (!isObject(body)) return { fault: 'unreadable' };
  const names = listTopLevelNames(text);
  const name = names.find((one, index) => names.indexOf(one) < index);
  return name === undefined ? { body } : { fault: 'repeated', name };
}
