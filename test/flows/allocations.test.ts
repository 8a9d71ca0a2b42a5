/**
 * What a call allocates on the main thread's heap under the default configuration. Unlike time, it does not
 * depend on the machine's load. Lower the limits when it drops.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { optimizing, startMeasured, type Measured } from '../bench/measured.ts';
import { calls, stepwise, translations, type Call } from '../bench/payload.ts';
import { openWorld, type World } from '../bench/world.ts';

let world: World;
let gateway: Measured;

beforeAll(async () => {
  world = await openWorld();
  gateway = await startMeasured('rest', world.origin, optimizing);
});
afterAll(() => {
  gateway.stop();
  world.close();
});

/** The lowest of several rounds, as many as are needed: V8 compiles during the first ones, and allocates. */
async function measureKilobytes(call: Call, count: number, limit: number): Promise<number> {
  let lowest = Infinity;
  for (let round = 0; lowest >= limit && round < 72; round += 1)
    lowest = Math.min(lowest, (await gateway.work(call, count)).bytes / 1000);
  return lowest;
}

it.each<[string, Call, number, number]>([
  ['a verbatim JSON call', calls.json, 300, 134],
  ['a translated JSON call', translations.json, 300, 152],
  ['a verbatim stream of a hundred events', calls.stream, 75, 316],
  ['a translated stream of a hundred events', translations.stream, 75, 366],
  ['a verbatim stream of a hundred events one by one', stepwise, 25, 835],
])('allocates for %s no more than before', async (_, call, count, limit) => {
  expect(await measureKilobytes(call, count, limit)).toBeLessThan(limit);
});
