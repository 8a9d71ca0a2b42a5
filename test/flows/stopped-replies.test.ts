/**
 * A plugin that stops a reply says whether the caller pays for it. Either way the ledger records what the
 * provider bills.
 */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { definePlugin, GatewayError, type CanonicalEvent, type ErrorDetails } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Entry, Store } from '../../plugins/meters/balance/store.ts';
import { openBooks } from '../support/books.ts';
import { chunk } from '../support/chat-stream.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

interface Stop {
  /** The event before which it stops, or the call of the tap itself. */
  readonly before: CanonicalEvent['type'] | 'tap';
  readonly thrown: unknown;
}

let stop: Stop | undefined;

async function* guardEvents(events: AsyncIterable<CanonicalEvent>): AsyncGenerator<CanonicalEvent> {
  for await (const event of events) {
    if (stop?.before === event.type) throw stop.thrown;
    yield event;
  }
}

const guard = definePlugin({
  name: 'guard',
  apply({ hooks }) {
    hooks.transformStream.tap({ name: 'guard', when: () => true }, (events) => {
      if (stop?.before === 'tap') throw stop.thrown;
      return guardEvents(events);
    });
  },
});

let vendor: ScriptedVendor;
let gateway: TestGateway;
let books: { readonly store: Store; readonly key: string };

beforeAll(async () => {
  vendor = await startScriptedVendor(() => undefined);
  gateway = await startGateway({
    plugins: [
      bearer(),
      ...textProtocols(),
      balance(),
      guard(),
      testProvider({
        name: 'house',
        endpoints: { 'chat-completions': vendor.origin },
      }),
    ],
  });
  books = await openBooks(gateway);
  await gateway.verb('credit add', ['tester', '5']);
});
afterEach(() => void (stop = undefined));
afterAll(async () => {
  expect(await books.store.audit()).toMatchObject({ ok: true, pending: 0, findings: [] });
});

interface Ended {
  readonly text: string;
  readonly cost: string | null;
  readonly entry: Entry | undefined;
}

const content = 'twenty bytes of text';

async function ask(stream: boolean, headers: Readonly<Record<string, string>> = {}): Promise<Ended> {
  vendor.conduct((response) => {
    if (!stream) return sendJson(response, chatReply(content));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${chunk({ content })}${chunk({ content })}${chunk({}, 'stop')}data: [DONE]\n\n`);
  });
  const response = await postJson(
    `${gateway.url}/v1/chat/completions`,
    { model: 'house/model', stream, messages: [{ role: 'user', content: 'Hi' }] },
    { authorization: `Bearer ${books.key}`, ...headers },
  );
  const text = await response.text();
  const call = response.headers.get('x-request-id') ?? '';
  const [, entry] = await books.store.listEntries({ call, limit: 9 });
  return { text, cost: response.headers.get('x-tollgate-cost'), entry };
}

function block(details: ErrorDetails = {}): GatewayError {
  return new GatewayError('content_policy_violation', 'The reply was stopped.', details);
}

it('a plugin that stops a reply lets the caller pay what the provider bills, if it says so', async () => {
  for (const before of ['finish', 'response-end', 'block-start'] as const) {
    stop = { before, thrown: block({ charge: true }) };
    const { text, cost, entry } = await ask(false);
    expect(text).toContain('The reply was stopped.');
    expect(entry).toMatchObject({ kind: 'post', revenue: 7000n, basis: 'usage', vendor: undefined });
    expect(cost).toBe('0.000007');
    expect(entry).toMatchObject({ input: 3, output: 2, reason: 'content_policy_violation' });
  }
});

it.each([
  ['an error that does not say', () => block()],
  ['an error that says no', () => block({ charge: false })],
  ['a fault of its own', () => new TypeError('no words')],
])(
  'a reply is free that a plugin stops by %s, and the entry shows what the vendor bills',
  async (_, thrown) => {
    stop = { before: 'finish', thrown: thrown() };
    const { entry } = await ask(false);
    expect(entry).toMatchObject({ kind: 'void', revenue: 0n, basis: 'none', vendor: 7000n });
    stop = { before: 'tap', thrown: thrown() };
    // Nothing of the reply was read, so its output is not known.
    const { vendor: input = 0n } = (await ask(false)).entry ?? {};
    expect(input).toBeGreaterThan(0n);
  },
);

it('a stream stopped before its first output costs what was written, if the plugin says so', async () => {
  stop = { before: 'block-delta', thrown: block({ charge: true }) };
  const { text, entry } = await ask(true);
  expect(text).not.toContain(content);
  expect(entry).toMatchObject({ kind: 'post', basis: 'estimate', reason: 'content_policy_violation' });
  expect(entry?.output).toBeGreaterThanOrEqual(5);
  expect(entry?.revenue).toBeGreaterThan(10_000n);
});

it('a stream stopped after some output costs what was written, unless the error says no', async () => {
  stop = { before: 'finish', thrown: block() };
  const paid = await ask(true);
  expect(paid.text).toContain(content);
  expect(paid.entry).toMatchObject({ kind: 'post', output: 10, reason: 'cut' });
  stop = { before: 'finish', thrown: block({ charge: false }) };
  const free = await ask(true);
  expect(free.entry).toMatchObject({ kind: 'void', revenue: 0n, vendor: paid.entry?.revenue });
});

it('the usage shows what vendors bill for calls that were stopped for free', async () => {
  const sum = async (): Promise<unknown> =>
    books.store.sumUsage({ by: [], account: 'tester', from: undefined, to: undefined });
  const [before] = [await sum()].flat();
  stop = { before: 'block-delta', thrown: block() };
  const { entry } = await ask(true);
  const [after] = [await sum()].flat();
  const { calls, cost, vendor: billed } = Object(before);
  expect(after).toMatchObject({ calls, cost, vendor: billed + entry?.vendor });
});

it('a call that was stopped without a charge may be sent again with its idempotency key', async () => {
  stop = { before: 'finish', thrown: block() };
  const headers = { 'idempotency-key': 'once' };
  expect((await ask(false, headers)).text).toContain('The reply was stopped.');
  stop = undefined;
  expect((await ask(false, headers)).text).toContain(content);
});

it.each([
  ['a whole reply', false, 'finish', 'outcome_not_kept'],
  ['a stream before its first output', true, 'block-delta', 'outcome_not_kept'],
  ['a stream after output, which is repeated with its error', true, 'finish', content],
] as const)(
  'a call that was stopped and charged is not made again with its idempotency key: %s',
  async (name, stream, before, shown) => {
    stop = { before, thrown: block({ charge: true }) };
    const headers = { 'idempotency-key': name };
    const first = await ask(stream, headers);
    expect(first.text).toContain('The reply was stopped.');
    expect(first.entry).toMatchObject({ kind: 'post' });
    stop = undefined;
    const calls = vendor.bodies.length;
    const again = await ask(stream, headers);
    expect(again.text).toContain(shown);
    expect(again.text === first.text).toBe(shown === content);
    expect(again.text).not.toContain('[DONE]');
    expect(again.entry).toBeUndefined();
    expect(vendor.bodies.length).toBe(calls);
  },
);
