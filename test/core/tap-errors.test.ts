/** What a tap may throw or return, and how an error names its plugin. */
import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { isTapped } from '../../core/host/taps.ts';
import { GatewayError } from '../../core/util/errors.ts';
import { core, hooks, eraseType, useHooks } from './hooks-of-a-test.ts';

useHooks();

const slip = (): never => {
  throw new TypeError('slip');
};
const call: Record<string, () => unknown> = {
  authenticate: () => core.authenticate.promise(eraseType({})),
  replay: () => core.replay.promise(eraseType({})),
  route: () => core.route.promise(eraseType([]), eraseType({})),
  authorize: () => core.authorize.promise(eraseType({ targets: [] }), eraseType({})),
  transformRequest: () => core.transformRequest.promise(eraseType({ turns: [] }), eraseType({})),
  dispatch: () => core.dispatch.promise(eraseType({}), eraseType({})),
  transformStream: () => core.transformStream.call(eraseType([]), eraseType({})),
};
const ways = Object.keys(call).flatMap((hook) => [
  ...(hook === 'transformRequest' ? [] : [[hook, 'tap']]),
  ...(hook === 'transformStream' ? [] : [[hook, 'tapPromise']]),
]);

/** Taps past the types, which return the outcome of a call. */
async function catchFailure(hook: string, way: string, tap: () => unknown): Promise<unknown> {
  Reflect.get(Reflect.get(hooks, hook), way)(
    { name: 'mine', when: () => true },
    way === 'tap' ? tap : async () => tap(),
  );
  return Promise.try(call[hook] ?? slip).then(
    () => undefined,
    (error: unknown) => error,
  );
}

it.each(ways)(
  'the core names the plugin of a tap on %s, by %s, that throws a programming error',
  async (hook, way) => {
    expect(await catchFailure(hook ?? '', way ?? '', slip)).toMatchObject({
      plugin: 'mine',
      message: expect.stringMatching(
        `^plugin "mine": its tap on "${hook}" failed: slip, at .*tap-errors\\.test`,
      ),
    });
  },
);

it.each(ways.filter(([hook]) => ['authenticate', 'replay', 'authorize'].includes(hook ?? '')))(
  'the core names the plugin of a tap on %s, by %s, whose result would charge or answer a call wrongly',
  async (hook, way) => {
    expect(await catchFailure(hook ?? '', way ?? '', () => true)).toMatchObject({
      message: expect.stringMatching(/^plugin "mine": .* returned something else; it has to return an? /),
    });
  },
);

it.each(ways)('the core passes on the error with which a tap on %s, by %s, refuses', async (hook, way) => {
  const refusal = new GatewayError('forbidden', 'Not on a Sunday.');
  const refuse = (): never => {
    throw refusal;
  };
  expect(await catchFailure(hook ?? '', way ?? '', refuse)).toBe(refusal);
});

it.each([
  ['authorize', { targets: [], outputLimit: 12.5 }],
  ['authorize', { targets: [], outputLimit: 0 }],
  ['authorize', { targets: [], headers: { 'a b': 'c' } }],
  ['authorize', { targets: [], headers: { a: 'b\r\nc: d' } }],
  ['replay', { status: 99, headers: {}, body: '' }],
  ['replay', { status: 200, headers: { 'a b': 'c' }, body: '' }],
])('the core names the plugin of a tap on %s whose result could not be sent: %j', async (hook, answer) => {
  expect(await catchFailure(hook, 'tap', () => answer)).toMatchObject({ plugin: 'mine' });
});

it.each(ways)(
  'the core names the plugin of a tap on %s, by %s, whose error has headers that could not be sent',
  async (hook, way) => {
    const refuseWith = (code: string, headers: Record<string, string>) => (): never => {
      throw new GatewayError(eraseType(code), 'Not on a Sunday.', { headers });
    };
    expect(await catchFailure(hook ?? '', way ?? '', refuseWith('forbidden', { 'a b': 'c' }))).toMatchObject({
      plugin: 'mine',
      message: expect.stringContaining('"a b"'),
    });
  },
);

it.each(ways.filter(([hook]) => hook !== 'dispatch'))(
  'the core names the plugin of a tap on %s, by %s, that refuses with an unknown code',
  async (hook, way) => {
    const refuse = (): never => {
      throw new GatewayError(eraseType('sunday'), 'Not on a Sunday.');
    };
    expect(await catchFailure(hook ?? '', way ?? '', refuse)).toMatchObject({
      plugin: 'mine',
      message: expect.stringContaining('there is no error code "sunday"; known: invalid_request'),
    });
  },
);

it('the core passes on the code of a broken connection from a tap on dispatch', async () => {
  const broken = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  const throwBroken = (): never => {
    throw broken;
  };
  expect(await catchFailure('dispatch', 'tapPromise', throwBroken)).toBe(broken);
});

it('the core names the plugin whose `when` throws, wherever it is evaluated', async () => {
  hooks.transformRequest.tapPromise({ name: 'mine', when: slip }, async (request) => request);
  expect(() => isTapped(core.transformRequest, eraseType({}))).toThrow(
    'plugin "mine": its tap on "transformRequest" failed: slip',
  );
  await expect(core.transformRequest.promise(eraseType({ turns: [] }), eraseType({}))).rejects.toThrow(
    'plugin "mine"',
  );
});

it.each([true, false])(
  'the core names the plugin whose `when` returns a promise, which would count as true: kept %s',
  async (kept) => {
    const lost = vi.fn();
    process.once('unhandledRejection', lost);
    hooks.transformRequest.tapPromise(
      { name: 'mine', when: eraseType(async () => kept || slip()) },
      async (request) => request,
    );
    await expect(core.transformRequest.promise(eraseType({ turns: [] }), eraseType({}))).rejects.toThrow(
      'the tap "mine" on "transformRequest" returned a promise; its "when" has to answer at once',
    );
    await setImmediate();
    process.off('unhandledRejection', lost);
    expect(lost).not.toHaveBeenCalled();
  },
);
