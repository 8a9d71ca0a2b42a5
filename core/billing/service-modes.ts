/**
 * Service modes: ways in which a provider serves calls at other rates, such as priority or one region. A
 * price names the rates of each mode, and of combined modes by their joined names. A call that asks for a
 * mode without known rates is refused: no call is sold at a guessed price.
 */
import type { Parsed, Target } from '../exchange.ts';
import { findRate, type Fee, type Price } from '../price-terms.ts';
import type { ClientCall } from '../protocol.ts';
import { GatewayError } from '../util/errors.ts';
import { getModeRates } from './cost.ts';

/** The joined name of all modes that a call asks for; undefined if it asks for none. */
export function getAskedMode({ modes }: ClientCall): string | undefined {
  return modes?.length ? modes.map(({ name }) => name).join(' ') : undefined;
}

/**
 * Filters targets to those with a price for everything the call asks for. Targets of other protocols stay,
 * since encoders leave out what has no price. Throws `unsupported_parameter` naming the field if none
 * remains.
 */
export function filterPriced(
  targets: readonly Target[],
  { call, operation, protocol }: Parsed,
): readonly Target[] {
  const mode = getAskedMode(call);
  const { fees = [] } = call;
  if (operation === 'count' || (mode === undefined && fees.length === 0)) return targets;
  const known = targets.filter(({ protocol: own, model, price }) => {
    if (own !== protocol || model.free) return true;
    return !findUnpricedFee(fees, price) && (mode === undefined || getModeRates(price, mode));
  });
  if (known.length > 0 || targets.length === 0) return known;
  throw toUnpricedError(targets, call);
}

/** The first fee that a call requires and a price does not state. */
function findUnpricedFee(fees: readonly Fee[], price: Price): Fee | undefined {
  return fees.find(({ name, most, spared }) => !spared && most > 0 && !findRate([price], { unit: name }));
}

function toUnpricedError(targets: readonly Target[], { fees = [], modes = [] }: ClientCall): GatewayError {
  const fee = targets.map(({ price }) => findUnpricedFee(fees, price)).find((each) => each !== undefined);
  if (fee) {
    return new GatewayError(
      'unsupported_parameter',
      `"${fee.field}" has a fee whose price is not known for this model; leave it out.`,
      { param: fee.field },
    );
  }
  const {
    name,
    field,
    word = name,
    silent,
  } = modes.find((each) => !targets.some(({ price }) => getModeRates(price, each.name))) ??
    modes.at(-1) ?? { name: '', field: undefined };
  return new GatewayError(
    'unsupported_parameter',
    `"${field}" asks for ${silent ? '' : 'the service mode '}"${word.slice(0, 60)}", whose price is not ` +
      'known for this model; leave it out.',
    { param: field },
  );
}
