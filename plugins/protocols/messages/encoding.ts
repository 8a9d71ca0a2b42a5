/** What every part of a request's encoder goes by, and how it refuses a call it cannot fit to its model. */
import { GatewayError, type Block, type Model } from '../../../core/index.ts';
import type { Lose } from '../../shared/losses.ts';
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

/** Throws the refusal of a part that this wire cannot carry, naming it as the client wrote it. */
export function refusePart(block: Block, path: string, message: string): never {
  throw new GatewayError('unsupported_parameter', message, { param: block.at ?? path });
}
