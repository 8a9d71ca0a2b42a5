/** What all parts of the request encoder share, and the flags of a model's messages endpoint. */
import { z } from 'zod';
import { type Model, flagReader } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { protocolName } from './bag.ts';
import type { MarkEncoder } from './cache.ts';

export interface Encoding {
  /** True if the client speaks this protocol, so that its request is restored exactly. */
  readonly own: boolean;
  readonly model: Model;
  /** The vendor of the model, the only one that can read the state it sealed. */
  readonly owner: string;
  readonly mark: MarkEncoder;
  readonly lose: Lose;
}

export const flagsSchema = z.strictObject({
  /** Whether system text may come in the middle of a conversation. */
  midSystem: z.boolean().default(false),
  /** Whether the model continues an answer that the client has begun. */
  prefill: z.boolean().default(true),
});

export const readFlags = flagReader(protocolName, flagsSchema);
