/** What a call costs if the vendor answers with another model than was asked for. */
import { expect, it } from 'vitest';
import type { ModelFacts } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openBooks } from '../support/books.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply, generateReply } from '../support/replies.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';
import { paths } from './search-calls.ts';

const models: readonly Partial<ModelFacts>[] = [
  { upstream: 'gemini-3.5-flash', price: { input: '1000', output: '2000' } },
  { id: 'house/next', upstream: 'gemini-3.6-flash', price: { input: '500', output: '1000' } },
  {
    id: 'house/gone',
    upstream: 'gemini-3.7-flash',
    expires: '2026-01-02',
    price: { input: '600', output: '1000' },
  },
  { id: 'house/twin', upstream: 'gemini-twin', price: { input: '1000', output: '2000' } },
  { id: 'house/dear', upstream: 'gemini-4', price: { input: '9000', output: '9000' } },
  { id: 'house/gift', upstream: 'gemini-gift', free: true },
];

const replies = {
  'generate-content': (model: string) => generateReply('Hi', { modelVersion: model }),
  'chat-completions': (model: string) => chatReply('Hi', { model }),
};

// Three tokens in and two out: 3000 + 4000 micro-USD for the model that was asked for.
it.each<[family: keyof typeof replies, answered: string, cost: bigint, rule: string, suspect: boolean]>([
  ['generate-content', 'gemini-3.5-flash', 7_000_000n, 'standard', false],
  ['generate-content', 'gemini-3.6-flash', 3_500_000n, 'standard as-gemini-3.6-flash', false],
  ['generate-content', 'gemini-3.7-flash', 3_800_000n, 'standard as-gemini-3.7-flash', false],
  ['generate-content', 'gemini-twin', 7_000_000n, 'standard', false],
  ['generate-content', 'gemini-4', 7_000_000n, 'standard', true],
  ['generate-content', 'gemini-gift', 7_000_000n, 'standard', false],
  ['generate-content', 'gemini-unheard', 7_000_000n, 'standard', false],
  ['chat-completions', 'gemini-3.6-flash', 3_500_000n, 'standard as-gemini-3.6-flash', false],
])('a reply of %s that the model %s wrote costs %i', async (family, answered, cost, rule, suspect) => {
  const reply = JSON.stringify(replies[family](answered));
  for (const stream of family === 'generate-content' ? [false, true] : [false]) {
    const vendor = await startScriptedVendor((response) => {
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      response.end(stream ? `data: ${reply}\n\n` : reply);
    });
    const gateway = await startGateway({
      plugins: [
        bearer(),
        ...textProtocols(),
        testProvider({ name: 'house', endpoints: { [family]: vendor.origin }, models }),
        balance({ markup: [{ percent: '100' }] }),
      ],
    });
    const books = await openBooks(gateway);
    await gateway.verb('credit add', ['tester', '9']);
    const [path = '', body = {}] = paths[family] ?? [];
    const answer = await postJson(
      gateway.url + (stream ? path.replace('generateContent', 'streamGenerateContent?alt=sse') : path),
      { ...body, max_tokens: 100, generationConfig: { maxOutputTokens: 100 } },
      { authorization: `Bearer ${books.key}` },
    );
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Hi')]);
    const [reserve, post] = await books.store.listEntries({
      call: answer.headers.get('x-request-id') ?? '',
      limit: 9,
    });
    // The markup doubles the price, of the model that answered too.
    expect([post?.kind, post?.revenue, post?.flags]).toEqual(['post', cost * 2n, suspect ? ['suspect'] : []]);
    expect(post?.revenue).toBeLessThanOrEqual(reserve?.reserved ?? 0n);
    expect(gateway.ends).toMatchObject([{ charge: { rule, cost: cost * 2n } }]);
    expect(await books.store.audit()).toMatchObject({ ok: true });
    await books.store.close();
    await gateway.close();
    await vendor.close();
  }
});
