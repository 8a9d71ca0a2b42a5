/** What the request encoders of every protocol need to know. */
import type { Model } from '../../../core/index.ts';
import type { Lose } from './losses.ts';

export interface Encoding {
  /** Whether the client uses the provider's protocol: the encoder then restores what the client wrote. */
  readonly own: boolean;
  readonly model: Model;
  /** The vendor of the model, which alone can read the state that it sealed. */
  readonly owner: string;
  readonly lose: Lose;
}
