/**
 * OpenAI compacts conversations itself: what its clients send and get passes as it was written. A compaction
 * of the gateway opens in every process that has the key, for its own account, and nowhere else.
 */
import OpenAI from 'openai';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { makeFolder } from '../support/folder.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { isObject, type Json } from '../support/json.ts';
import { readObjects } from '../support/listen.ts';
import { startMessagesVendor, startResponsesVendor } from '../support/vendor/index.ts';

/** The key that a client sends is the name of its account. */
const accountByKey = definePlugin({
  name: 'account-by-key',
  options: z.strictObject({}),
  apply(host) {
    host.hooks.authenticate.tapPromise('account-by-key', async ({ headers: { authorization = '' } }) => ({
      kind: 'user',
      account: authorization,
      key: authorization,
    }));
  },
});

/** What the guard read. */
const seen: string[] = [];

/** Leaves the verbatim lane, as a plugin of an operator does. */
const guard = definePlugin({
  name: 'guard',
  options: z.strictObject({}),
  apply(host) {
    host.hooks.transformRequest.tapPromise({ name: 'guard', when: () => true }, async (request) => {
      seen.push(JSON.stringify(request.turns));
      return request;
    });
    host.hooks.transformStream.tap({ name: 'guard', when: () => true }, async function* watch(events) {
      for await (const event of events) {
        if (event.type === 'block-delta') seen.push(event.text);
        yield event;
      }
    });
  },
});

let own: Awaited<ReturnType<typeof startResponsesVendor>>;
let other: Awaited<ReturnType<typeof startMessagesVendor>>;
const folder = makeFolder();
const gateways: Record<'first' | 'second' | 'stranger' | 'guarded', TestGateway | undefined> = {
  first: undefined,
  second: undefined,
  stranger: undefined,
  guarded: undefined,
};

beforeAll(async () => {
  [own, other] = await Promise.all([startResponsesVendor(), startMessagesVendor()]);
  const start = (dataFolder: string, more: readonly ReturnType<typeof guard>[] = []): Promise<TestGateway> =>
    startGateway({
      dataFolder,
      plugins: [
        accountByKey(),
        responses(),
        messages(),
        ...more,
        openai({ apiKey: own.key, baseUrl: own.url }),
        anthropic({ apiKey: other.key, baseUrl: new URL(other.url).origin }),
      ],
    });
  gateways.first = await start(folder);
  gateways.second = await start(folder);
  gateways.guarded = await start(folder, [guard()]);
  gateways.stranger = await start(makeFolder());
});

const native = 'openai/gpt-5.5';
const foreign = 'anthropic/claude-sonnet-5';
const trigger = { type: 'compaction_trigger' as const };
const question = { role: 'user' as const, content: 'List the harbour.' };
const answer = { role: 'assistant' as const, content: 'Three boats.' };

async function post(
  body: object,
  {
    at = 'first',
    account = 'ada',
    path = '/v1/responses',
  }: { at?: keyof typeof gateways; account?: string; path?: string } = {},
): Promise<{ status: number; reply: Json; text: string }> {
  const response = await fetch(`${gateways[at]?.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const reply: unknown = text.startsWith('{') ? JSON.parse(text) : {};
  return { status: response.status, reply: isObject(reply) ? reply : {}, text };
}

function readSent(vendor: typeof own | typeof other): { path: string; body: Json } {
  const last = vendor.requests.at(-1) ?? expect.unreachable();
  return { path: new URL(last.path, 'http://vendor').pathname, body: JSON.parse(last.body.toString()) };
}

async function compact(model: string, at: keyof typeof gateways = 'first'): Promise<Json> {
  other.script('claude-sonnet-5', { text: 'The harbour has three boats.' });
  own.script('gpt-5.5', { text: 'The harbour has three boats.' });
  const { status, reply, text } = await post(
    { model, store: false, input: [question, answer, trigger] },
    { at },
  );
  expect(status, text).toBe(200);
  const [item, ...others] = readObjects(reply.output);
  expect(others).toEqual([]);
  return item ?? expect.unreachable();
}

it('a request for a compaction goes to OpenAI unchanged, and so does its item in the next turn', async () => {
  const item = await compact(native);
  expect(item.encrypted_content).toMatch(/^gAAAA/);
  const sent = { store: false, input: [question, answer, trigger] };
  expect(readSent(own)).toEqual({ path: '/v1/responses', body: { model: 'gpt-5.5', ...sent } });
  own.script('gpt-5.5', { text: 'Three.' });
  const input = [question, item, { role: 'user', content: 'How many?' }];
  const { status, text } = await post({ model: native, input });
  expect(status, text).toBe(200);
  expect(readSent(own).body.input).toEqual(input);
});

it("a stream of OpenAI's compaction passes with its own events", async () => {
  own.script('gpt-5.5', { text: 'The harbour has three boats.' });
  const { text } = await post({ model: native, stream: true, input: [question, answer, trigger] });
  expect(text).toContain('event: response.compaction.compacting');
  expect(text).toContain('"encrypted_content":"gAAAA');
});

it.each(['first', 'guarded'] as const)(
  "OpenAI's path for compaction is called by that path, and its reply passes (gateway: %s)",
  async (at) => {
    own.script('gpt-5.5', { text: 'The harbour has three boats.' });
    const client = new OpenAI({ apiKey: 'ada', baseURL: `${gateways[at]?.url}/v1`, maxRetries: 0 });
    const compacted = await client.responses.compact({ model: native, input: [question, answer] });
    expect(readSent(own)).toEqual({
      path: '/v1/responses/compact',
      body: { model: 'gpt-5.5', input: [question, answer] },
    });
    expect(compacted).toMatchObject({
      object: 'response.compaction',
      output: [
        { type: 'message', role: 'user' },
        { type: 'compaction', encrypted_content: expect.stringMatching(/^gAAAA/) },
      ],
      usage: { input_tokens: expect.any(Number) },
    });
    expect(compacted.output).toHaveLength(2);
    const end = (await gateways[at]?.ended(1))?.at(-1);
    expect(end).toMatchObject({ type: 'answered', outcome: 'completed', charge: { basis: 'usage' } });
  },
);

it('a plugin that reads replies does not change what OpenAI compacts', async () => {
  const item = await compact(native, 'guarded');
  expect(item).toMatchObject({ type: 'compaction', encrypted_content: expect.stringMatching(/^gAAAA/) });
  expect(readSent(own).body.input).toEqual([question, answer, trigger]);
});

it('OpenAI gets the summary of another model as a message, and compacts it with the rest', async () => {
  const item = await compact(foreign);
  own.script('gpt-5.5', { text: 'Three boats, still.' });
  const { status, reply, text } = await post({
    model: native,
    store: false,
    input: [item, question, trigger],
  });
  expect(status, text).toBe(200);
  const [first, second, last] = readObjects(readSent(own).body.input);
  expect(first).toMatchObject({ role: 'user' });
  expect(JSON.stringify(first)).toContain('The harbour has three boats.');
  expect([second, last]).toEqual([question, trigger]);
  expect(reply.output).toMatchObject([
    { type: 'compaction', encrypted_content: expect.stringMatching(/^gAAAA/) },
  ]);
});

it('OpenAI is asked to compact by itself once a conversation is long enough', async () => {
  own.script('gpt-5.5', { text: 'Aye.' });
  const edits = [{ type: 'compaction', compact_threshold: 1000 }];
  await post({ model: native, input: 'Ahoy', context_management: edits });
  expect(readSent(own).body.context_management).toEqual(edits);
});

it('another process with the same key opens a compaction', async () => {
  const item = await compact(foreign);
  other.script('claude-sonnet-5', { text: 'Three.' });
  const { status, text } = await post({ model: foreign, input: [item, question] }, { at: 'second' });
  expect(status, text).toBe(200);
  expect(JSON.stringify(readSent(other).body)).toContain('The harbour has three boats.');
});

it.each([
  ['another account', { account: 'bob' }],
  ['a gateway with another key', { at: 'stranger' }],
] as const)('%s cannot open a compaction, and its vendor gets no call', async (_, where) => {
  const item = await compact(foreign);
  const before = other.requests.length;
  const { status, reply } = await post({ model: foreign, input: [question, item] }, where);
  expect([status, reply]).toMatchObject([400, { error: { param: 'input[1].encrypted_content' } }]);
  expect(other.requests.length).toBe(before);
});

it("a guard reads the gateway's request for a summary, the summary, and what it becomes", async () => {
  seen.length = 0;
  const item = await compact(foreign, 'guarded');
  expect(seen.join('')).toContain('Your context is about to be cleared');
  expect(seen.join('')).toContain('The harbour has three boats.');
  expect(seen.join('')).not.toContain(item.encrypted_content);
  seen.length = 0;
  other.script('claude-sonnet-5', { text: 'Three.' });
  await post({ model: foreign, input: [item, question] }, { at: 'guarded' });
  expect(seen[0]).toContain('The harbour has three boats.');
});

it('a conversation holds no more than a hundred compactions of the gateway', async () => {
  const item = await compact(foreign);
  const { status, reply } = await post({ model: foreign, input: Array.from({ length: 101 }, () => item) });
  expect([status, reply]).toMatchObject([400, { error: { param: 'input[100]' } }]);
});
