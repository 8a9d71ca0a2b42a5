/**
 * Prepaid accounts: the balance on its three endpoints, what happens when it runs short, and that no call
 * overdraws it.
 */
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { createSecret } from '../../plugins/shared/secret.ts';
import { createTroubledStore } from '../balance/troubles.ts';
import { startGateway } from '../support/gateway.ts';
import { openHarness, type Harness } from '../support/harness.ts';

const model = 'openai/gpt-4o-mini';
const messages = [{ role: 'user' as const, content: 'Hello!' }];

let harness: Harness | undefined;
afterEach(async () => {
  await harness?.close();
  harness = undefined;
});

async function open(credit: string): Promise<Harness> {
  harness = await openHarness({ credit });
  return harness;
}

describe('the balance endpoint', () => {
  it.each(['/v1/user/balance', '/alpha/user/balance', '/beta/user/balance'])(
    'answers at %s',
    async (path) => {
      const { gateway, key } = await open('12.5');
      const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${key}` } });
      expect([response.status, await response.json()]).toEqual([
        200,
        { is_active: true, balance: 12.5, total: 12.5, used: 0, currency: 'USD' },
      ]);
    },
  );

  it('accepts a key only with the credential plugin its options name, or any if they name none', async () => {
    const madeSchema = z.object({ key: z.string() });
    for (const [families, status] of [
      [undefined, 200],
      [['balance'], 200],
      [['chat-completions'], 401],
    ] as const) {
      const gateway = await startGateway({
        plugins: [bearer(families ? { families: [...families] } : {}), chatCompletions(), balance()],
      });
      const { key } = madeSchema.parse(await gateway.verb('keys create'));
      const asked = await Promise.all(
        ['/v1/user/balance', '/beta/user/balance'].map((path) =>
          fetch(gateway.url + path, { headers: { authorization: `Bearer ${key}` } }),
        ),
      );
      expect([families, asked.map((response) => response.status)]).toEqual([families, [status, status]]);
      await gateway.close();
    }
  });

  it.each(['', 'Bearer nonsense', 'Bearer sk-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'])(
    'refuses any other key with an error of its own protocol: "%s"',
    async (authorization) => {
      const { gateway } = await open('1');
      const response = await fetch(`${gateway.url}/v1/user/balance`, { headers: { authorization } });
      expect([response.status, await response.json()]).toEqual([
        401,
        { error: 'unauthenticated', is_active: false },
      ]);
    },
  );

  it('refuses a key within a second after an operator disables it', async () => {
    const { gateway, key, balance: ask } = await open('1');
    await ask();
    await gateway.verb('keys disable', [key.slice(-4)]);
    await expect
      .poll(
        async () =>
          (await fetch(`${gateway.url}/v1/user/balance`, { headers: { authorization: `Bearer ${key}` } }))
            .status,
      )
      .toBe(401);
  });

  it('gives each path an internal error until the ledger recovers, even for a key just seen', async () => {
    const ledger = await createTroubledStore('silent');
    harness = await openHarness({ ledger: { store: ledger.options } });
    const { gateway, key, balance: ask } = harness;
    const addresses = ['/v1/user/balance', '/alpha/user/balance', '/beta/user/balance'];
    const fetchAll = (secret: string) =>
      Promise.all(
        addresses.map(async (path) => {
          const response = await fetch(gateway.url + path, {
            headers: { authorization: `Bearer ${secret}` },
          });
          return [response.status, await response.json()];
        }),
      );
    await ask();
    await ledger.begin();
    const down = [500, { error: 'internal error', is_active: false }];
    expect(await fetchAll(key)).toEqual([down, down, down]);
    expect(await fetchAll(createSecret())).toEqual([down, down, down]);
    const junk = [401, { error: 'unauthenticated', is_active: false }];
    expect(await fetchAll('sk-junk')).toEqual([junk, junk, junk]);
    await ledger.end();
    await expect.poll(async () => (await fetchAll(key)).map(([status]) => status)).toEqual([200, 200, 200]);
    await harness.close();
    harness = undefined;
    await ledger.close();
  });

  it('reports total minus used as the balance, to the last digit', async () => {
    const { client, balance: ask } = await open('0.3');
    await client.chat.completions.create({ model, messages });
    const { balance: left, total, used } = await ask();
    expect(used).toBeGreaterThan(0);
    expect(left.toFixed(9)).toBe((total - used).toFixed(9));
  });
});

describe('an account', () => {
  it('that is empty gets 402 before any provider is asked, and a hint not to retry', async () => {
    const { post, vendor } = await open('');
    const response = await post({ model, messages });
    expect([response.status, response.headers.get('x-should-retry'), await response.json()]).toMatchObject([
      402,
      'false',
      { error: { type: 'insufficient_quota', code: 'insufficient_quota' } },
    ]);
    expect(vendor.requests).toEqual([]);
  });

  it('below the worst case gets a lower output limit instead of a refusal', async () => {
    const { client, vendor, balance: ask } = await open('0.0001');
    await client.chat.completions.create({ model, messages, max_tokens: 4000 });
    const sent: unknown = JSON.parse(vendor.requests.at(-1)?.body.toString() ?? '');
    const limit =
      typeof sent === 'object' && sent && 'max_completion_tokens' in sent
        ? Number(sent.max_completion_tokens)
        : 0;
    expect(limit).toBeGreaterThanOrEqual(16);
    expect(limit).toBeLessThan(4000);
    expect((await ask()).balance).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ['max_tokens', { max_tokens: 4000 }],
    ['max_completion_tokens', { max_completion_tokens: 4000 }],
    ['max_completion_tokens', {}],
    ['max_tokens', { max_tokens: 4000, stream: true }],
  ])('below the worst case learns which limit was lowered, and to what: %s', async (field, limit) => {
    const { gateway, post } = await open('0.0001');
    const response = await post({ model, messages, ...limit, provider: { require_parameters: true } });
    expect([response.status, response.headers.get('x-tollgate-dropped')]).toEqual([200, field]);
    await response.text();
    const [end] = await gateway.ended(1);
    expect(end?.losses).toMatchObject([
      { path: field, reason: expect.stringMatching(/^sent as \d+, /), code: 'approximated' },
    ]);
  });

  it('that covers the worst case keeps its output limit', async () => {
    const { post } = await open('5');
    expect((await post({ model, messages, max_tokens: 4000 })).headers.get('x-tollgate-dropped')).toBeNull();
  });

  it('with whenShort: refuse gets a refusal instead', async () => {
    harness = await openHarness({ credit: '0.0001', ledger: { whenShort: 'refuse' } });
    expect((await harness.post({ model, messages, max_tokens: 4000 })).status).toBe(402);
    expect((await harness.post({ model, messages, max_tokens: 20 })).status).toBe(200);
  });

  it('that covers one call pays for one, however many arrive at once', async () => {
    const { gateway, vendor, key } = await open('0.00003');
    const held = Promise.withResolvers<void>();
    vendor.script('gpt-4o-mini', async () => (await held.promise, { text: ['ok'] }));
    const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const calls = Array.from({ length: 40 }, () =>
      client.chat.completions.create({ model, messages, max_tokens: 16 }).then(
        () => 200,
        (error: unknown) => (error instanceof OpenAI.APIError ? error.status : 0),
      ),
    );
    await gateway.ended(39);
    held.resolve();
    const statuses = await Promise.all(calls);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 402)).toHaveLength(39);
    expect(vendor.requests).toHaveLength(1);
  });
});
