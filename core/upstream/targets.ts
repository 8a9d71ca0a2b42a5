/**
 * Finds the targets of a model, keeps those that a call may use, and chooses a protocol for each. It is the
 * client's own if the provider supports it and accepts the call in it. Otherwise the provider chooses one for
 * the request, or its first is used.
 */
import { getAskedMode, getModeRates } from '../billing/cost.ts';
import type { Catalog } from '../catalog.ts';
import { type Parsed, type Target, notComparable, notPermitted, notPriced } from '../exchange.ts';
import { filterPermitted } from '../http/access.ts';
import { isModality, type Model } from '../model-facts.ts';
import { findRate, type Fee, type Price } from '../price-terms.ts';
import type { ClientCall, Protocol } from '../protocol.ts';
import { GatewayError } from '../util/errors.ts';
import type { Registry } from '../util/registry.ts';

export type FindTargets = (model: string, client: Protocol) => readonly Target[];

/** Caches targets, since every call needs them and only the catalogue changes them. */
export function createTargetFinder(catalog: Catalog, protocols: Registry<Protocol>): FindTargets {
  const known = new Map<string, readonly Target[]>();
  let knownVersion = catalog.version;

  return (model, client) => {
    if (knownVersion !== catalog.version) known.clear();
    knownVersion = catalog.version;
    const offers = catalog.find(model);
    // By its id: clients can write a name that an alias has for many in more ways than memory holds.
    const key = `${client.name} ${offers[0]?.model.id}`;
    const found = known.get(key);
    if (found) return found;
    const targets = offers.flatMap((offer) => {
      const spoken = Object.keys(offer.provider.endpoints).filter(
        (protocol) => offer.model.protocols?.includes(protocol) ?? true,
      );
      const wires = spoken.flatMap((other) => {
        const wire = protocols.find(other);
        return wire && wire.makes === client.makes && canMake(offer.model, wire) ? wire : [];
      });
      const protocol = wires.includes(client) ? client : wires[0];
      return protocol ? [{ ...offer, protocol, ...(wires.length > 1 ? { wires } : {}) }] : [];
    });
    // A tap that changed or sorted them in place would do so for all later calls.
    for (const target of targets) Object.freeze(target);
    Object.freeze(targets);
    if (targets.length > 0) known.set(key, targets);
    return targets;
  };
}

function canMake({ output }: Model, { makes: wanted }: Protocol): boolean {
  return wanted === undefined ? output.some(isModality) : output.includes(wanted);
}

/** The error for a model that cannot answer. If the name is no id, it says what an id looks like. */
function buildModelError(catalog: Catalog, model: string, protocol: Protocol): GatewayError {
  const offered = catalog.find(model).map((offer) => offer.model);
  if (offered.length > 0 && !offered.some((each) => canMake(each, protocol))) {
    const { makes = 'conversations' } = protocol;
    const made = offered[0]?.output.join(' and ');
    const message = `The model "${model}" makes ${made}, not ${makes}: call an endpoint for that.`;
    return new GatewayError('invalid_request', message, { param: 'model' });
  }
  if (model.includes('/') || catalog.findNamed(model).length > 0) return catalog.buildMissingError(model);
  const name = JSON.stringify(model.slice(0, 200));
  return new GatewayError(
    'invalid_request',
    `"model" is ${name}: send a model id of the form <provider>/<model_name>.`,
    { param: 'model' },
  );
}

/** The targets that the key may call and that have a price, each with its protocol. */
export function allowTargets(
  { catalog }: { readonly catalog: Catalog },
  parsed: Parsed,
  targets: readonly Target[],
): readonly Target[] {
  if (targets.length === 0) throw buildModelError(catalog, parsed.call.model, parsed.protocol);
  const { trace, principal } = parsed;
  const allowed = trace.note('key', notPermitted, targets, filterPermitted(targets, principal));
  const priced = trace.note('prices', notPriced, allowed, filterPriced(allowed, parsed));
  if (parsed.protocol.makes === undefined) return chooseProtocols(priced, parsed);
  const ofModel = priced.filter(({ model }) => model.id === priced[0]?.model.id);
  return trace.note('model', notComparable, priced, ofModel);
}

/** Chooses the protocol of each target. If a target has several, its provider decides. */
function chooseProtocols(targets: readonly Target[], parsed: Parsed): readonly Target[] {
  return targets.some(({ wires }) => wires) ? targets.map((target) => fitWire(target, parsed)) : targets;
}

function fitWire(target: Target, { operation, getRequest, protocol, call }: Parsed): Target {
  const { wires, provider, model } = target;
  if (!wires) return target;
  const isOwn = target.protocol === protocol;
  if (isOwn && (operation !== 'generate' || !call.needsOtherWire?.(model))) return target;
  if (operation === 'count') return switchWire(target, ({ count }) => count !== undefined);
  const wanted = provider.choose?.(getRequest(), model);
  return switchWire(target, ({ name }) => name === wanted);
}

function switchWire(target: Target, isWanted: (wire: Protocol) => boolean): Target {
  const chosen = target.wires?.find(isWanted);
  return chosen && chosen !== target.protocol ? { ...target, protocol: chosen } : target;
}

/**
 * Filters targets to those with a price for everything the call asks for: no call is sold at a guessed price.
 * Targets of other protocols stay, since encoders leave out what has no price. Throws `unsupported_parameter`
 * naming the field if none remains.
 */
function filterPriced(targets: readonly Target[], { call, operation, protocol }: Parsed): readonly Target[] {
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
