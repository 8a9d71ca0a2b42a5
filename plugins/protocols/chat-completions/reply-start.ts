/** Reads what the first chunk, or a whole completion, states about the reply. */
import { knownCount, type CanonicalEvent } from '../../../core/index.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

type ResponseStart = Extract<CanonicalEvent, { type: 'response-start' }>;

/**
 * Fields that are read elsewhere, and fields about our account with the provider, which clients must not see.
 */
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

function readUnknown(chunk: Fields): Fields {
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
  return Object.assign(start, bag.keep(readUnknown(chunk)));
}
