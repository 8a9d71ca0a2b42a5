/** Keys at their limit, and retries at a provider that fails now and then. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { GatewayError } from '../../core/index.ts';
import { RetryBudget } from '../../core/upstream/retries.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { createRandom } from '../balance/pseudo-random.ts';
import { buildTarget, Traffic, type Outcome, type Vendor } from '../support/traffic.ts';
import { down, buildFullError, callOnce, refusing, countSent, openTraffic } from './failing-providers.ts';

beforeEach(() => void vi.useFakeTimers());

afterEach(() => void vi.useRealTimers());

const targets = [buildTarget('a', {}, 1), buildTarget('a', {}, 2), buildTarget('b')];

it('a key at its limit rests alone, for as long as the provider asked', async () => {
  const started = await openTraffic((target, number) => ({
    after: 10,
    ...(target.provider.credential === 1 && number < 3 ? { error: buildFullError(30), status: 429 } : {}),
  }));
  expect(await callOnce(started, ...targets)).toMatchObject({ provider: 'a', credential: 2, attempts: 2 });
  expect(await callOnce(started, ...targets)).toMatchObject({ provider: 'a', credential: 2, attempts: 1 });
  await Traffic.wait(27_000);
  expect(await callOnce(started, ...targets)).toMatchObject({ credential: 2, attempts: 1 });
  await Traffic.wait(2000);
  expect(await callOnce(started, ...targets)).toMatchObject({ credential: 1, attempts: 1 });
});

it.each([
  [1, [health()]],
  [0, refusing],
])(
  'a client learns when the first of all keys at their limits is free, and %i of them is asked',
  async (requestCount, plugins) => {
    const started = await openTraffic(
      ({ provider }) => ({
        after: 10,
        error: buildFullError(provider.credential === 1 ? 40 : 20),
        status: 429,
      }),
      plugins,
    );
    await callOnce(started, ...targets.slice(0, 2));
    const { sent: reached, error } = await callOnce(started, ...targets.slice(0, 2));
    expect([reached, error?.code, error?.details.retryAfter]).toEqual([requestCount, 'rate_limited', 20]);
    expect(error?.retry).toBe(true);
  },
);

it('a key at its limit is used again as soon as it answers', async () => {
  let isFull = true;
  const started = await openTraffic(() => ({
    after: 10,
    ...(isFull ? { error: buildFullError(60), status: 429 } : {}),
  }));
  await callOnce(started, ...targets.slice(0, 1), buildTarget('b', {}, 1));
  isFull = false;
  expect(await callOnce(started, ...targets.slice(0, 1), buildTarget('b', {}, 1))).toMatchObject({
    provider: 'a',
    attempts: 1,
  });
  expect(await callOnce(started, ...targets.slice(0, 1), buildTarget('b', {}, 1))).toMatchObject({
    provider: 'a',
    attempts: 1,
  });
});

it.each([
  [401, down],
  [402, down],
  [403, down],
  [429, down],
  [404, new GatewayError('model_not_found', 'Not here.')],
])('a key at its limit rests for a minute if the provider refuses it (%i)', async (status, error) => {
  const started = await openTraffic((target) => ({
    after: 10,
    ...(target.provider.credential === 1 ? { error, status } : {}),
  }));
  await callOnce(started, ...targets);
  await Traffic.wait(55_000);
  expect(await callOnce(started, ...targets)).toMatchObject({ credential: 2, attempts: 1 });
  await Traffic.wait(5000);
  expect(await callOnce(started, ...targets)).toMatchObject({ credential: 2, attempts: 2 });
});

const both = [buildTarget('a'), buildTarget('b')];

async function runCalls(vendor: Vendor, targets = [buildTarget('a'), buildTarget('b')]): Promise<Outcome[]> {
  const started = await openTraffic(vendor, [keys(), health()]);
  const outcomes: Promise<Outcome>[] = [];
  for (let call = 0; call < 500; call += 1) {
    outcomes.push(started.call(targets));
    await Traffic.wait(25);
  }
  await Traffic.wait(10_000);
  return Promise.all(outcomes);
}

it('retries at a provider that fails now and then are a fifth of its calls at most', async () => {
  // Every third call fails: too few to open a circuit.
  const outcomes = await runCalls(
    (_, number) => ({ after: 10, ...(number % 3 === 0 ? { error: down } : {}) }),
    [buildTarget('a')],
  );
  expect(countSent(outcomes)).toBeGreaterThan(550);
  expect(countSent(outcomes)).toBeLessThanOrEqual(610);
});

it.each([
  [0.2, 20],
  [0.5, 50],
])(
  'retries are the share the operator states (%d), in each ten seconds, and never fewer than ten',
  (share, allowed) => {
    const budget = new RetryBudget(share);
    const countGranted = (tries: number): number =>
      Array.from({ length: tries }, () => {
        const { hasRoom } = budget;
        if (hasRoom) budget.spend();
        return hasRoom;
      }).filter(Boolean).length;
    expect(countGranted(50)).toBe(10);
    for (let call = 0; call < 100; call += 1) budget.noteFirst();
    expect(countGranted(200)).toBe(allowed - 10);
    vi.advanceTimersByTime(10_000);
    expect(countGranted(50)).toBe(10);
  },
);

it.each([1, 2, 3, 4, 5])(
  'retries keep no call from a fallback that answers 85 of 100 while the first is down (%i)',
  async (seed) => {
    const draw = createRandom(seed);
    const started = await openTraffic(
      ({ provider }) => ({
        after: 10,
        ...(provider.name === 'a' || draw(100) < 15 ? { error: down } : {}),
      }),
      [],
    );
    const outcomes: Promise<Outcome>[] = [];
    for (let call = 0; call < 1000; call += 1) {
      outcomes.push(started.call(both));
      await Traffic.wait(25);
    }
    await Traffic.wait(10_000);
    const failed = (await Promise.all(outcomes)).flatMap(({ error }) => error ?? []);
    // Only those that both failed: the error of the first alone would be another.
    expect(new Set(failed.map(({ message }) => message))).toEqual(
      new Set(['All 2 providers or keys that were tried failed.']),
    );
    expect(failed.length).toBeLessThan(200);
  },
);

it('retries keep no call of a thousand from a fallback whose first two answers fail', async () => {
  const started = await openTraffic(
    ({ provider }, number) => ({
      after: 10,
      ...(provider.name === 'a' || number <= 2 ? { error: down } : {}),
    }),
    [],
  );
  const calls = Array.from({ length: 1000 }, () => started.call(both));
  await Traffic.wait(10_000);
  const outcomes = await Promise.all(calls);
  expect(outcomes.filter(({ error }) => error).length).toBeLessThanOrEqual(2);
});

it('retries and fallbacks to a target that mostly fails are a fifth of the calls', async () => {
  const started = await openTraffic(
    ({ provider }, number) => ({
      after: 10,
      ...(provider.name === 'a' || number % 5 > 0 ? { error: down } : {}),
    }),
    [],
  );
  const outcomes: Promise<Outcome>[] = [];
  for (let call = 0; call < 1000; call += 1) {
    outcomes.push(started.call(both));
    await Traffic.wait(25);
  }
  await Traffic.wait(10_000);
  const sent = countSent(await Promise.all(outcomes));
  expect(sent).toBeGreaterThan(1100);
  expect(sent).toBeLessThan(1250);
});

it('retries are free if the other target is healthy', async () => {
  const outcomes = await runCalls(({ provider }, number) => ({
    after: 10,
    ...(provider.name === 'a' && number % 3 > 0 ? { error: down } : {}),
  }));
  expect(outcomes.every(({ error }) => error === undefined)).toBe(true);
});

it('retries are free if only the key reached its limit', async () => {
  const outcomes = await runCalls(
    ({ provider }) => ({
      after: 10,
      ...(provider.credential === 1 ? { error: buildFullError(0), status: 429 } : {}),
    }),
    [buildTarget('a', {}, 1), buildTarget('a', {}, 2)],
  );
  expect(outcomes.every(({ credential }) => credential === 2)).toBe(true);
});
