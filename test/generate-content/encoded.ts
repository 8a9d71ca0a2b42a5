/** What the tests of translation to this protocol share: models, and the contents that are sent. */
import type { Model, Turn } from '../../core/index.ts';
import { makeModel, encode } from './bodies.ts';

export const gemma = makeModel({
  id: 'google/gemma-3',
  upstream: 'gemma-3-27b',
  capabilities: { reasoning: { style: 'none' }, tools: false },
});

export function encodeContents(turns: Turn[], model?: Model): unknown {
  return encode({ turns }, model).body.contents;
}

export function isRecord(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value);
}

/** The parts of all contents in a row. */
export function encodeParts(turns: Turn[], model?: Model): Record<string, unknown>[] {
  const all = encodeContents(turns, model);
  return isRecord(all) ? all.flatMap(({ parts }) => (isRecord(parts) ? parts : [])) : [];
}

export const claudes = { vendor: 'anthropic', kind: 'signature', value: 'Y2xhdWRl' };
