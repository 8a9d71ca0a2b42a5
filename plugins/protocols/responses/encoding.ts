/** What all parts of the request encoder share, and the flags of a model's responses endpoint. */
import { z } from 'zod';
import { type Model, flagReader } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { protocolName } from './bag.ts';
import type { ToolNames } from './tool-names.ts';

export interface Encoding {
  /** True if the request was read in this protocol: the encoder then restores what the client wrote. */
  readonly own: boolean;
  readonly model: Model;
  /** The owner of the model (`openai` in `openai/gpt-5`). Sealed state goes back to its owner only. */
  readonly owner: string;
  readonly names: ToolNames;
  readonly marks: boolean;
  /** Ids of calls to custom tools. Their results have an item type of their own. */
  readonly customCalls: ReadonlySet<string>;
  readonly lose: Lose;
}

export const flagsSchema = z.strictObject({
  /** xAI names its replies by ids without the prefix that clients expect. */
  ids: z.enum(['prefixed', 'bare']).default('prefixed'),
  /** Whether OpenAI's cache marks are taken. Other models refuse them. */
  cacheMarks: z.boolean().default(false),
});

export const readFlags = flagReader(protocolName, flagsSchema);
