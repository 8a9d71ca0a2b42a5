/** What every part of a request's encoder goes by. */
import type { Model } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import type { MarkEncoder } from './cache.ts';

export interface Encoding {
  /** Whether the request was read in this protocol: then what the client wrote is restored. */
  readonly own: boolean;
  readonly model: Model;
  /** The owner of the model: the only one who understands state that was sealed for it. */
  readonly owner: string;
  readonly mark: MarkEncoder;
  readonly lose: Lose;
}
