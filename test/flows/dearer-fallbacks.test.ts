/**
 * `provider.fallback` to a dearer model, with the OpenAI SDK over sockets: the call reserves for its first
 * target, reserves more before the dearer one, and goes there only as far as it is paid for.
 */
import OpenAI, { type APIPromise } from 'openai';
import { expect, it } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { readBooks } from '../balance/ledger-file.ts';
import { expectSound } from '../contract/books.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatReply } from '../support/replies.ts';
import {
  sendJson,
  startScriptedVendor,
  type Conduct,
  type ScriptedVendor,
} from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

const refuse: Conduct = (response) => sendJson(response, { error: { message: 'busy' } }, 503);
const usage = { prompt_tokens: 12, completion_tokens: 30, total_tokens: 42 };
const answer: Conduct = (response) => sendJson(response, chatReply('Hello!', { usage }));

interface Stage {
  readonly gateway: TestGateway;
  readonly cheap: ScriptedVendor;
  readonly dear: ScriptedVendor;
  /** Calls the cheap model, which is down, with the dear one as its fallback. */
  ask(key: string, limit?: number): APIPromise<OpenAI.ChatCompletion>;
}

async function open(options: Parameters<typeof balance>[0] = {}): Promise<Stage> {
  const [cheap, dear] = [await startScriptedVendor(refuse), await startScriptedVendor(answer)];
  const serve = ({ origin }: ScriptedVendor, id: string, price: { input: string; output: string }) =>
    testProvider({
      name: `${id.split('/')[1]}-house`,
      endpoints: { 'chat-completions': `${origin}/v1/chat/completions` },
      models: [{ id, price }],
    });
  const gateway = await startGateway({
    plugins: [
      bearer(),
      chatCompletions(),
      serve(cheap, 'our/cheap', { input: '0.01', output: '0.02' }),
      serve(dear, 'our/dear', { input: '10', output: '50' }),
      preferences(),
      calls(),
      balance({ firstCredit: '0', ...options }),
    ],
  });
  const ask = (apiKey: string, limit = 1000) => {
    const body = {
      model: 'our/cheap',
      max_tokens: limit,
      messages: [{ role: 'user' as const, content: 'Say hello.' }],
      provider: { fallback: ['our/dear'] },
    };
    return new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 }).chat.completions.create(body);
  };
  return { gateway, cheap, dear, ask };
}

/** The rows of one account, and the proof that all rows add up. */
async function readRows({ verb, dataFolder }: TestGateway, account: string) {
  const books = readBooks(`${dataFolder}/ledger.db`);
  expectSound(books);
  expect(await verb('audit')).toMatchObject({ ok: true, pending: 0 });
  return books.entries.filter((entry) => entry.account === account && entry.kind !== 'credit');
}

async function findMessage(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => 'it was answered',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OpenAI.APIError)) throw new Error(`no API error: ${String(error)}`);
  expect(error.status).toBe(503);
  return error.message;
}

/** 12 tokens of input at 10 USD a million and 30 of output at 50 cost 0.00162 USD. */
const charged = '0.00162';

it('a dearer fallback answers without any setting, at the dear price, with one end', async () => {
  const { gateway, cheap, dear, ask } = await open();
  const key = await gateway.newKey({ account: 'rich', credit: '5' });
  const { data, response } = await ask(key).withResponse();
  expect(data).toMatchObject({ model: 'our/dear', choices: [{ message: { content: 'Hello!' } }] });
  expect([cheap.bodies, dear.bodies].map(({ length }) => length)).toEqual([2, 1]);
  expect(JSON.parse(dear.bodies[0] ?? '')).toMatchObject({ max_tokens: 1000 });
  expect(await gateway.verb('balance', ['rich'])).toMatchObject({ used: charged, pending: '0' });
  const rows = await readRows(gateway, 'rich');
  const [first, replaced, more, post] = rows;
  expect(rows.map(({ kind, reason }) => [kind, reason])).toEqual([
    ['reserve', undefined],
    ['void', 'extended'],
    ['reserve', undefined],
    ['post', 'completed'],
  ]);
  expect(first?.reserved).toBe(-(replaced?.reserved ?? 0n));
  // A thousand tokens of output at 50 USD a million, and the input's bytes at 10.
  expect(more?.reserved).toBeGreaterThan(50_000_000n);
  expect(post).toMatchObject({ reserved: -(more?.reserved ?? 0n), revenue: 1_620_000n });
  const found = await fetch(`${gateway.url}/v1/calls/${response.headers.get('x-request-id')}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const call: object = Object(await found.json());
  expect(call).toMatchObject({ attempts: [{ model: 'our/cheap' }, {}, { model: 'our/dear' }] });
  expect(call).not.toHaveProperty('not_granted');
});

it('a dearer fallback gets a lower limit where the balance is short, and the reply says so', async () => {
  const { gateway, dear, ask } = await open();
  const key = await gateway.newKey({ account: 'short', credit: '0.01' });
  const { response } = await ask(key).withResponse();
  const { max_tokens: limit } = Object(JSON.parse(dear.bodies[0] ?? ''));
  expect(limit).toBeGreaterThan(100);
  expect(limit).toBeLessThan(200);
  expect(response.headers.get('x-tollgate-dropped')).toContain('max_tokens');
  expect(await gateway.verb('balance', ['short'])).toMatchObject({ used: charged, pending: '0' });
  const [, , more] = await readRows(gateway, 'short');
  expect(more?.reserved).toBe(10_000_000n);
});

it('a dearer fallback is skipped below the least limit, and the error names it with the reason', async () => {
  const { gateway, cheap, dear, ask } = await open();
  const key = await gateway.newKey({ account: 'poor', credit: '0.0005' });
  expect(await findMessage(ask(key))).toMatch(
    /our\/dear of dear-house was skipped\. This call could cost 0\.00\d+ USD.* "poor" has 0\.0005 USD/,
  );
  // The cheap one has all its attempts instead.
  expect([cheap.bodies.length, dear.bodies.length]).toEqual([3, 0]);
  expect(await gateway.verb('balance', ['poor'])).toMatchObject({ used: '0', pending: '0' });
  expect((await readRows(gateway, 'poor')).map(({ kind }) => kind)).toEqual(['reserve', 'void']);
});

it('a dearer fallback is skipped where `whenShort` refuses and the worst case is not covered', async () => {
  const { gateway, dear, ask } = await open({ whenShort: 'refuse' });
  const key = await gateway.newKey({ account: 'short', credit: '0.01' });
  expect(await findMessage(ask(key))).toMatch(/our\/dear of dear-house was skipped\..*"short" has 0\.01 USD/);
  expect(dear.bodies).toEqual([]);
  expect(await ask(key, 100)).toMatchObject({ model: 'our/dear' });
  await readRows(gateway, 'short');
});
