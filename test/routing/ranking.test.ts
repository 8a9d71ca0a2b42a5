/** Which target is asked first, by each strategy: by the operator's order, by price, by speed, by load. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { End, Plugin, Preferences, Routed, Target, Usage } from '../../core/index.ts';
import { balanced } from '../../plugins/routing/balanced.ts';
import { cost } from '../../plugins/routing/cost.ts';
import { latency } from '../../plugins/routing/latency.ts';
import { priority } from '../../plugins/routing/priority.ts';
import { throughput } from '../../plugins/routing/throughput.ts';
import { buildRouted } from '../support/exchange.ts';
import { used } from '../support/rates.ts';
import { computePercentile, buildTarget, Traffic, type Call, type Vendor } from '../support/traffic.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const delayBy =
  (delays: Readonly<Record<string, number>>): Vendor =>
  ({ provider }) => ({ after: delays[provider.name] ?? 0 });
const answerAtOnce: Vendor = () => ({ after: 0 });

async function openTraffic(plugins: readonly Plugin[], vendor: Vendor = answerAtOnce): Promise<Traffic> {
  const started = new Traffic(plugins, vendor);
  await started.open();
  return started;
}

/** The names of the targets in the order in which a call is routed to them. */
async function rank(started: Traffic, targets: readonly Target[], call: Call = {}): Promise<string> {
  return (await started.route(targets, call)).map(({ provider }) => provider.name).join(' ');
}

function buildEnd(exchange: Routed, usage: Usage): End {
  return {
    type: 'answered',
    exchange,
    outcome: 'completed',
    error: undefined,
    attempts: [exchange.attempt],
    duration: 5,
    recording: undefined,
    losses: [],
    charge: { cost: 1n, lines: [], ...used(usage), rule: 'standard', basis: 'usage', suspect: false },
  };
}

/** Calls at a steady rate; returns how long each waited, and who answered it. */
async function callSteadily(
  started: Traffic,
  targets: readonly Target[],
  { every, count }: { every: number; count: number },
): Promise<{ took: number; provider: string | undefined }[]> {
  const calls = Array.from({ length: count }, async (_, index) => {
    await new Promise((resolve) => setTimeout(resolve, index * every));
    return started.call(targets);
  });
  await vi.advanceTimersByTimeAsync(every * count + 60_000);
  return Promise.all(calls);
}

const targets = ['a', 'b', 'c'].map((name) => buildTarget(name));

it('priority follows the operator, and the configuration for those it does not name', async () => {
  expect(await rank(await openTraffic([priority({ order: ['c'] })]), targets)).toBe('c a b');
  expect(await rank(await openTraffic([priority()]), targets)).toBe('a b c');
});

it('priority can be requested by name if another strategy is the default', async () => {
  const started = await openTraffic([
    priority({ order: ['c'], byDefault: false }),
    cost({ byDefault: true }),
  ]);
  expect(await rank(started, targets, { preferences: { routing: 'priority' } })).toBe('c a b');
  expect(await rank(started, targets)).toBe('a b c');
});

it('priority ranks the providers of each model: fallbacks stay behind the requested model', async () => {
  const fallback = buildTarget('c', { id: 'house/other' });
  const started = await openTraffic([priority({ order: ['c'] })]);
  expect(await rank(started, [...targets.slice(0, 2), fallback])).toBe('a b c');
});

const dear = buildTarget('dear', { price: { input: '2', output: '2' } });
const cheap = buildTarget('cheap', { price: { input: '1', output: '2' } });
const cached = buildTarget('cached', { price: { input: '3', output: '2', cacheRead: '0.1' } });

it('the ranking by cost puts the cheapest first if the caller or the operator asks for it', async () => {
  const started = await openTraffic([cost()]);
  const both = [dear, cheap];
  expect(await rank(started, both, { preferences: { routing: 'cost' } })).toBe('cheap dear');
  expect(await rank(started, both, { preferences: { sort: 'price' } })).toBe('cheap dear');
  expect(await rank(started, both)).toBe('dear cheap');
});

it("the ranking by cost keeps the client's order in front", async () => {
  const preferences: Preferences = { routing: 'cost', order: ['dear'] };
  const started = await openTraffic([cost()]);
  expect(await rank(started, [dear, cached, cheap], { preferences })).toBe('dear cheap cached');
});

it('the ranking by cost compares prices of this length: a long call has higher rates', async () => {
  const tiered = buildTarget('tiered', {
    price: { input: '1', output: '2', tiers: [{ above: 1000, input: '9', output: '9' }] },
  });
  const flat = buildTarget('flat', { price: { input: '1.5', output: '2' } });
  const started = await openTraffic([cost({ byDefault: true })]);
  expect(await rank(started, [flat, tiered], { text: 'x'.repeat(400) })).toBe('tiered flat');
  expect(await rank(started, [flat, tiered], { text: 'x'.repeat(40_000) })).toBe('flat tiered');
});

it('the ranking by cost learns what a cache saves', async () => {
  const started = await openTraffic([cost({ byDefault: true })]);
  const long = { text: 'x'.repeat(40_000) };
  expect(await rank(started, [cached, cheap], long)).toBe('cheap cached');
  const end = buildEnd(buildRouted(cached), { input: 10_000, cacheRead: 9500, output: 10 });
  for (let call = 0; call < 50; call += 1) await started.host.calls.observe.promise(end);
  expect(await rank(started, [cached, cheap], long)).toBe('cached cheap');
});

describe.each([
  ['latency', latency({ byDefault: true })],
  ['balanced', balanced({ byDefault: true })],
])('the ranking by %s', (_, plugin) => {
  const targets = [buildTarget('slow'), buildTarget('quick')];

  it('after 5 s, one slow provider of two leaves 99 % of calls within 1.3 times the quick one', async () => {
    const started = await openTraffic([plugin], delayBy({ slow: 2000, quick: 100 }));
    const calls = await callSteadily(started, targets, { every: 10, count: 3000 });
    const after = calls.slice(500).map(({ took }) => took);
    expect(computePercentile(after, 0.99)).toBeLessThanOrEqual(130);
  });

  it('notices one that falls silent before it has answered anything', async () => {
    let silent = false;
    const started = await openTraffic([plugin], ({ provider }) => ({
      after: provider.name === 'quick' && silent ? 50_000 : provider.name === 'slow' ? 300 : 100,
    }));
    await callSteadily(started, targets, { every: 20, count: 200 });
    silent = true;
    const calls = await callSteadily(started, targets, { every: 20, count: 500 });
    const stuck = calls.filter(({ took }) => took > 1000).length;
    // The silence must last a little longer than the slow one takes to answer.
    expect(stuck).toBeGreaterThan(0);
    expect(stuck).toBeLessThan(60);
  });

  it('returns to a target that became quick again', async () => {
    let wait = 2000;
    const started = await openTraffic([plugin], ({ provider }) => ({
      after: provider.name === 'quick' ? wait : 300,
    }));
    await callSteadily(started, targets, { every: 20, count: 200 });
    wait = 50;
    const calls = await callSteadily(started, targets, { every: 100, count: 4000 });
    expect(calls.slice(-100).every(({ provider }) => provider === 'quick')).toBe(true);
  });

  it('calls an unknown target once, and waits for its answer', async () => {
    const started = await openTraffic([plugin], delayBy({ slow: 5000, quick: 100 }));
    await callSteadily(started, [buildTarget('quick')], { every: 10, count: 10 });
    const calls = await callSteadily(started, [buildTarget('quick'), buildTarget('slow')], {
      every: 10,
      count: 300,
    });
    expect(calls.filter(({ provider }) => provider === 'slow')).toHaveLength(1);
  });
});

it('the ranking "balanced" spreads calls over providers that are about as quick', async () => {
  const started = await openTraffic([balanced({ byDefault: true })], ({ provider }) => ({
    after: provider.name === 'a' ? 100 : 110,
    lasts: 1000,
  }));
  const calls = await callSteadily(started, [buildTarget('a'), buildTarget('b')], {
    every: 10,
    count: 2000,
  });
  const share = calls.filter(({ provider }) => provider === 'a').length / calls.length;
  expect(share).toBeGreaterThan(0.35);
  expect(share).toBeLessThan(0.65);
});

it('the ranking by throughput calls unknown targets first, then the fastest', async () => {
  const started = await openTraffic([throughput()]);
  const [brisk, tardy] = [buildTarget('brisk'), buildTarget('tardy')];
  const observeReply = async (target: Target, duration: number): Promise<void> => {
    const exchange = buildRouted(target, { stream: true, firstEventAfter: 100 });
    Object.assign(exchange.attempt, { duration: 100 + duration });
    await started.host.calls.observe.promise(buildEnd(exchange, { input: 10, output: 500 }));
  };
  const preferences: Preferences = { sort: 'throughput' };
  await observeReply(tardy, 5000);
  expect(await rank(started, [tardy, brisk], { preferences })).toBe('brisk tardy');
  await observeReply(brisk, 20_000);
  expect(await rank(started, [tardy, brisk], { preferences })).toBe('tardy brisk');
});
