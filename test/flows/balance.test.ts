/** Prepaid accounts: the balance endpoint while the ledger fails, and calls that a balance barely covers. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { createSecret } from '../../plugins/shared/secret.ts';
import { createTroubledStore } from '../balance/database-outages.ts';
import { startGateway } from '../support/gateway.ts';
import { openHarness, type Harness } from '../support/harness.ts';

const model = 'openai/gpt-4o-mini';
const messages = [{ role: 'user' as const, content: 'Hello!' }];

async function open(credit: string): Promise<Harness> {
  return openHarness({ credit });
}

it('the balance endpoint accepts a key by the credential plugins its options name', async () => {
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

it('the balance endpoint answers with an internal error until the ledger recovers', async () => {
  const ledger = await createTroubledStore('silent');
  const harness = await openHarness({ ledger: { store: ledger.options } });
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
  await ledger.close();
});

it.each([
  ['max_tokens', { max_tokens: 4000 }],
  ['max_completion_tokens', { max_completion_tokens: 4000 }],
  ['max_completion_tokens', {}],
  ['max_tokens', { max_tokens: 4000, stream: true }],
])(
  'an account below the worst case learns which limit was lowered, and to what: %s',
  async (field, limit) => {
    const { gateway, post } = await open('0.0001');
    const response = await post({ model, messages, ...limit, provider: { require_parameters: true } });
    expect([response.status, response.headers.get('x-tollgate-dropped')]).toEqual([200, field]);
    await response.text();
    const [end] = await gateway.ended(1);
    expect(end?.losses).toMatchObject([
      { path: field, reason: expect.stringMatching(/^sent as \d+, /), code: 'approximated' },
    ]);
  },
);

it('an account that covers the worst case keeps its output limit', async () => {
  const { post } = await open('5');
  expect((await post({ model, messages, max_tokens: 4000 })).headers.get('x-tollgate-dropped')).toBeNull();
});
