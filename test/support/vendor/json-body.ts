/** Reads a request's body as a vendor does: valid UTF-8, one JSON object, and no name twice at its top. */
import { isObject, type Json } from '../json.ts';
import type { WholeReply } from './delivery.ts';
import { Refused } from './stage.ts';

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

/** `refuse` builds the refusal of a body with a name twice, or, without a name, of one that is no JSON. */
export function readBody(bytes: Buffer, refuse: (twice?: string) => WholeReply): Json {
  let text: string;
  let body: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    body = JSON.parse(text);
  } catch {
    throw new Refused(refuse());
  }
  if (!isObject(body)) throw new Refused(refuse());
  const names = listTopLevelNames(text);
  const name = names.find((one, index) => names.indexOf(one) < index);
  if (name !== undefined) throw new Refused(refuse(name));
  return body;
}
