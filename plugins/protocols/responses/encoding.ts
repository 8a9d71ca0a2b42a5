/** What all parts of the request encoder share while they encode one request. */
import type { Model } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import type { ToolNames } from './tool-names.ts';

export interface Encoding {
  /** True if the request was read in this protocol: the encoder then restores what the client wrote. */
  readonly own: boolean;
  readonly model: Model;
  /** The owner of the model (`openai` in `openai/gpt-5`). Sealed state goes back to its owner only. */
  readonly owner: string;
  readonly names: ToolNames;
  /** Ids of calls to custom tools. Their results have an item type of their own. */
  readonly customCalls: ReadonlySet<string>;
  readonly lose: Lose;
}
