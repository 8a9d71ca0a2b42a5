/** Who serves a model, and by which protocol: the client's own where the provider speaks it, else the first it does. */
import type { Catalog } from './catalog.ts';
import type { Target } from './exchange.ts';
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
      const protocol = spoken.includes(client.name) ? client : spoken.flatMap((other) => protocols.find(other) ?? [])[0];
      return protocol ? [{ ...offer, protocol }] : [];
    });
    if (targets.length > 0) known.set(key, targets);
    return targets;
  };
}
