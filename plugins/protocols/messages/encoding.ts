/** The context that all parts of the request encoder share, and the flags of a model's messages endpoint. */
import { z } from 'zod';
import { createFlagReader } from '../../../core/index.ts';
import type { Encoding as BaseEncoding } from '../../shared/wire-kit/encoding.ts';
import { protocolName } from './bag.ts';
import type { MarkEncoder } from './cache.ts';

export interface Encoding extends BaseEncoding {
  readonly mark: MarkEncoder;
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
