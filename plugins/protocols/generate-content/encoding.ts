/** The context that all parts of the request encoder share, and the flags of a model's endpoint. */
import { z } from 'zod';
import { createFlagReader, type CanonicalRequest, type Model } from '../../../core/index.ts';
import { buildEncoding, type Encoding as BaseEncoding } from '../../shared/wire-kit/encoding.ts';
import { readOwner } from '../../shared/wire-kit/fit-to-model.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { protocolName, vendorName } from './bag.ts';

export interface Encoding extends BaseEncoding {
  /** Whether the model is Google's own. Only Google can read the state that it sealed. */
  readonly native: boolean;
  /** Whether the model is Gemini 3 or later. These check signatures, and accept files inside tool results. */
  readonly modern: boolean;
}

export function createEncoding(
  request: CanonicalRequest,
  model: Model,
  lose: Lose,
  inPlace = false,
): Encoding {
  const base = buildEncoding(request, model, lose, inPlace);
  return { ...base, native: isNative(model), modern: isModern(model) };
}

export const flagsSchema = z.strictObject({
  /** Whether the model refuses to give several answers to a call. */
  oneCandidate: z.boolean().default(false),
  /**
   * Whether the endpoint takes functions beside Google's own tools, which it demands a switch for. Google's
   * API does since Gemini 3. Vertex has no such switch.
   */
  mixedTools: z.boolean().default(false),
});

export const readFlags = createFlagReader(protocolName, flagsSchema);

/** A name without a version, such as `gemini-flash-latest`, means a modern model. */
export function isModern({ upstream }: Model): boolean {
  const [, version] = /gemini-(?:[a-z]+-)*(\d+)?/.exec(upstream) ?? [];
  return upstream.includes('gemini') && Number(version ?? Infinity) >= 3;
}

export function isNative(model: Model): boolean {
  return readOwner(model) === vendorName;
}

/** Whether the model refuses tool calls of the current turn without a signature. */
export function checksSignatures(model: Model): boolean {
  return isNative(model) && isModern(model);
}
