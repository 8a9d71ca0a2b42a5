/**
 * Calls that a vendor serves otherwise than usual, for more: before others, or in one country alone. A price names the
 * rates of each way to be served, of several at once by their names in a row. Where the caller asks for one whose rates
 * are not known, the call is refused: nothing is sold at a guessed price.
 */
import { GatewayError } from './errors.ts';
import type { Parsed, Target } from './exchange.ts';
import { ratesIn } from './money.ts';
import type { ClientCall } from './protocol.ts';

/** A way to be served, by the name a price has for it, and the field that asks for it. */
export interface Mode {
  readonly name: string;
  readonly field: string;
}

/** What a vendor's reply is told to be that asked for more and got none. */
export const usualMode = 'usual';

/** What a price calls all that a call asks for, if it asks for anything. */
export function askedMode({ modes }: ClientCall): string | undefined {
  return modes?.length ? modes.map(({ name }) => name).join(' ') : undefined;
}

/** The targets that the call can be paid for at; one that speaks another protocol is never asked for what has no price. */
export function atKnownRates(targets: readonly Target[], { call, operation, protocol }: Parsed): readonly Target[] {
  const mode = askedMode(call);
  if (mode === undefined || operation === 'count') return targets;
  const known = targets.filter((target) => target.protocol !== protocol || target.model.free || ratesIn(target.price, mode));
  if (known.length > 0) return known;
  const { name, field } = call.modes?.find((each) => !targets.some(({ price }) => ratesIn(price, each.name))) ?? { name: mode, field: call.modes?.at(-1)?.field };
  throw new GatewayError('unsupported_parameter', `"${field}" asks to be served in a way ("${name.slice(0, 60)}") whose price is not known for this model: leave it out.`, { param: field });
}
