/** Calls priced by rules: what entries, call records and exports say of the rule, and the audit. */
import { beforeAll, expect, it } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { describeEntry } from '../../plugins/meters/balance/export/lines.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { openBooks } from '../support/books.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { responsesReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

let usage: object;
let tier: string | undefined;
let vendor: ScriptedVendor;
let gateway: TestGateway;
let store: Store;
let key: string;
beforeAll(async () => {
  vendor = await startScriptedVendor((response) => {
    sendJson(response, responsesReply('', { output: [], service_tier: tier, usage }));
  });
  const price = {
    name: 'off-peak',
    input: '1',
    output: '2',
    cacheWrite30m: '1.25',
    cacheWrite12h: '2.5',
    modes: { flex: { times: '0.5' } },
  };
  const models = [
    { id: 'house/plain', price: { input: '1', output: '2' } },
    { id: 'house/peak', price: { ...price, rules: [{ name: 'peak', times: '2' }] } },
    { id: 'house/quiet', price: { ...price, rules: [{ name: 'peak', until: '2026-01-01', times: '2' }] } },
  ];
  gateway = await startGateway({
    plugins: [
      bearer(),
      responses(),
      testProvider({ name: 'v', endpoints: { responses: `${vendor.origin}/responses` }, models }),
      balance(),
      calls(),
    ],
  });
  ({ store, key } = await openBooks(gateway));
  await gateway.verb('credit add', ['tester', '50']);
});

async function call(model: string, fields: object = {}): Promise<object> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const sent = await postJson(
    `${gateway.url}/v1/responses`,
    { model, input: 'Hi', max_output_tokens: 100, ...fields },
    headers,
  );
  await sent.text();
  const id = sent.headers.get('x-request-id') ?? '';
  const record: unknown = await (await fetch(`${gateway.url}/v1/calls/${id}`, { headers })).json();
  const data = (await store.listEntries({ call: id, limit: 2 })).map(describeEntry);
  const rule = typeof record === 'object' && record && 'rule' in record ? record.rule : undefined;
  return { status: sent.status, record: rule, entry: data[1]?.rule, cost: data[1]?.revenue };
}

const plain = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };

it.each([
  ['house/plain', undefined, 'standard', '0.000007'],
  ['house/quiet', undefined, 'off-peak', '0.000007'],
  ['house/peak', undefined, 'peak', '0.000014'],
  ['house/peak', 'flex', 'peak flex', '0.000007'],
  ['house/plain', 'flex', 'standard', '0.000007'],
])('a call of %s at the tier %s is priced by the rule "%s"', async (model, served, rule, cost) => {
  [usage, tier] = [plain, served];
  expect(await call(model, served ? { service_tier: served } : {})).toEqual({
    status: 200,
    record: rule,
    entry: rule,
    cost,
  });
});

it.each([
  ['12h', { ttl_30m_tokens: 2, ttl_12h_tokens: 4 }, '0.0000125'],
  ['30m', { ttl_30m_tokens: 6, ttl_12h_tokens: 0 }, '0.0000075'],
])('cache writes kept for %s cost what they cost there', async (ttl, parts, cost) => {
  const details = { cached_tokens: 0, cache_write_tokens: 6, cache_write_tokens_details: parts };
  usage = { input_tokens: 6, input_tokens_details: details, output_tokens: 0, total_tokens: 6 };
  tier = undefined;
  expect(await call('house/quiet', { prompt_cache_options: { ttl } })).toMatchObject({ status: 200, cost });
});

it('the audit finds every charge right by the rule that its entry names', async () => {
  expect(await gateway.verb('audit')).toMatchObject({ ok: true, broken: 0 });
});
