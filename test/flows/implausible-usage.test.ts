/**
 * Providers whose usage cannot be true, on each wire, whole and streamed: what the ledger records of such
 * calls.
 */
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../plugins/meters/balance/store.ts';
import { modelOf, buildStreamedCall } from '../support/operated.ts';
import { postJson } from '../support/post.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { books, useVendorBooks } from '../support/vendor-books.ts';

useVendorBooks();

/** The names of the two counts on each wire; where it reports their sum too, one follows from the other. */
const names: Readonly<Record<Wire, { readonly input: string; readonly output: readonly string[] }>> = {
  'chat-completions': { input: 'prompt_tokens', output: ['completion_tokens', 'total_tokens'] },
  responses: { input: 'input_tokens', output: ['output_tokens', 'total_tokens'] },
  messages: { input: 'input_tokens', output: ['output_tokens'] },
  'generate-content': { input: 'promptTokenCount', output: ['candidatesTokenCount', 'totalTokenCount'] },
};

const lies: readonly (readonly [message: string, figure: unknown])[] = [
  ['zero', 0],
  ['below zero', -5],
  ['beyond all bounds', 9e15],
  ['beyond what a number can hold', 1e300],
  ['no whole number', 12.5],
  ['words', '12'],
  ['nothing', null],
];

function buildCall(wire: Wire, stream: boolean): readonly [path: string, body: object] {
  const { path, body } = buildStreamedCall(wire);
  if (stream) return [path, body];
  return wire === 'generate-content'
    ? [path.replace('streamGenerateContent?alt=sse', 'generateContent'), body]
    : [path, { ...body, stream: false }];
}

/** What the ledger records of a call whose provider reports these counts. */
async function bookCall(
  wire: Wire,
  stream: boolean,
  usage: Readonly<Record<string, unknown>> | 'missing',
): Promise<readonly Entry[]> {
  const upstream = modelOf[wire].replace(/^\w+\//, '');
  books.harness.vendors.script(upstream, { text: ['It is ', 'a long ', 'answer.'], usage });
  const [path, body] = buildCall(wire, stream);
  const response = await postJson(books.harness.gateway.url + path, body, {
    authorization: `Bearer ${books.key}`,
    'anthropic-version': '2023-06-01',
  });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('answer.')]);
  return books.store.listEntries({ call: response.headers.get('x-request-id') ?? '', limit: 9 });
}

function expectPlausible(entries: readonly Entry[], what: string): void {
  const [reserve, post, ...more] = entries;
  expect([reserve?.kind, post?.kind, more], what).toEqual(['reserve', 'post', []]);
  expect(post?.revenue, what).toBeGreaterThan(0n);
  expect(post?.revenue, what).toBeLessThanOrEqual(reserve?.reserved ?? 0n);
  expect(post?.basis === 'estimate' || post?.flags.includes('suspect'), what).toBe(true);
}

describe.each(wires)('a provider of %s', (wire) => {
  it.each(lies)(
    'that reports %s as its usage is not believed: the call costs an estimate, and is marked as such',
    async (_, figure) => {
      const input = { [names[wire].input]: figure };
      const output = Object.fromEntries(names[wire].output.map((name) => [name, figure]));
      for (const stream of [true, false]) {
        // Zero for both is a valid bill, and has a test of its own.
        for (const usage of [input, output, ...(figure === 0 ? [] : [{ ...input, ...output }])]) {
          expectPlausible(await bookCall(wire, stream, usage), JSON.stringify({ stream, usage }));
        }
      }
    },
  );

  it('that bills nothing for an answer is paid nothing, and the ledger marks the call suspect', async () => {
    const figures = Object.fromEntries([names[wire].input, ...names[wire].output].map((name) => [name, 0]));
    for (const stream of [true, false]) {
      const [, post] = await bookCall(wire, stream, figures);
      expect(post).toMatchObject({ kind: 'post', revenue: 0n, basis: 'usage', flags: ['suspect'] });
    }
  });

  it('that reports nothing is paid an estimate, and the ledger says so', async () => {
    for (const stream of [true, false])
      expectPlausible(await bookCall(wire, stream, 'missing'), `stream: ${stream}`);
  });
});

it('the ledger passes its audit after all of this', async () => {
  expect(await books.store.audit()).toMatchObject({ ok: true, pending: 0, findings: [] });
});
