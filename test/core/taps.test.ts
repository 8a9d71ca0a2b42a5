import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { Trace } from '../../core/exchange.ts';
import { freezeTaps, isTapped } from '../../core/host/taps.ts';
import { core, hooks, log, eraseType, useHooks } from './hooks-of-a-test.ts';

useHooks();

const [a, b, c] = ['a', 'b', 'c'].map((id) => ({ provider: 'house', model: { id } }));

it('the core offers plugins only `tap` and `tapPromise`, and no way to call a hook', () => {
  for (const hook of Object.values(hooks)) expect(Object.keys(hook)).not.toContain('promise');
  expect(Object.isFrozen(core)).toBe(true);
});

it('the core refuses a tap without a function, at any hook', () => {
  for (const hook of Object.keys(hooks))
    for (const method of ['tap', 'tapPromise']) {
      const add: unknown = Reflect.get(Reflect.get(hooks, hook), method);
      if (typeof add !== 'function') continue;
      for (const place of ['x', { name: 'x', when: () => true }])
        expect(() => add(place), `${hook}.${method}`).toThrow(`its tap on "${hook}" has no function`);
    }
});

it('the core refuses taps once the gateway is ready', () => {
  freezeTaps(core);
  expect(() => hooks.authenticate.tapPromise('late', async () => undefined)).toThrow(
    '"authenticate" can be tapped in "apply" alone',
  );
});

it('the core names a plugin whose `ready` takes long, since the start and reloads wait for it', async () => {
  vi.useFakeTimers();
  try {
    let end = (): void => undefined;
    hooks.ready.tapPromise('quick', async () => undefined);
    hooks.ready.tapPromise('stuck', () => new Promise((resolve) => (end = resolve)));
    const opened = core.ready.promise();
    await vi.advanceTimersByTimeAsync(9_000);
    expect(log).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(log).toEqual([expect.stringContaining('"tap":"stuck"')]);
    end();
    await opened;
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

it('the core stops authenticate at the first principal, and continues after undefined', async () => {
  const requests: string[] = [];
  const createTap =
    (name: string, principal: { kind: 'user'; account: string; key: string } | undefined) => async () => {
      requests.push(name);
      return principal;
    };
  hooks.authenticate.tapPromise('none', createTap('none', undefined));
  hooks.authenticate.tapPromise('one', createTap('one', { kind: 'user', account: 'a', key: 'k' }));
  hooks.authenticate.tapPromise('never', createTap('never', undefined));
  expect(await core.authenticate.promise(eraseType({}))).toMatchObject({ account: 'a' });
  expect(requests).toEqual(['none', 'one']);
});

it('the core passes each route tap the targets of the previous one, and notes who changed them', async () => {
  hooks.route.tapPromise({ name: 'drop', because: 'it is first' }, async (targets) => targets.slice(1));
  hooks.route.tapPromise('same', async (targets) => [...targets]);
  hooks.route.tapPromise('reprice', async (targets) => targets.map((target) => ({ ...target })));
  hooks.route.tapPromise('reverse', async (targets) => targets.toReversed());
  const trace = new Trace();
  expect(await core.route.promise(eraseType([a, b, c]), eraseType({ trace }))).toEqual([c, b]);
  expect(trace.steps).toEqual([
    { by: 'drop', because: 'it is first', given: [a, b, c], left: [b, c] },
    { by: 'reverse', because: undefined, given: [b, c], left: [c, b] },
  ]);
});

it('the core refuses a waterfall tap that returns nothing; tapable would keep the old value', async () => {
  hooks.route.tapPromise(
    'silent',
    eraseType(async () => undefined),
  );
  await expect(core.route.promise(eraseType([]), eraseType({}))).rejects.toThrow(
    '"silent" on "route" returned nothing',
  );
});

it('the core accepts synchronous taps next to asynchronous ones', async () => {
  hooks.route.tap('drop', (targets) => targets.slice(1));
  hooks.route.tapPromise('reverse', async (targets) => targets.toReversed());
  hooks.authenticate.tap('none', () => undefined);
  hooks.authenticate.tap('one', () => ({ kind: 'user', account: 'a', key: 'k' }));
  expect(await core.route.promise(eraseType([a, b, c]), eraseType({ trace: new Trace() }))).toEqual([c, b]);
  expect(await core.authenticate.promise(eraseType({}))).toMatchObject({ account: 'a' });
});

it('the core refuses a promise from a synchronous tap, since nothing would await it', async () => {
  hooks.route.tap(
    'late',
    eraseType(async () => []),
  );
  hooks.replay.tap(
    'late',
    eraseType(async () => undefined),
  );
  await expect(core.route.promise(eraseType([]), eraseType({}))).rejects.toThrow(
    '"late" on "route" returned a promise; it has to tap by "tapPromise"',
  );
  await expect(core.replay.promise(eraseType({}))).rejects.toThrow('"late" on "replay" returned a promise');
});

it('the core does not end the process if such a promise rejects', async () => {
  const lost = vi.fn();
  process.once('unhandledRejection', lost);
  const failing = eraseType(() => Promise.reject(new Error('too late')));
  hooks.attempt.tap('late', failing);
  hooks.observe.tap('late', failing);
  hooks.transformStream.tap({ name: 'late', when: () => true }, failing);
  core.attempt.call(eraseType({}), eraseType({ id: 'x' }));
  await core.observe.promise(eraseType({ exchange: { id: 'x' } }));
  expect(() => core.transformStream.call(eraseType([]), eraseType({}))).toThrow(
    '"late" on "transformStream" returned a promise; it has to answer at once',
  );
  await setImmediate();
  process.off('unhandledRejection', lost);
  expect(lost).not.toHaveBeenCalled();
});

it('the core names the plugin whose tap keeps the gateway from starting', async () => {
  hooks.ready.tap('at-once', () => {
    throw new Error('out of luck');
  });
  await expect(core.ready.promise()).rejects.toThrow('plugin "at-once": out of luck');
});

it('the core places a tap before another by name', async () => {
  const order: string[] = [];
  hooks.ready.tapPromise('second', async () => void order.push('second'));
  hooks.ready.tapPromise({ name: 'first', before: 'second' }, async () => void order.push('first'));
  await core.ready.promise();
  expect(order).toEqual(['first', 'second']);
});

it.each(['meter', 'observe'] as const)('the core runs every %s tap although one throws', async (name) => {
  const ran: string[] = [];
  hooks[name].tapPromise('throws', async () => {
    throw new Error('broken');
  });
  hooks[name].tapPromise('runs', async () => void ran.push('runs'));
  hooks[name].tap('throws at once', () => {
    throw new Error('broken');
  });
  hooks[name].tap('runs at once', () => void ran.push('runs at once'));
  await expect(core[name].promise(eraseType({ exchange: { id: 'one-call' } }))).resolves.toBeUndefined();
  expect(ran).toEqual(['runs', 'runs at once']);
  expect(log.join()).toContain('"tap":"throws at once"');
  expect(log.join()).toContain('"call":"one-call","hook"');
  expect(log.join()).toContain('"tap":"throws"');
});

it('the core runs every meter tap although one never returns', () => {
  const runs = vi.fn(async () => undefined);
  hooks.meter.tapPromise('never', () => new Promise(() => undefined));
  hooks.meter.tapPromise('runs', runs);
  void core.meter.promise(eraseType({ exchange: { id: 'one-call' } }));
  expect(runs).toHaveBeenCalledOnce();
});

it('the core never lets an attempt tap fail a call', () => {
  hooks.attempt.tap('throws', () => {
    throw new Error('broken');
  });
  expect(() => core.attempt.call(eraseType({}), eraseType({}))).not.toThrow();
  expect(log.join()).toContain('broken');
});

it('the core runs a transform only if its condition holds, and lets the lanes know', async () => {
  hooks.transformRequest.tapPromise({ name: 'shout', when: ({ call }) => call.stream }, async (request) => ({
    ...request,
    model: request.model.toUpperCase(),
  }));
  const streamed = eraseType({ call: { stream: true } });
  const whole = eraseType({ call: { stream: false } });
  expect([streamed, whole].map((call) => isTapped(core.transformRequest, call))).toEqual([true, false]);
  expect(
    await core.transformRequest.promise({ model: 'a', stream: true, turns: [] }, streamed),
  ).toMatchObject({ model: 'A' });
  expect(await core.transformRequest.promise({ model: 'a', stream: false, turns: [] }, whole)).toMatchObject({
    model: 'a',
  });
});
