/**
 * Targets that an operator has taken out of service for a while: a provider, one of its keys, or one model
 * there. They get no calls at all until the time is over or the operator wakes them.
 */
import { z } from 'zod';
import { GatewayError } from '../../../core/index.ts';
import type { Named } from '../../shared/routing/per-target.ts';

export const placeSchema = z.object({
  provider: z.string(),
  key: z.int().positive().optional(),
  model: z.string().optional(),
});

/** A provider, or less of it. */
export type Place = z.output<typeof placeSchema>;

export const holdSchema = placeSchema.extend({
  /** Milliseconds since the epoch. */
  until: z.number(),
  reason: z.string().optional(),
});

export type Hold = z.output<typeof holdSchema>;

/** Whether a target, or a smaller place, is within a place. */
export function isWithin(place: Place, { provider, key, model }: Place): boolean {
  return (
    place.provider === provider &&
    (place.key === undefined || place.key === key) &&
    (place.model === undefined || place.model === model)
  );
}

function isSame(one: Place, other: Place): boolean {
  return one.provider === other.provider && one.key === other.key && one.model === other.model;
}

export class Holds {
  #holds: readonly Hold[] = [];

  add(hold: Hold): void {
    this.#holds = [...this.list().filter((other) => !isSame(other, hold)), hold];
  }

  /** Ends the holds of this place, and of everything in it. */
  end(place: Place): void {
    this.#holds = this.#holds.filter((hold) => !isWithin(place, hold));
  }

  /** Those that are over stay until another is added: the clock may jump ahead and back. */
  list(now = Date.now()): readonly Hold[] {
    return this.#holds.filter(({ until }) => until > now);
  }

  find(target: Named): Hold | undefined {
    // Almost always empty, and asked for every call.
    if (this.#holds.length === 0) return undefined;
    const { provider, model } = target;
    const place = { provider: provider.name, key: provider.credential ?? 1, model: model.id };
    return this.list().find((hold) => isWithin(hold, place));
  }

  /** Throws if the target is held. */
  check(target: Named): void {
    const hold = this.find(target);
    if (!hold) return;
    const text = 'An operator has taken this provider out of service for a while.';
    throw new GatewayError('upstream_overloaded', text, {
      retryAfter: Math.max(1, Math.ceil((hold.until - Date.now()) / 1000)),
    });
  }
}
