/** The commands about models: what is on offer, and what a new snapshot would change. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openAdminListener } from '../support/admin-listener.ts';
import { makeFolder } from '../support/folder.ts';
import { createHost } from '../support/host.ts';
import { testProvider } from '../support/test-provider.ts';

const folder = makeFolder();

const facts = {
  price: { input: '1', output: '2', cacheRead: '0.1', tiers: [{ above: 200_000, input: '2', output: '4' }] },
};
const host = createHost([
  catalogue(),
  testProvider({
    name: 'inhouse',
    endpoints: {},
    models: [
      { ...facts, upstream: 'one' },
      { id: 'house/two', upstream: 'two', expires: '2099-01-31' },
    ],
  }),
  testProvider({ name: 'mirror', endpoints: {}, models: [facts] }),
]);

async function run(
  name: string,
  args: readonly string[],
  options: Record<string, string> = {},
): Promise<{ json: unknown; text: string }> {
  const command = [...host.commands.list()].find((known) => known.name.startsWith(name));
  if (!command) throw new Error(`no verb "${name}"`);
  return command.run(args, options, () => undefined);
}

function writeSnapshot(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe('models', () => {
  it('lists each model once, with its providers, prices and last day', async () => {
    const { json, text } = await run('models', []);
    expect(json).toMatchObject([
      {
        id: 'house/model',
        providers: ['inhouse', 'mirror'],
        prices: [
          { unit: 'input', rate: '1' },
          { unit: 'output', rate: '2' },
          { unit: 'cacheRead', rate: '0.1' },
        ],
        contextLength: 100_000,
        expires: null,
      },
      { id: 'house/two', providers: ['inhouse'], expires: '2099-01-31' },
    ]);
    expect(text).toMatch(/^MODEL .*LAST DAY\nhouse\/model .*inhouse, mirror\nhouse\/two .*2099-01-31$/);
  });

  it('lists the models of one owner, or says who has any', async () => {
    expect((await run('models', ['house'])).json).toHaveLength(2);
    expect(await run('models', ['unknown'])).toEqual({
      json: [],
      text: 'No unknown models: set the key of a provider that has them. There are models of house.',
    });
  });
});

describe('prices diff', () => {
  const one = {
    id: 'one',
    cost: { input: 1, output: '2.00', cache_read: 0.1, context_over_200k: { input: 2, output: 4 } },
    limit: { context: 100_000, output: 1000 },
  };

  it('finds no difference between two spellings of the same facts', async () => {
    const snapshot = writeSnapshot('inhouse.json', {
      models: [
        one,
        { id: 'two', cost: { input: 1, output: 2 }, limit: { context: 100_000 } },
        { id: 'unpriced' },
      ],
    });
    expect((await run('prices diff', [snapshot])).json).toEqual({ compared: ['inhouse'], differences: [] });
  });

  it('names a file that cannot be read', async () => {
    await expect(run('prices diff', ['/no-such.json'])).rejects.toThrow(
      'the price feed /no-such.json cannot be read: ENOENT',
    );
  });

  it('names each figure that differs, what is new and what is missing', async () => {
    const snapshot = writeSnapshot('inhouse.json', {
      models: {
        one: { ...one, cost: { ...one.cost, input: '1.5', cache_write: 1.25 }, limit: { context: 200_000 } },
        three: { id: 'three', cost: { input: 1, output: 1 } },
      },
    });
    const { json, text } = await run('prices diff', [snapshot]);
    expect(json).toMatchObject({
      differences: [
        { model: 'one', change: 'changed', figure: 'input', from: '1', to: '1.5' },
        { model: 'one', change: 'changed', figure: 'contextLength', from: '100000', to: '200000' },
        { model: 'one', change: 'changed', figure: 'cacheWrite5m', to: '1.25' },
        { model: 'two', change: 'missing' },
        { model: 'three', change: 'added' },
      ],
    });
    expect(text).toContain('~ inhouse one: input 1 → 1.5\n');
    expect(text).toMatch(/5 differences in inhouse\. Nothing was applied/);
  });

  it('reads all providers of models.dev at once, and skips those that the catalogue lacks', async () => {
    const snapshot = writeSnapshot('api.json', {
      inhouse: { models: { one } },
      stranger: { models: { x: { id: 'x', cost: { input: 1, output: 1 } } } },
    });
    expect((await run('prices diff', [snapshot])).json).toMatchObject({
      compared: ['inhouse'],
      differences: [{ model: 'two', change: 'missing' }],
    });
  });

  it('reads a file in our own form, and reports models that it omits as gone', async () => {
    const model = {
      id: 'house/model',
      upstream: 'one',
      name: 'One',
      created: '2026-01-01',
      description: 'A model.',
      contextLength: 100_000,
      outputLimit: 1000,
      input: ['text'],
      output: ['text'],
      price: { input: '1', output: '2' },
    };
    const snapshot = writeSnapshot('new.json', {
      vendor: 'inhouse',
      asOf: '2026-11-01',
      source: 'the vendor',
      models: [model, { ...model, id: 'house/two', upstream: 'two' }],
    });
    expect((await run('prices diff', [snapshot])).json).toMatchObject({
      differences: [
        { figure: 'cacheRead', from: '0.1' },
        { figure: 'input above 200000', from: '2' },
        { figure: 'output above 200000', from: '4' },
      ],
    });
  });

  it('reports a file of neither form, and a missing provider name', async () => {
    await expect(run('prices diff', [writeSnapshot('other.json', { hello: 'world' })])).rejects.toThrow(
      /other\.json is no price list .*"prices schema" prints the form of ours$/,
    );
    await expect(run('prices diff', [writeSnapshot('empty.json', {})])).rejects.toThrow(
      /empty\.json has no models$/,
    );
    await expect(run('prices diff', [writeSnapshot('stranger.json', { models: [one] })])).rejects.toThrow(
      /no models of "stranger"; name the vendor with --vendor/,
    );
    expect(
      (await run('prices diff', [writeSnapshot('stranger.json', { models: [one] })], { vendor: 'inhouse' }))
        .json,
    ).toMatchObject({ compared: ['inhouse'] });
  });
});

describe('GET /admin/models', () => {
  it('shows what an example call costs, with a picture where the model makes them', async () => {
    const { gateway, ask } = await openAdminListener([catalogue(), demo()]);
    const { body } = await ask('GET', '/models');
    await gateway.close();
    expect(body).toMatchObject({
      data: [
        { id: 'demo/echo', offers: [{ example_cost: '0.0003' }] },
        { id: 'demo/paint', offers: [{ example_cost: '0.002' }] },
      ],
    });
  });
});
