/** Feeds of prices: at a URL, signed, confirmed by operators, automatic. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { admin } from '../../plugins/operations/admin/index.ts';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { waitUntil } from '../support/operated.ts';
import {
  catalogueCost,
  writeSource,
  harness,
  list,
  buildModelsDev,
  open,
  openPrices,
  payForCall,
  waitForPrice,
  update,
  web,
} from './price-updates.ts';

openPrices();

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
