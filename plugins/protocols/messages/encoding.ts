/** The context that all parts of the request encoder share, and the flags of a model's messages endpoint. */
import { z } from 'zod';
import { createFlagReader, type CanonicalRequest, type Model } from '../../../core/index.ts';
import { buildEncoding, type Encoding as BaseEncoding } from '../../shared/wire-kit/encoding.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { protocolName } from './bag.ts';
import { createMarkEncoder, type MarkEncoder } from './cache.ts';

export interface Encoding extends BaseEncoding {
  readonly mark: MarkEncoder;
}

export function createEncoding(
  request: CanonicalRequest,
  model: Model,
  lose: Lose,
  inPlace = false,
): Encoding {
  return { ...buildEncoding(request, model, lose, inPlace), mark: createMarkEncoder(request, lose) };
}

export const flagsSchema = z.strictObject({
  /** Whether the model can be made to call a tool. */
  forcesTools: z.boolean().default(true),
  /** Whether the model accepts system messages within a conversation. */
  midSystem: z.boolean().default(false),
  /** Whether the model continues an answer that the client has begun. */
  prefill: z.boolean().default(true),
});

export const readFlags = createFlagReader(protocolName, flagsSchema);
