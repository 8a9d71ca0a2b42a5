/**
 * Targets that an operator has taken out of service for a while: a provider, one of its keys, or one model
 * there. They get no calls at all until the time is over or the operator wakes them.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { GatewayError, fileMode, makeFolder, type Host } from '../../../core/index.ts';
import type { Named } from '../../shared/routing/per-target.ts';
import { buildRestError } from './breaker.ts';

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

export class Holds {
  #holds: readonly Hold[] = [];

  add(hold: Hold): void {
    const others = this.list().filter((other) => !isWithin(hold, other) || !isWithin(other, hold));
    this.#holds = [...others, hold];
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
    throw buildRestError(new GatewayError('upstream_overloaded', text), hold.until - Date.now());
  }
}

/**
 * What operators have taken out of service stays out when the gateway starts again. Each decision writes the
 * whole list, which is short, to another file of the data folder that is then renamed.
 */
const fileName = 'providers-at-rest.json';

type Needs = Pick<Host, 'dataFolder' | 'logger'>;

/** A file that cannot be read is logged: a provider in service is the lesser fault. */
export async function readHolds({ dataFolder, logger }: Needs, holds: Holds): Promise<void> {
  const file = join(dataFolder, fileName);
  try {
    const read = z.array(holdSchema).parse(JSON.parse(await readFile(file, 'utf8')));
    for (const hold of read) holds.add(hold);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT'))
      logger.error({ error, file }, 'providers that rest are unknown, because their file cannot be read');
  }
}

let writing = Promise.resolve();

/**
 * Writes one list after the other, so that the last one stays. The decision holds in the running gateway even
 * if the folder cannot be written; then it is logged that a restart forgets it.
 */
export function writeHolds({ dataFolder, logger }: Needs, holds: Holds): Promise<void> {
  const file = join(dataFolder, fileName);
  writing = writing.then(async () => {
    try {
      makeFolder(dataFolder);
      const aside = `${file}.${process.pid}`;
      await writeFile(aside, `${JSON.stringify(holds.list(), null, 2)}\n`, { mode: fileMode, flush: true });
      await rename(aside, file);
    } catch (error) {
      const message = 'a restart forgets which providers rest, because their file cannot be written';
      logger.error({ error, file }, message);
    }
  });
  return writing;
}
