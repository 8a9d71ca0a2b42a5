/**
 * Calls that a vendor serves otherwise than usual, for more: before others, or in one country alone. A price names the
 * rates of each way to be served, of several at once by their names in a row. Where the caller asks for one whose rates
 * are not known, the call is refused: nothing is sold at a guessed price.
 */
import { GatewayError } from '../errors.ts';
import type { Parsed, Target } from '../exchange.ts';
import { ratesIn } from '../money.ts';
import type { ClientCall } from '../protocol.ts';
import { unpricedFee } from './fees.ts';

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

/**
 * The targets at which all that the call asks for has a price. Those of other protocols stay: no encoder asks for what has
 * none. Throws `unsupported_parameter` by the field at fault where no target is left.
 */
export function atKnownRates(
  targets: readonly Target[],
  { call, operation, protocol }: Parsed,
): readonly Target[] {
  const mode = askedMode(call);
  const { fees = [] } = call;
  if (operation === 'count' || (mode === undefined && fees.length === 0)) return targets;
  const known = targets.filter(({ protocol: own, model, price }) => {
    if (own !== protocol || model.free) return true;
    return !unpricedFee(fees, price) && (mode === undefined || ratesIn(price, mode));
  });
  if (known.length > 0 || targets.length === 0) return known;
  throw unpriced(targets, call);
}

function unpriced(targets: readonly Target[], { fees = [], modes = [] }: ClientCall): GatewayError {
  const fee = targets.map(({ price }) => unpricedFee(fees, price)).find((each) => each !== undefined);
  if (fee) {
    return new GatewayError(
      'unsupported_parameter',
      `"${fee.field}" asks for what the vendor charges apart from tokens, at a price that is not known for this model: leave it out.`,
      { param: fee.field },
    );
  }
  const { name, field } = modes.find((each) => !targets.some(({ price }) => ratesIn(price, each.name))) ??
    modes.at(-1) ?? { name: '', field: undefined };
  return new GatewayError(
    'unsupported_parameter',
    `"${field}" asks to be served in a way ("${name.slice(0, 60)}") whose price is not known for this model: leave it out.`,
    { param: field },
  );
}
