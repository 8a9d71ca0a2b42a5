/**
 * Who serves a model, and by which protocol: the client's own where the provider speaks it and its vendor takes the call
 * on it, else the one that its provider chooses for the request at hand, or the first that it speaks.
 */
import type { Catalog } from '../catalog.ts';
import type { Parsed, Target } from '../exchange.ts';
import type { Registry } from '../host/registry.ts';
import type { Protocol } from '../protocol.ts';

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
      const spoken = Object.keys(offer.provider.endpoints).filter(
        (protocol) => offer.model.protocols?.includes(protocol) ?? true,
      );
      const wires = spoken.flatMap((other) => protocols.find(other) ?? []);
      const protocol = spoken.includes(client.name) ? client : wires[0];
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

function fitWire(target: Target, { operation, canonical, protocol, call }: Parsed): Target {
  const { wires, provider, model } = target;
  if (!wires) return target;
  const isOwn = target.protocol === protocol;
  if (isOwn && (operation !== 'generate' || !call.needsOtherWire?.(model))) return target;
  if (operation === 'count') return withWire(target, ({ count }) => count !== undefined);
  const wanted = provider.choose?.(canonical(), model);
  return withWire(target, ({ name }) => name === wanted);
}

function withWire(target: Target, isWanted: (wire: Protocol) => boolean): Target {
  const chosen = target.wires?.find(isWanted);
  return chosen && chosen !== target.protocol ? { ...target, protocol: chosen } : target;
}
