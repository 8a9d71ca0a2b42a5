/** The context that all parts of the request encoder share, and the flags of a model's responses endpoint. */
import { z } from 'zod';
import { createFlagReader } from '../../../core/index.ts';
import type { Encoding as BaseEncoding } from '../../shared/wire-kit/encoding.ts';
import { protocolName } from './bag.ts';
import type { ToolNames } from './tool-names.ts';

export interface Encoding extends BaseEncoding {
  readonly names: ToolNames;
  readonly marks: boolean;
  readonly dialect: 'openai' | 'perplexity';
  /** Ids of calls to custom tools. Their results have an item type of their own. */
  readonly customCalls: ReadonlySet<string>;
}

export const flagsSchema = z.strictObject({
  /** xAI's ids of replies lack the prefix that clients expect. */
  ids: z.enum(['prefixed', 'bare']).default('prefixed'),
  /** Whether the model accepts OpenAI's cache marks. Most refuse them. */
  cacheMarks: z.boolean().default(false),
  /** Perplexity demands a type of each message, takes an answer as one text, and has filters of its own. */
  dialect: z.enum(['openai', 'perplexity']).default('openai'),
});

export const readFlags = createFlagReader(protocolName, flagsSchema);
