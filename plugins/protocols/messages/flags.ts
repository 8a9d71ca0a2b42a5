/** What a catalogue says about a model's messages endpoint, in `capabilities.wire.messages`. */
import { z } from 'zod';
import { flagReader } from '../../../core/index.ts';
import { protocolName } from './bag.ts';

export const flagsSchema = z.strictObject({
  /** Whether system text may come in the middle of a conversation. */
  midSystem: z.boolean().default(false),
  /** Whether the model continues an answer that the client has begun. */
  prefill: z.boolean().default(true),
});

export const readFlags = flagReader(protocolName, flagsSchema);
