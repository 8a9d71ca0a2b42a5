/** What the first chunk of a reply, or a whole completion, says of the reply as such. */
import { knownCount, type CanonicalEvent } from '../../../core/index.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

type ResponseStart = Extract<CanonicalEvent, { type: 'response-start' }>;

/** Known fields of a chunk, and those that are about the vendor's account rather than the reply. */
const chunkFields = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'error',
  'obfuscation',
  'x_groq',
  'provider',
  'usage_breakdown',
]);
const nothing: Fields = {};

function unknownIn(chunk: Fields): Fields {
  let unknown: Record<string, unknown> | undefined;
  for (const name of Object.keys(chunk)) {
    if (chunk[name] !== null && !chunkFields.has(name)) (unknown ??= {})[name] = chunk[name];
  }
  return unknown ?? nothing;
}

export function decodeStart(chunk: Fields): ResponseStart {
  const { id, model } = chunk;
  const created = knownCount(chunk.created);
  const start: ResponseStart = { type: 'response-start' };
  if (typeof id === 'string') start.id = id;
  if (typeof model === 'string') start.model = model;
  if (created !== undefined) start.created = created;
  return Object.assign(start, bag.keep(unknownIn(chunk)));
}
