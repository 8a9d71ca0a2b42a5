/**
 * Prices that change while the gateway runs: feeds of each form, what is held back, rollbacks, the automatic
 * feed, and what a call in between pays.
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { formatUsd, parseUsd, type Plugin } from '../../core/index.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { readRate } from '../../plugins/operations/catalogue/litellm.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { makeFolder } from '../support/folder.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { waitUntil } from '../support/operated.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';

const folder = makeFolder();
let web: ScriptedVendor;
const model = 'openai/gpt-4o-mini';
const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };

/** models.dev's form. Its cached price is stated, so that no rate of the model keeps its old value. */
const buildModelsDev = (input: number, output: number, cacheRead = 0.08): string =>
  JSON.stringify({
    openai: {
      models: { 'gpt-4o-mini': { id: 'gpt-4o-mini', cost: { input, output, cache_read: cacheRead } } },
    },
    elsewhere: { models: { other: { id: 'other', cost: { input: 1, output: 1 } } } },
  });

function writeSource(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const result = z.looseObject({
  applied: z.number().nullable(),
  held: z.number().nullable(),
  matched: z.number(),
  fields: z.array(
    z.looseObject({ field: z.string(), old: z.string().optional(), new: z.string().optional() }),
  ),
  doubtful: z.array(z.object({ provider: z.string(), model: z.string(), reasons: z.array(z.string()) })),
});

const updates = z.array(
  z.looseObject({ id: z.number(), state: z.string(), by: z.string(), source: z.string() }),
);

let harness: Harness;

async function open(
  prices?: NonNullable<Parameters<typeof catalogue>[0]>['prices'],
  ...more: Plugin[]
): Promise<void> {
  harness = await openHarness({ plugins: [catalogue(prices ? { prices } : {}), prometheus(), ...more] });
  harness.vendor.script('gpt-4o-mini', { text: ['Yes.'], usage });
}

async function update(
  source: string,
  options: Record<string, string> = {},
): Promise<z.output<typeof result>> {
  return result.parse(await harness.gateway.verb('prices update', [source], options));
}

async function list(): Promise<z.output<typeof updates>> {
  return updates.parse(await harness.gateway.verb('prices list'));
}

/** What a call costs, in USD for a thousand tokens in and a hundred out. */
async function payForCall(): Promise<string> {
  const before = parseUsd((await harness.balance()).used.toFixed(9));
  await harness.client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi' }] });
  return formatUsd(parseUsd((await harness.balance()).used.toFixed(9)) - before);
}

/** Waits until the gateway has another price for the model's input. */
async function waitForPrice(prompt: string): Promise<void> {
  await waitUntil(async () => {
    const listed = await (await fetch(`${harness.gateway.url}/v1/models/${model}`)).text();
    return listed.includes(`"prompt":"${prompt}"`);
  });
}

const catalogueCost = formatUsd((1000n * parseUsd('0.15') + 100n * parseUsd('0.60')) / 1_000_000n);

beforeAll(async () => {
  web = await startScriptedVendor((response) => void response.writeHead(404).end());
});

import * as fc from 'fast-check';

describe('a price update', () => {
  beforeEach(() => open());

  it('reaches the next call of a running gateway but no running one, and can be rolled back', async () => {
    expect(await payForCall()).toBe(catalogueCost);
    const go = Promise.withResolvers<void>();
    harness.vendor.script('gpt-4o-mini', { text: ['Yes.'], usage, hold: go.promise });
    const running = payForCall();
    await waitUntil(() => harness.vendor.requests.length === 2);
    const made = await update(writeSource('plain.json', buildModelsDev(0.2, 0.8)));
    expect(made).toMatchObject({ applied: 1, held: null, matched: 1, doubtful: [] });
    expect(made.fields.map(({ field, old, new: next }) => [field, old, next])).toEqual([
      ['input', '0.15', '0.2'],
      ['output', '0.6', '0.8'],
      ['cacheRead', '0.075', '0.08'],
    ]);
    await waitForPrice('0.0000002');
    go.resolve();
    expect(await running).toBe(catalogueCost);
    expect(await payForCall()).toBe(
      formatUsd((1000n * parseUsd('0.2') + 100n * parseUsd('0.8')) / 1_000_000n),
    );
    expect(await harness.gateway.verb('prices undo')).toMatchObject({ id: 1, state: 'undone' });
    await waitForPrice('0.00000015');
    expect(await payForCall()).toBe(catalogueCost);
    expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true });
  });

  it('takes effect at its time, and shows nothing to do once it is known', async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const source = writeSource('later.json', buildModelsDev(0.2, 0.8));
    await update(source, { from: later });
    expect((await update(source)).fields).toEqual([]);
    expect(await list()).toMatchObject([{ state: 'applied', from: later }]);
    await update(writeSource('sooner.json', buildModelsDev(0.3, 0.9)), { from: '2026-01-01' });
    await waitForPrice('0.0000003');
  });

  it.each([
    ['drops by more than half', 0.07, 0.6, 0.075],
    ['becomes free', 0, 0.6, 0.075],
    ['drops by more than half', 0.15, 0.6, 0.03],
  ])('that %s waits until an operator confirms it', async (reason, input, output, cacheRead) => {
    const source = writeSource('drop.json', buildModelsDev(input, output, cacheRead));
    const made = await update(source);
    expect(made).toMatchObject({ applied: null, held: 1, doubtful: [{ reasons: [reason] }] });
    expect(await payForCall()).toBe(catalogueCost);
    expect(await harness.gateway.verb('prices confirm', ['1'])).toMatchObject({ state: 'applied' });
    await expect(harness.gateway.verb('prices confirm', ['1'])).rejects.toThrow('is applied');
    await harness.gateway.verb('prices undo', ['1']);
    expect(await update(source, { yes: true } as never)).toMatchObject({ applied: 2, held: null });
  });

  it('that leaves rates of a price unstated names them', async () => {
    const source = writeSource(
      'part.json',
      JSON.stringify({ models: { a: { id: 'gpt-4o-mini', cost: { input: 0.2, output: 0.8 } } } }),
    );
    expect(await update(source, { vendor: 'openai' })).toMatchObject({
      held: 1,
      doubtful: [{ reasons: ['does not state cacheRead'] }],
    });
  });

  it('shows what would change, and applies nothing, as a dry run', async () => {
    const made = await update(writeSource('dry.json', buildModelsDev(0.2, 0.8)), { dryRun: true } as never);
    expect([made.applied, made.fields.length, await list()]).toEqual([null, 3, []]);
  });

  it('reads LiteLLM’s form and our own, with rules and tiers', async () => {
    const litellm = {
      sample_spec: { litellm_provider: 'one of', input_cost_per_token: 0 },
      'gpt-4o-mini': {
        litellm_provider: 'openai',
        input_cost_per_token: 1.6e-7,
        output_cost_per_token: 6.4e-7,
        cache_read_input_token_cost: 8e-8,
        input_cost_per_token_above_100k_tokens: 3.2e-7,
        output_cost_per_token_flex: 5e-7,
      },
    };
    const made = await update(writeSource('litellm.json', JSON.stringify(litellm)));
    expect(made.fields.map(({ field, new: next }) => [field, next])).toEqual(
      [
        ['input', '0.16'],
        ['output', '0.64'],
        ['cacheRead', '0.08'],
        ['input served flex', '0.15'],
        ['output served flex', '0.5'],
        ['input above 100000', '0.32'],
        ['output above 100000', '0.6'],
      ].toSorted(() => 0),
    );
    const own = {
      format: 'tollgate-prices-1',
      asOf: '2026-11-22',
      prices: [
        {
          provider: 'openai',
          model: 'gpt-4o-mini',
          price: {
            input: '0.2',
            output: '0.8',
            cacheRead: '0.1',
            rules: [{ name: 'from-2090', from: '2090-01-01', times: '2' }],
          },
        },
      ],
    };
    expect((await update(writeSource('own.json', JSON.stringify(own)), { yes: true } as never)).applied).toBe(
      2,
    );
    await waitForPrice('0.0000002');
    const wrong = { ...own, prices: [{ provider: 'openai', model: 'gpt-4o-mini', price: { input: 0.2 } }] };
    await expect(update(writeSource('wrong.json', JSON.stringify(wrong)))).rejects.toThrow('prices[0].price');
  });

  it('is refused if the source is no feed, has none of our models, or does not exist', async () => {
    await expect(update(writeSource('text.json', 'no JSON'))).rejects.toThrow(/text\.json is not JSON: /);
    await expect(update(writeSource('list.json', '[1]'))).rejects.toThrow('no price list');
    await expect(update(writeSource('other.json', '{"elsewhere":{"models":{}}}'))).rejects.toThrow(
      'no price of a model',
    );
    await expect(update(join(folder, 'missing.json'))).rejects.toThrow('missing.json cannot be read');
  });
});

describe('LiteLLM’s numbers', () => {
  const toPerMillion = (value: unknown) => readRate('input_cost_per_token', value);

  it('become decimal strings without a rounding error', () => {
    expect([2.5e-6, 1.5e-7, 0, 1e-12, 0.00003, 1].map(toPerMillion)).toEqual([
      '2.5',
      '0.15',
      '0',
      '0.000001',
      '30',
      '1000000',
    ]);
    expect([-1, NaN, Infinity].map(toPerMillion)).toEqual([undefined, undefined, undefined]);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 9 }), (micros) => {
        // Each is a number of millionths of a USD for a million tokens.
        expect(toPerMillion(Number(`${micros}e-12`))).toBe(formatUsd(BigInt(micros) * 1000n));
      }),
    );
  });
});

describe('a feed at a URL', () => {
  beforeEach(() => open());

  it('follows at most three redirects, and never shows its query', async () => {
    let requestCount = 0;
    web.conduct((response) => {
      requestCount += 1;
      if (requestCount <= 3) response.writeHead(302, { location: `/${requestCount}?token=secret` }).end();
      else response.end(buildModelsDev(0.2, 0.8));
    });
    expect((await update(`${web.origin}/feed?token=secret`)).applied).toBe(1);
    expect(JSON.stringify(await list())).not.toContain('secret');
    web.conduct((response) => void response.writeHead(302, { location: '/again' }).end());
    await expect(update(`${web.origin}/feed`)).rejects.toThrow('redirects more than 3 times');
  });

  it('is refused if it is too large or answers an error', async () => {
    web.conduct((response) => {
      response.on('error', () => undefined);
      const chunk = Buffer.alloc(1024 * 1024, ' ');
      for (let sent = 0; sent < 20; sent += 1) response.write(chunk);
      response.end('{}');
    });
    await expect(update(`${web.origin}/feed`)).rejects.toThrow('more than 16777216 bytes');
    web.conduct((response) => void response.writeHead(500).end());
    await expect(update(`${web.origin}/feed`)).rejects.toThrow('it answers 500');
  });
});

it('a signed feed is applied if the signature fits, and refused otherwise', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  await open({ publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() });
  const text = buildModelsDev(0.2, 0.8);
  const source = writeSource('signed.json', text);
  await expect(update(source)).rejects.toThrow(/its signature, .*signed\.json\.sig: ENOENT/);
  writeSource('signed.json.sig', sign(null, Buffer.from(`${text} `), privateKey).toString('base64'));
  await expect(update(source)).rejects.toThrow('its signature does not fit');
  writeSource('signed.json.sig', sign(null, Buffer.from(text), privateKey).toString('base64'));
  expect((await update(source)).applied).toBe(1);
});

it('a signed feed needs a valid public key', async () => {
  await open();
  expect(() => catalogue({ prices: { publicKey: 'abc' } })).toThrow('must be an Ed25519 public key');
});

it('the admin API lists updates, and lets operators alone confirm and roll them back', async () => {
  await open(undefined, admin({ port: 0 }));
  const url = findAdminUrl(harness.gateway.printed);
  const secret = readFileSync(join(harness.gateway.dataFolder, 'operator-secret'), 'utf8').trim();
  const ask = async (path: string, method = 'GET', key = secret): Promise<unknown> => {
    const response = await fetch(`${url}/admin/prices${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
    });
    return [response.status, await response.json()];
  };
  await update(writeSource('admin.json', buildModelsDev(0.01, 0.8)));
  expect(await ask('')).toMatchObject([200, { data: [{ id: 1, state: 'held', models: 1 }] }]);
  expect(await ask('/1/confirm', 'POST', harness.key)).toMatchObject([403, {}]);
  expect(await ask('/1/confirm', 'POST')).toMatchObject([
    200,
    { state: 'applied', by: expect.stringMatching(/^key /) },
  ]);
  await waitForPrice('0.00000001');
  expect(await ask('/1/undo', 'POST')).toMatchObject([200, { state: 'undone' }]);
  expect(await ask('/1/undo', 'POST')).toMatchObject([409, {}]);
  expect(await ask('/7/undo', 'POST')).toMatchObject([404, {}]);
  expect(await ask('/x/undo', 'POST')).toMatchObject([400, {}]);
  await waitForPrice('0.00000015');
});

describe('the automatic feed', () => {
  it('changes prices by itself, holds back doubtful ones, and does not repeat a rollback', async () => {
    web.conduct((response) => void response.end(buildModelsDev(0.01, 0.8)));
    await open({ feed: `${web.origin}/feed?key=secret` });
    await waitUntil(async () => (await list()).length === 1);
    expect(await list()).toMatchObject([{ state: 'held', by: 'feed' }]);
    expect(await payForCall()).toBe(catalogueCost);
    expect(harness.gateway.log.join('')).toContain('has prices that an operator has to confirm');
    expect(harness.gateway.log.join('')).not.toContain('secret');
  });

  it.each([
    ['answers 500', 500, ''],
    ['has a wrong signature', 200, 'the signature of something else'],
  ])(
    'leaves prices unchanged when it %s, and says so in the log and in metrics',
    async (_, status, signature) => {
      const { publicKey } = generateKeyPairSync('ed25519');
      web.conduct(
        (response, { url }) =>
          void response.writeHead(status).end(url?.endsWith('.sig') ? signature : buildModelsDev(0.2, 0.8)),
      );
      await open({
        feed: `${web.origin}/feed`,
        publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      });
      await waitUntil(() => harness.gateway.log.some((line) => line.includes('the price feed failed')));
      const readFigure = async (name: string): Promise<number> => {
        const text = await (await fetch(`${harness.gateway.url}/metrics`)).text();
        return Number(new RegExp(`^tollgate_price_feed_${name} (\\d+)$`, 'm').exec(text)?.[1]);
      };
      await waitUntil(async () => (await readFigure('ok')) === 0);
      expect(await readFigure('failures_total')).toBeGreaterThan(0);
      expect(await payForCall()).toBe(catalogueCost);
    },
  );
});
