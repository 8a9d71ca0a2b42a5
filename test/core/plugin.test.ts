import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../core/cli/load-config.ts';
import { checkConfig } from '../../core/config.ts';
import { definePlugin } from '../../core/define-plugin.ts';
import { createGateway } from '../../core/gateway.ts';
import { Resources } from '../../core/host/resources.ts';
import { pluginInterface, type Plugin } from '../../core/plugin.ts';
import { Registry } from '../../core/util/registry.ts';

const quiet = pino({ level: 'silent' });
const sample = definePlugin({
  name: 'sample',
  options: z.strictObject({ size: z.int().default(3), mode: z.enum(['a', 'b']).optional() }),
  apply: () => undefined,
});

function createFailingPlugin(message: string): Plugin {
  return {
    name: 'failing',
    interface: pluginInterface,
    apply: () => {
      throw new Error(message);
    },
  };
}

it('plugin options are none where a plugin declares none', () => {
  let applied = false;
  const bare = definePlugin({ name: 'bare', apply: () => void (applied = true) });
  bare().apply(JSON.parse('{}'));
  expect(applied).toBe(true);
  expect(() => bare(JSON.parse('{"size":1}'))).toThrow('plugin "bare": unknown option "size"');
});

it('the reading of plugin options fills in defaults', () => {
  let given: unknown;
  definePlugin({
    name: 'x',
    options: z.strictObject({ size: z.int().default(3) }),
    apply: (_, options) => void (given = options),
  })().apply(JSON.parse('{}'));
  expect(given).toEqual({ size: 3 });
});

it('the check of configurations ignores falsy plugin entries', () => {
  expect(
    checkConfig({ plugins: [false, sample(), undefined, '', null] }, 'f').plugins.map(({ name }) => name),
  ).toEqual(['sample']);
});

it.each([
  [{ plugins: [], sever: {} }, 'sever'],
  [{ plugins: [], server: { port: 'x' } }, 'server.port'],
  [{ plugins: [sample] }, 'call its factory'],
  [{ plugins: [sample(), sample()] }, '"sample" is listed twice'],
  [{}, 'plugins'],
])(
  'the check of configurations refuses a wrong configuration, naming the file and the fault: %#',
  (config, fault) => {
    expect(() => checkConfig(config, 'my.config.ts')).toThrow(fault);
    expect(() => checkConfig(config, 'my.config.ts')).toThrow('my.config.ts');
  },
);

it('the check of configurations names the plugin that could not be applied', () => {
  expect(() =>
    createGateway(checkConfig({ plugins: [createFailingPlugin('no such file')] }, 'f'), quiet),
  ).toThrow('plugin "failing": no such file');
});

it('the check of configurations names the file that could not be read', async () => {
  await expect(loadConfig('/nowhere/gateway.config.ts')).rejects.toThrow('/nowhere/gateway.config.ts');
});

const createCheck = (plugins: unknown) => () => checkConfig({ plugins }, 'my.config.ts');
const own = sample();

it('the version of the interface is set by definePlugin, and by hand on other plugins', () => {
  expect(own.interface).toBe(pluginInterface);
  expect(
    checkConfig(
      { plugins: [own, { name: 'by-hand', interface: pluginInterface, apply: () => undefined }] },
      'f',
    ).plugins,
  ).toHaveLength(2);
});

it('the version of the interface is reported with ours if they differ, with what to do', () => {
  expect(createCheck([own, { ...own, name: 'later', interface: pluginInterface + 1 }])).toThrow(
    'my.config.ts: the plugin "later" was made for version ' +
      `${pluginInterface + 1} of the plugin interface, ` +
      `and this Tollgate has version ${pluginInterface}: update Tollgate`,
  );
  expect(createCheck([{ ...own, name: 'earlier', interface: pluginInterface - 1 }])).toThrow(
    'install a newer version of the plugin',
  );
});

it.each([undefined, null, '1', 0.5])(
  'the version of the interface is required: %j is refused with instructions',
  (made) => {
    expect(createCheck([{ ...own, name: 'silent', interface: made }])).toThrow(
      /plugin "silent" does not say .* definePlugin/,
    );
  },
);

it('a registry accepts a name once, and lists the known names for an unknown one', () => {
  const registry = new Registry<{ name: string }>('protocol');
  registry.add({ name: 'one' });
  registry.add({ name: 'two' });
  expect(() => registry.add({ name: 'one' })).toThrow('protocol "one" already exists');
  expect(() => registry.get('three')).toThrow('no protocol "three"; known: one, two');
});

it('the gateway shares a resource among equal options only, and closes it with its last user', async () => {
  const close = vi.fn<(thing: object) => void>();
  const open = vi.fn<(options: { a: number; b?: number }) => object>(() => ({}));
  const [first, second] = [new Resources(), new Resources()];
  const thing = await first.open('ledger', { a: 1, b: 2 }, open, close);
  expect(await second.open('ledger', { b: 2, a: 1 }, open, close)).toBe(thing);
  expect(await second.open('ledger', { a: 2 }, open, close)).not.toBe(thing);
  expect(open).toHaveBeenCalledTimes(2);
  await first.release();
  expect(close).not.toHaveBeenCalled();
  await second.release();
  expect(close).toHaveBeenCalledTimes(2);
});

it('the gateway opens a resource again after a failure, and closes it like any other', async () => {
  const resources = new Resources();
  await expect(
    resources.open(
      'broken',
      {},
      () => Promise.reject(new Error('no')),
      () => undefined,
    ),
  ).rejects.toThrow('no');
  const close = vi.fn<(thing: number) => void>();
  expect(await resources.open('broken', {}, () => 7, close)).toBe(7);
  const others = new Resources();
  expect(await others.open('broken', {}, () => 8, close)).toBe(7);
  await resources.release();
  expect(close).not.toHaveBeenCalled();
  await others.release();
  expect(close.mock.calls).toEqual([[7]]);
});
