/**
 * What a call costs several targets in one run: processor time of all threads, and the time until half of the
 * replies have come. Rounds are interleaved, so that a busy moment of the machine hits all of them, and every
 * figure is the median of its rounds.
 */
import { load } from './load.ts';
import { translations, type Call } from './payload.ts';
import { readUsage } from './processes.ts';
import { computeMedian } from './statistics.ts';
import type { Target } from './targets.ts';

export interface Kind {
  readonly name: string;
  readonly call: Call;
  readonly connections: number;
}

export interface Cost {
  /** Microseconds of processor time. NaN if the target does not take such calls. */
  readonly processor: number;
  /** Microseconds until half of the replies have come. */
  readonly p50: number;
}

export interface Run {
  readonly folder: string;
  readonly rounds: number;
  /** Seconds of a round. */
  readonly seconds: number;
  /** Seconds of each kind of call until V8 has optimized what runs. Fewer measure how far it has come. */
  readonly warmUp: number;
}

const crowd = 32;

/** The costs of one kind of call, in the order of the targets. The bare proxy translates nothing. */
export async function compareCosts(targets: readonly Target[], kind: Kind, run: Run): Promise<Cost[]> {
  const { folder, rounds, seconds, warmUp } = run;
  const { call, connections } = kind;
  const measured = targets.map((target) => ({ target, costs: new Array<Cost>() }));
  const takers = measured.filter(({ target }) => target.translates || call !== translations.json);
  for (const { target } of takers) await load(target, call, { connections: crowd, seconds: warmUp, folder });
  for (let round = 0; round < rounds; round += 1)
    for (const { target, costs } of takers) {
      const begun = readUsage(target.pid).cpu;
      const { requests, p50 } = await load(target, call, { connections, seconds, folder });
      costs.push({ processor: ((readUsage(target.pid).cpu - begun) * 1e6) / requests, p50 });
    }
  return measured.map(({ costs }) => ({
    processor: computeMedian(costs.map(({ processor }) => processor)),
    p50: computeMedian(costs.map(({ p50 }) => p50)),
  }));
}
