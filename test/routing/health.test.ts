/**
 * Which targets are not asked: providers that are down, keys at rest; and how often a failing provider is
 * asked again.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../core/index.ts';
import { RetryBudget } from '../../core/retries/budget.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { pairOfWorkers, targetAt, Traffic, type Outcome, type Vendor } from '../support/traffic.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const down = new GatewayError('upstream_failed', 'The provider failed with status 500.');
const full = (retryAfter?: number): GatewayError =>
  new GatewayError('rate_limited', 'The provider takes no more calls at the moment.', { retryAfter });
const wrong = new GatewayError('invalid_request', 'The request is wrong.');

/** A gateway that refuses calls without a healthy target. */
const refusing = [health({ pause: 5, whenAllFail: 'refuse' })];

async function traffic(vendor: Vendor, plugins = [health({ pause: 5 })]): Promise<Traffic> {
  const started = new Traffic(plugins, vendor);
  await started.open();
  return started;
}

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

async function one(started: Traffic, ...targets: Parameters<Traffic['call']>[0]): Promise<Outcome> {
  const ended: Outcome[] = [];
  void started.call(targets).then((outcome) => void ended.push(outcome));
  await vi.advanceTimersByTimeAsync(1000);
  for (let second = 0; second < 60 && ended.length === 0; second += 1)
    await vi.advanceTimersByTimeAsync(1000);
  const [outcome] = ended;
  if (!outcome) throw new Error('the call did not end');
  return outcome;
}

const sent = (outcomes: readonly Outcome[]): number =>
  outcomes.reduce((sum, outcome) => sum + outcome.sent, 0);

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
      const { sent: asked, error } = await one(started, targetAt('dead'));
      expect([asked > 0, error?.code, error?.retry]).toEqual([true, down.code, asked === 1]);
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

describe('a key at its limit', () => {
  const targets = [targetAt('a', {}, 1), targetAt('a', {}, 2), targetAt('b')];

  it('rests alone, for as long as the provider asked', async () => {
    const started = await traffic((target, number) => ({
      after: 10,
      ...(target.provider.credential === 1 && number < 3 ? { error: full(30), status: 429 } : {}),
    }));
    expect(await one(started, ...targets)).toMatchObject({ provider: 'a', credential: 2, attempts: 2 });
    expect(await one(started, ...targets)).toMatchObject({ provider: 'a', credential: 2, attempts: 1 });
    await Traffic.wait(27_000);
    expect(await one(started, ...targets)).toMatchObject({ credential: 2, attempts: 1 });
    await Traffic.wait(2000);
    expect(await one(started, ...targets)).toMatchObject({ credential: 1, attempts: 1 });
  });

  it.each([
    [1, [health()]],
    [0, refusing],
  ])(
    'and all others too: the client learns when the first of them is free again, and %i of them is asked',
    async (asked, plugins) => {
      const started = await traffic(
        ({ provider }) => ({ after: 10, error: full(provider.credential === 1 ? 40 : 20), status: 429 }),
        plugins,
      );
      await one(started, ...targets.slice(0, 2));
      const { sent: reached, error } = await one(started, ...targets.slice(0, 2));
      expect([reached, error?.code, error?.details.retryAfter]).toEqual([asked, 'rate_limited', 20]);
      expect(error?.retry).toBe(true);
    },
  );

  it('is used again as soon as it answers', async () => {
    let isFull = true;
    const started = await traffic(() => ({ after: 10, ...(isFull ? { error: full(60), status: 429 } : {}) }));
    await one(started, ...targets.slice(0, 1), targetAt('b', {}, 1));
    isFull = false;
    expect(await one(started, ...targets.slice(0, 1), targetAt('b', {}, 1))).toMatchObject({
      provider: 'a',
      attempts: 1,
    });
    expect(await one(started, ...targets.slice(0, 1), targetAt('b', {}, 1))).toMatchObject({
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
  ])('rests for a minute if the provider refuses it (%i)', async (status, error) => {
    const started = await traffic((target) => ({
      after: 10,
      ...(target.provider.credential === 1 ? { error, status } : {}),
    }));
    await one(started, ...targets);
    await Traffic.wait(55_000);
    expect(await one(started, ...targets)).toMatchObject({ credential: 2, attempts: 1 });
    await Traffic.wait(5000);
    expect(await one(started, ...targets)).toMatchObject({ credential: 2, attempts: 2 });
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

describe('retries at a provider that fails now and then', () => {
  async function calls(vendor: Vendor, targets = [targetAt('a'), targetAt('b')]): Promise<Outcome[]> {
    const started = await traffic(vendor, [keys(), health()]);
    const outcomes: Promise<Outcome>[] = [];
    for (let call = 0; call < 500; call += 1) {
      outcomes.push(started.call(targets));
      await Traffic.wait(25);
    }
    await Traffic.wait(10_000);
    return Promise.all(outcomes);
  }

  it('are a fifth of its calls at most', async () => {
    // Every third call to each provider fails: too few to open a circuit.
    const asked = new Map<string, number>();
    const outcomes = await calls(({ provider: { name } }) => {
      const count = (asked.get(name) ?? 0) + 1;
      asked.set(name, count);
      return { after: 10, ...(count % 3 === 0 ? { error: down } : {}) };
    });
    expect(sent(outcomes)).toBeGreaterThan(550);
    expect(sent(outcomes)).toBeLessThanOrEqual(610);
  });

  it.each([
    [0.2, 20],
    [0.5, 50],
  ])(
    'are the share the operator states (%d), in each ten seconds, and never fewer than ten',
    (share, allowed) => {
      const budget = new RetryBudget(share);
      const granted = (tries: number): number =>
        Array.from({ length: tries }, () => {
          const { hasRoom } = budget;
          if (hasRoom) budget.spend();
          return hasRoom;
        }).filter(Boolean).length;
      expect(granted(50)).toBe(10);
      for (let call = 0; call < 100; call += 1) budget.noteFirst();
      expect(granted(200)).toBe(allowed - 10);
      vi.advanceTimersByTime(10_000);
      expect(granted(50)).toBe(10);
    },
  );

  it('are free if the other target is healthy', async () => {
    const outcomes = await calls(({ provider }, number) => ({
      after: 10,
      ...(provider.name === 'a' && number % 3 > 0 ? { error: down } : {}),
    }));
    expect(outcomes.every(({ error }) => error === undefined)).toBe(true);
  });

  it('are free if only the key reached its limit', async () => {
    const outcomes = await calls(
      ({ provider }) => ({
        after: 10,
        ...(provider.credential === 1 ? { error: full(0), status: 429 } : {}),
      }),
      [targetAt('a', {}, 1), targetAt('a', {}, 2)],
    );
    expect(outcomes.every(({ credential }) => credential === 2)).toBe(true);
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
