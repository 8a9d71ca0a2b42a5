/**
 * Which targets are not asked: providers that are down, keys at rest; and how often a failing provider is
 * asked again.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { GatewayError } from '../../core/index.ts';
import { health } from '../../plugins/routing/health.ts';
import { Holds } from '../../plugins/routing/health/holds.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { openWorkerPair, buildTarget, Traffic, type Outcome, type Vendor } from '../support/traffic.ts';
import { down, buildFullError, callOnce, refusing, countSent, openTraffic } from './failing-providers.ts';

beforeEach(() => void vi.useFakeTimers());

afterEach(() => void vi.useRealTimers());

const wrong = new GatewayError('invalid_request', 'The request is wrong.');

/** Makes calls at one moment, and lets the time they take pass. */
async function runTogether(
  count: number,
  call: () => Promise<Outcome>,
  milliseconds = 5000,
): Promise<Outcome[]> {
  const calls = Array.from({ length: count }, call);
  await vi.advanceTimersByTimeAsync(milliseconds);
  return Promise.all(calls);
}

const failAlways: Vendor = () => ({ after: 20, error: down });

it('a dead provider gets at most 1.2 calls each from a thousand clients, and a few to learn', async () => {
  const started = await openTraffic(failAlways);
  const targets = [1, 2, 3].flatMap((key) =>
    ['house/model', 'house/other'].map((id) => buildTarget('dead', { id }, key)),
  );
  const outcomes = await runTogether(1000, () => started.call(targets));
  expect(countSent(outcomes)).toBeGreaterThanOrEqual(1000);
  expect(countSent(outcomes)).toBeLessThanOrEqual(1200 + 3 * targets.length);
  expect(outcomes.every(({ error }) => error && !error.retry)).toBe(true);
});

it('a dead provider and another are together asked at most 1.2 times by each, and a few more', async () => {
  const started = await openTraffic(failAlways);
  const targets = [buildTarget('dead'), buildTarget('gone')];
  expect(countSent(await runTogether(1000, () => started.call(targets)))).toBeLessThanOrEqual(
    1200 + 3 * targets.length,
  );
});

it('a dead provider is asked by each client if there is no other: it may be healthy again', async () => {
  let isDown = true;
  const started = await openTraffic(() => (isDown ? { after: 20, error: down } : { after: 20 }));
  for (let call = 0; call < 20; call += 1) {
    const { sent: requestCount, error } = await callOnce(started, buildTarget('dead'));
    expect([requestCount > 0, error?.code, error?.retry]).toEqual([true, down.code, requestCount === 1]);
  }
  isDown = false;
  expect(await callOnce(started, buildTarget('dead'))).toMatchObject({
    provider: 'dead',
    error: undefined,
  });
});

it('a dead provider gets few calls from successive clients if calls are to be refused', async () => {
  const started = await openTraffic(failAlways, refusing);
  const outcomes: Outcome[] = [];
  for (let second = 0; second < 60; second += 1) outcomes.push(await callOnce(started, buildTarget('dead')));
  expect(countSent(outcomes)).toBeGreaterThan(10);
  expect(countSent(outcomes)).toBeLessThan(20);
  const refused = outcomes.filter((outcome) => outcome.sent === 0);
  expect(
    refused.every(
      ({ error }) => error?.code === 'upstream_overloaded' && Number(error.details.retryAfter) > 0,
    ),
  ).toBe(true);
});

it('a dead provider costs no reply while another is healthy, and after a few calls no time', async () => {
  const started = await openTraffic(({ provider }) =>
    provider.name === 'dead' ? { after: 20, error: down } : { after: 100 },
  );
  const targets = [buildTarget('dead'), buildTarget('sound')];
  const burst = await runTogether(1000, () => started.call(targets));
  expect(burst.every(({ provider }) => provider === 'sound')).toBe(true);
  expect(await callOnce(started, ...targets)).toMatchObject({ provider: 'sound', attempts: 1, took: 100 });
});

it('a provider that recovers is tested by one call, and then gets all calls', async () => {
  let isDown = true;
  const started = await openTraffic(({ provider }) =>
    provider.name === 'a' && isDown ? { after: 10, error: down } : { after: 200 },
  );
  const targets = [buildTarget('a'), buildTarget('b')];
  for (let call = 0; call < 6; call += 1) await callOnce(started, ...targets);
  isDown = false;
  await Traffic.wait(6000);
  const outcomes = await runTogether(50, () => started.call(targets));
  expect(outcomes.filter(({ provider }) => provider === 'a')).toHaveLength(1);
  expect(await callOnce(started, ...targets)).toMatchObject({ provider: 'a', attempts: 1 });
});

it('a provider that recovers is still down if the test call fails: no other call is sent', async () => {
  const started = await openTraffic(() => ({ after: 100, error: down }), refusing);
  for (let call = 0; call < 6; call += 1) await callOnce(started, buildTarget('a'));
  await Traffic.wait(6000);
  expect(countSent(await runTogether(20, () => started.call([buildTarget('a')])))).toBe(1);
});

it('a provider is not healthy because the client of its test call disconnected', async () => {
  let patient = false;
  const started = await openTraffic(
    () => (patient ? { after: 10, error: down } : { after: 50_000 }),
    refusing,
  );
  patient = true;
  for (let call = 0; call < 6; call += 1) await callOnce(started, buildTarget('a'));
  patient = false;
  await Traffic.wait(6000);
  await runTogether(1, () => started.call([buildTarget('a')], { leavesAfter: 500 }), 1000);
  expect(await callOnce(started, buildTarget('a'))).toMatchObject({
    sent: 0,
    error: { code: 'upstream_overloaded' },
  });
});

const jump = async (work: () => Promise<unknown>): Promise<void> => {
  const now = Date.now();
  vi.setSystemTime(now + 365 * 24 * 3_600_000);
  await work();
  vi.setSystemTime(now);
};

it('a clock that jumps a year and back keeps no provider that failed in between from calls', async () => {
  let isDown = true;
  const started = await openTraffic(() => ({ after: 10, ...(isDown ? { error: down } : {}) }), refusing);
  await jump(async () => {
    for (let call = 0; call < 6; call += 1) await callOnce(started, buildTarget('a'));
  });
  isDown = false;
  expect(await callOnce(started, buildTarget('a'))).toMatchObject({ provider: 'a', attempts: 1 });
});

it('a clock that jumps a year and back keeps no key at rest that was full in between', async () => {
  let isFull = true;
  const started = await openTraffic(
    () => ({ after: 10, ...(isFull ? { error: buildFullError(60), status: 429 } : {}) }),
    refusing,
  );
  await jump(() => callOnce(started, buildTarget('a')));
  isFull = false;
  expect(await callOnce(started, buildTarget('a'))).toMatchObject({ provider: 'a', attempts: 1 });
});

it('a clock that jumps a year and back does not end what an operator holds', () => {
  const holds = new Holds();
  const until = Date.now() + 60_000;
  holds.add({ provider: 'a', until });
  vi.setSystemTime(until + 1);
  expect(holds.list()).toEqual([]);
  vi.setSystemTime(until - 1);
  expect(holds.list()).toEqual([{ provider: 'a', until }]);
});

it.each([
  ['requests that are wrong', wrong, 400],
  ['clients that leave', new GatewayError('client_gone', 'Gone.'), undefined],
])('a failure that is not the fault of the provider (%s) leaves it healthy', async (_, error, status) => {
  const started = await openTraffic((_target, number) => ({
    after: 10,
    ...(number <= 50 ? { error, ...(status ? { status } : {}) } : {}),
  }));
  await runTogether(50, () => started.call([buildTarget('a')]));
  expect(await callOnce(started, buildTarget('a'))).toMatchObject({ provider: 'a', error: undefined });
});

it('several keys take turns, and then another provider is asked', async () => {
  const started = await openTraffic(() => ({ after: 1 }), [keys()]);
  const targets = [
    buildTarget('a', {}, 1),
    buildTarget('a', {}, 2),
    buildTarget('a', {}, 3),
    buildTarget('b'),
  ];
  const outcomes: Outcome[] = [];
  for (let call = 0; call < 6; call += 1) outcomes.push(await callOnce(started, ...targets));
  expect(outcomes.map(({ credential }) => credential).toSorted()).toEqual([1, 1, 2, 2, 3, 3]);
  expect((await started.route(targets)).at(-1)?.provider.name).toBe('b');
});

const targets = [buildTarget('a', {}, 1), buildTarget('b')];
const ask = (worker: Traffic): Promise<Outcome> => callOnce(worker, ...targets);

const openPair = (vendor: Vendor): Promise<[Traffic, Traffic]> =>
  openWorkerPair(() => [health()], vendor, targets);

it.each([
  ['that a key is full', { error: buildFullError(30), status: 429 }],
  ['that a vendor is down', { error: down }],
])('workers that share the port share what one of them learned: %s', async (_, failure) => {
  const [first, second] = await openPair(({ provider }) => ({
    after: 10,
    ...(provider.name === 'a' ? failure : {}),
  }));
  for (let call = 0; call < 5; call += 1) await ask(first);
  expect(await ask(second)).toMatchObject({ provider: 'b', attempts: 1 });
});

it('workers that share the port test again after a while, each for itself', async () => {
  let isDown = true;
  const [first, second] = await openPair(({ provider }) => ({
    after: 10,
    ...(provider.name === 'a' && isDown ? { error: down } : {}),
  }));
  for (let call = 0; call < 5; call += 1) await ask(first);
  isDown = false;
  await Traffic.wait(5000);
  expect(await ask(second)).toMatchObject({ provider: 'a', attempts: 1 });
});
