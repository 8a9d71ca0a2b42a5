/** What all parts of the request encoder share. */
import type { Model } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
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
