/**
 * What a target's wire cannot say is never dropped in silence: an encoder lists each loss by the path of the
 * client's own field, and the lane tells the caller, or refuses the call where the caller or the operator asks.
 */
import { GatewayError } from './errors.ts';

export interface Loss {
  /** The field that is lost, as the client wrote it: `tools[2].strict`. */
  readonly path: string;
  /** Why, in a few words fit for a caller. */
  readonly reason: string;
}

const headerBudget = 2048;

/** The paths for the `x-tollgate-dropped` header: as many as fit into 2 kB, then `+N` for the rest. */
export function lossHeader(losses: readonly Loss[]): string {
  let header = '';
  for (const [index, { path }] of losses.entries()) {
    const safe = path.replace(/[^\x21-\x7e]/g, '?');
    const next = header ? `${header},${safe}` : safe;
    if (next.length > headerBudget) return `${header},+${losses.length - index}`;
    header = next;
  }
  return header;
}

/** The refusal of a call whose losses are not wanted; names the first one as the field at fault. */
export function lossRefusal(losses: readonly Loss[], target: string): GatewayError {
  const told = losses.slice(0, 8).map((loss) => `${loss.path} (${loss.reason})`);
  return new GatewayError('unsupported_parameter', `${target} cannot be given: ${told.join(', ')}.`, { param: losses[0]?.path });
}
