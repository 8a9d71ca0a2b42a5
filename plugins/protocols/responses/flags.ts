/** What a catalogue says about a model's responses endpoint, in `capabilities.wire.responses`. */
import { z } from 'zod';
import { flagReader } from '../../../core/index.ts';
import { protocolName } from './bag.ts';

export const flagsSchema = z.strictObject({
  /** xAI names its replies by ids without the prefix that clients expect. */
  ids: z.enum(['prefixed', 'bare']).default('prefixed'),
  /**
   * Whether OpenAI's cache marks are taken. Other models decide themselves what to cache, and refuse the
   * marks.
   */
  cacheMarks: z.boolean().default(false),
});

export const readFlags = flagReader(protocolName, flagsSchema);
