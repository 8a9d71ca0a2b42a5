/**
 * Calls that a vendor serves otherwise than usual, for more: before others, or in one country alone. A price names the
 * rates of each way to be served, of several at once by their names in a row. Where the caller asks for one whose rates
 * are not known, the call is refused: nothing is sold at a guessed price.
 */
import { GatewayError } from './errors.ts';
import type { Parsed, Target } from './exchange.ts';
import { unpricedFee } from './fees.ts';
import { ratesIn } from './money.ts';
import type { ClientCall } from './protocol.ts';

/** A way to be served, by the name a price has for it, and the field that asks for it. */
export interface Mode {
  readonly name: string;
  readonly field: string;
  /** Whether no reply tells of it, as of a tool that is another model: it is charged for as it was asked for. */
  readonly untold?: true;
}

/** The mode of a reply whose call asked for another, and which the vendor served as usual. */
export const usualMode = 'usual';

/** The name that a price has for all that a call asks for together; undefined where it asks for nothing special. */
export function askedMode({ modes }: ClientCall): string | undefined {
  return modes?.length ? modes.map(({ name }) => name).join(' ') : undefined;
}

/** The targets at which a price for the call's mode is known. Those of other protocols stay: no encoder asks for a mode without a price. */
export function atKnownRates(targets: readonly Target[], { call, operation, protocol }: Parsed): readonly Target[] {
  const mode = askedMode(call);
  if (operation === 'count' || (mode === undefined && !call.fees?.length)) return targets;
  const [first] = targets;
  const apart = targets.filter((target) => target.protocol !== protocol || target.model.free || !unpricedFee(call.fees, target.price));
  if (first && apart.length === 0) throw unknownFee(unpricedFee(call.fees, first.price)?.field);
  if (mode === undefined) return apart;
  const known = apart.filter((target) => target.protocol !== protocol || target.model.free || ratesIn(target.price, mode));
  if (known.length > 0) return known;
  const { name, field } = call.modes?.find((each) => !targets.some(({ price }) => ratesIn(price, each.name))) ?? { name: mode, field: call.modes?.at(-1)?.field };
  throw new GatewayError('unsupported_parameter', `"${field}" asks to be served in a way ("${name.slice(0, 60)}") whose price is not known for this model: leave it out.`, { param: field });
}

function unknownFee(field: string | undefined): GatewayError {
  return new GatewayError('unsupported_parameter', `"${field}" asks for what the vendor charges apart from tokens, at a price that is not known for this model: leave it out.`, { param: field });
}
