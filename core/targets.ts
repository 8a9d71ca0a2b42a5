/**
 * Who serves a model, and by which protocol: the client's own where the provider speaks it, else the one its provider
 * chooses for the request at hand, or the first it speaks.
 */
import type { Catalog } from './catalog.ts';
import type { Parsed, Target } from './exchange.ts';
import type { Protocol } from './protocol.ts';
import type { Registry } from './registry.ts';

export type FindTargets = (model: string, client: Protocol) => readonly Target[];

/** Looked up for every call, and changed only by the catalogue. */
export function targetFinder(catalog: Catalog, protocols: Registry<Protocol>): FindTargets {
  const known = new Map<string, readonly Target[]>();
  let knownVersion = catalog.version;

  return (model, client) => {
    if (knownVersion !== catalog.version) known.clear();
    knownVersion = catalog.version;
    const key = `${client.name} ${model}`;
    const found = known.get(key);
    if (found) return found;
    const targets = catalog.find(model).flatMap((offer) => {
      const spoken = Object.keys(offer.provider.endpoints).filter((protocol) => offer.model.protocols?.includes(protocol) ?? true);
      if (spoken.includes(client.name)) return [{ ...offer, protocol: client }];
      const wires = spoken.flatMap((other) => protocols.find(other) ?? []);
      const [protocol] = wires;
      return protocol ? [{ ...offer, protocol, ...(wires.length > 1 ? { wires } : {}) }] : [];
    });
    // A tap that sorted them in place, or changed one, would do so for every call that follows.
    for (const target of targets) Object.freeze(target);
    Object.freeze(targets);
    if (targets.length > 0) known.set(key, targets);
    return targets;
  };
}

/** The targets with the protocols that suit the request: where there is a choice at all, its provider makes it. */
export function fitWires(targets: readonly Target[], parsed: Parsed): readonly Target[] {
  return targets.some(({ wires }) => wires) ? targets.map((target) => fitWire(target, parsed)) : targets;
}

function fitWire(target: Target, { operation, canonical }: Parsed): Target {
  const { wires, provider, model } = target;
  if (!wires) return target;
  const wanted = provider.choose?.(canonical(), model);
  const chosen = operation === 'count' ? wires.find(({ count }) => count) : wires.find(({ name }) => name === wanted);
  return chosen ? { ...target, protocol: chosen } : target;
}
