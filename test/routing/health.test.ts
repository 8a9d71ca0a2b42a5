/**
 * Which targets are not asked: providers that are down, keys at rest; and how often a failing provider is
 * asked again.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../core/index.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { pairOfWorkers, targetAt, Traffic, type Outcome, type Vendor } from '../support/traffic.ts';
import { down, full, one, refusing, sent, traffic } from './ailing.ts';

beforeEach(() => void vi.useFakeTimers());

afterEach(() => void vi.useRealTimers());

const wrong = new GatewayError('invalid_request', 'The request is wrong.');

/** Makes calls at one moment, and lets the time they take pass. */
async function together(
  count: number,
  call: () => Promise<Outcome>,
  milliseconds = 5000,
): Promise<Outcome[]> {
  const calls = Array.from({ length: count }, call);
  await vi.advanceTimersByTimeAsync(milliseconds);
  return Promise.all(calls);
}

describe('a dead provider', () => {
  const dead: Vendor = () => ({ after: 20, error: down });

  it('gets at most 1.2 calls each from a thousand clients at once, and one per model and key', async () => {
    const started = await traffic(dead);
    const targets = [1, 2, 3].flatMap((key) =>
      ['house/model', 'house/other'].map((id) => targetAt('dead', { id }, key)),
    );
    const outcomes = await together(1000, () => started.call(targets));
    expect(sent(outcomes)).toBeGreaterThanOrEqual(1000);
    expect(sent(outcomes)).toBeLessThanOrEqual(1200 + targets.length);
    expect(outcomes.every(({ error }) => error && !error.retry)).toBe(true);
  });

  it('and another dead one are together asked at most 1.2 times by each', async () => {
    const started = await traffic(dead);
    const targets = [targetAt('dead'), targetAt('gone')];
    expect(sent(await together(1000, () => started.call(targets)))).toBeLessThanOrEqual(
      1200 + targets.length,
    );
  });

  it('is asked by each client if there is no other: it may be healthy again at any time', async () => {
    let isDown = true;
    const started = await traffic(() => (isDown ? { after: 20, error: down } : { after: 20 }));
    for (let call = 0; call < 20; call += 1) {
      const { sent: requestCount, error } = await one(started, targetAt('dead'));
      expect([requestCount > 0, error?.code, error?.retry]).toEqual([true, down.code, requestCount === 1]);
    }
    isDown = false;
    expect(await one(started, targetAt('dead'))).toMatchObject({ provider: 'dead', error: undefined });
  });

  it('gets few calls from successive clients if calls are to be refused', async () => {
    const started = await traffic(dead, refusing);
    const outcomes: Outcome[] = [];
    for (let second = 0; second < 60; second += 1) outcomes.push(await one(started, targetAt('dead')));
    expect(sent(outcomes)).toBeGreaterThan(10);
    expect(sent(outcomes)).toBeLessThan(20);
    const refused = outcomes.filter((outcome) => outcome.sent === 0);
    expect(
      refused.every(
        ({ error }) => error?.code === 'upstream_overloaded' && Number(error.details.retryAfter) > 0,
      ),
    ).toBe(true);
  });

  it('loses no reply while another provider is healthy, and after a few calls no time', async () => {
    const started = await traffic(({ provider }) =>
      provider.name === 'dead' ? { after: 20, error: down } : { after: 100 },
    );
    const targets = [targetAt('dead'), targetAt('sound')];
    const burst = await together(1000, () => started.call(targets));
    expect(burst.every(({ provider }) => provider === 'sound')).toBe(true);
    expect(await one(started, ...targets)).toMatchObject({ provider: 'sound', attempts: 1, took: 100 });
  });
});

describe('a provider that recovers', () => {
  it('is tested by one call while the others go elsewhere, and then gets all calls', async () => {
    let isDown = true;
    const started = await traffic(({ provider }) =>
      provider.name === 'a' && isDown ? { after: 10, error: down } : { after: 200 },
    );
    const targets = [targetAt('a'), targetAt('b')];
    for (let call = 0; call < 6; call += 1) await one(started, ...targets);
    isDown = false;
    await Traffic.wait(6000);
    const outcomes = await together(50, () => started.call(targets));
    expect(outcomes.filter(({ provider }) => provider === 'a')).toHaveLength(1);
    expect(await one(started, ...targets)).toMatchObject({ provider: 'a', attempts: 1 });
  });

  it('is still down if the test call fails: no other call is sent', async () => {
    const started = await traffic(() => ({ after: 100, error: down }), refusing);
    for (let call = 0; call < 6; call += 1) await one(started, targetAt('a'));
    await Traffic.wait(6000);
    expect(sent(await together(20, () => started.call([targetAt('a')])))).toBe(1);
  });

  it('does not count as healthy because the client of the test call disconnected', async () => {
    let patient = false;
    const started = await traffic(() => (patient ? { after: 10, error: down } : { after: 50_000 }), refusing);
    patient = true;
    for (let call = 0; call < 6; call += 1) await one(started, targetAt('a'));
    patient = false;
    await Traffic.wait(6000);
    await together(1, () => started.call([targetAt('a')], { leavesAfter: 500 }), 1000);
    expect(await one(started, targetAt('a'))).toMatchObject({
      sent: 0,
      error: { code: 'upstream_overloaded' },
    });
  });
});

describe('a failure that is not the fault of the provider', () => {
  it.each([
    ['requests that are wrong', wrong, 400],
    ['clients that leave', new GatewayError('client_gone', 'Gone.'), undefined],
  ])('(%s) leaves it healthy', async (_, error, status) => {
    const started = await traffic((_target, number) => ({
      after: 10,
      ...(number <= 50 ? { error, ...(status ? { status } : {}) } : {}),
    }));
    await together(50, () => started.call([targetAt('a')]));
    expect(await one(started, targetAt('a'))).toMatchObject({ provider: 'a', error: undefined });
  });
});

describe('several keys', () => {
  it('take turns', async () => {
    const started = await traffic(() => ({ after: 1 }), [keys()]);
    const targets = [targetAt('a', {}, 1), targetAt('a', {}, 2), targetAt('a', {}, 3), targetAt('b')];
    const outcomes: Outcome[] = [];
    for (let call = 0; call < 6; call += 1) outcomes.push(await one(started, ...targets));
    expect(outcomes.map(({ credential }) => credential).toSorted()).toEqual([1, 1, 2, 2, 3, 3]);
    expect((await started.route(targets)).at(-1)?.provider.name).toBe('b');
  });
});

describe('workers that share the port', () => {
  const targets = [targetAt('a', {}, 1), targetAt('b')];
  const ask = (worker: Traffic): Promise<Outcome> => one(worker, ...targets);

  const pair = (vendor: Vendor): Promise<[Traffic, Traffic]> =>
    pairOfWorkers(() => [health()], vendor, targets);

  it.each([
    ['that a key is full', { error: full(30), status: 429 }],
    ['that a vendor is down', { error: down }],
  ])('share what one of them learned: %s', async (_, failure) => {
    const [first, second] = await pair(({ provider }) => ({
      after: 10,
      ...(provider.name === 'a' ? failure : {}),
    }));
    for (let call = 0; call < 5; call += 1) await ask(first);
    expect(await ask(second)).toMatchObject({ provider: 'b', attempts: 1 });
  });

  it('test again after a while, each for itself', async () => {
    let isDown = true;
    const [first, second] = await pair(({ provider }) => ({
      after: 10,
      ...(provider.name === 'a' && isDown ? { error: down } : {}),
    }));
    for (let call = 0; call < 5; call += 1) await ask(first);
    isDown = false;
    await Traffic.wait(5000);
    expect(await ask(second)).toMatchObject({ provider: 'a', attempts: 1 });
  });
});
