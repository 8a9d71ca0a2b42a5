/**
 * A provider that opens its reply and then fails has sent no content yet: another one answers, and the client
 * never notices.
 */
import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../core/index.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { readGolden } from '../support/golden.ts';
import { postJson } from '../support/post.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

const buildEvents = (...events: ({ type: string } & Record<string, unknown>)[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const buildChunks = (...chunks: object[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');

const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'in_progress',
  output: [],
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [],
  usage: { input_tokens: 3, output_tokens: 1 },
};

/** How a stream of each wire opens, and how it then fails. */
const openings: Readonly<Record<Wire, { readonly opening: string; readonly failure: string }>> = {
  'chat-completions': {
    opening: buildChunks({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
    }),
    failure: buildChunks({
      error: { message: 'The engine is overloaded.', type: 'server_error', code: null },
    }),
  },
  responses: {
    opening: buildEvents({ type: 'response.created', response }, { type: 'response.in_progress', response }),
    failure: buildEvents({
      type: 'response.failed',
      response: { ...response, status: 'failed', error: { code: 'server_error', message: 'It failed.' } },
    }),
  },
  messages: {
    opening: buildEvents({ type: 'message_start', message }, { type: 'ping' }),
    failure: buildEvents({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
  },
  'generate-content': {
    opening: buildChunks({ usageMetadata: { promptTokenCount: 3 }, modelVersion: 'm', responseId: 'r' }),
    failure: buildChunks({
      error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' },
    }),
  },
};

async function* streamReads(reads: readonly string[]): AsyncGenerator<string> {
  for (const read of reads) {
    await new Promise((resolve) => setImmediate(resolve));
    yield read;
  }
}

/** A provider of one wire that understands every call of these protocols. */
function buildVendor(name: string, wire: Wire, reads: readonly string[]): Plugin {
  return tappedVendor(name, [wire], () => ({ body: streamReads(reads) }));
}

async function startWithVendors(...vendors: Plugin[]): Promise<TestGateway> {
  const gateway = await startGateway({ plugins: [acceptAnyKey(), ...textProtocols(), ...vendors] });
  return gateway;
}

function ask({ url }: TestGateway, client: Wire): Promise<Response> {
  const turns = { model: 'house/model', stream: true, messages: [{ role: 'user', content: 'Hi' }] };
  const calls: Record<Wire, [path: string, body: object]> = {
    'chat-completions': ['/v1/chat/completions', turns],
    responses: ['/v1/responses', { model: 'house/model', stream: true, input: 'Hi' }],
    messages: ['/alpha/v1/messages', { ...turns, max_tokens: 50 }],
    'generate-content': [
      '/beta/v1beta/models/house/model:streamGenerateContent?alt=sse',
      { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    ],
  };
  const [path, body] = calls[client];
  return postJson(url + path, body, { 'anthropic-version': '2023-06-01' });
}

const answer = readGolden('messages', 'text', 'reply.sse');
const says = 'High water is at 14:20';
const clients = wires.flatMap((wire) => wires.map((client): [client: Wire, wire: Wire] => [client, wire]));

describe.each(clients)('a %s client whose first provider speaks %s', (client, wire) => {
  const { opening, failure } = openings[wire];

  it.each([
    ['sends its error right after the opening', [opening, failure]],
    ['sends both at once', [opening + failure]],
    ['breaks off after the opening', [opening]],
  ])('gets its reply from the second where the first %s', async (_how, reads) => {
    const harness = await startWithVendors(
      buildVendor('first', wire, reads),
      buildVendor('second', 'messages', [answer]),
    );
    const reply = await ask(harness, client);
    const text = await reply.text();
    expect([
      reply.status,
      reply.headers.get('x-tollgate-provider'),
      reply.headers.get('x-tollgate-attempts'),
    ]).toEqual([200, 'second', '3']);
    expect(text).toContain('water');
    expect(text).not.toMatch(/resp_1|msg_1"|overloaded|failed"/i);
    const [end] = await harness.ended(1);
    expect(end).toMatchObject({ type: 'answered', outcome: 'completed' });
  });

  it('gets an error with its own status if there is no second', async () => {
    const harness = await startWithVendors(buildVendor('first', wire, [opening, failure]));
    const reply = await ask(harness, client);
    expect(reply.status).toBeGreaterThanOrEqual(500);
    expect(reply.headers.get('content-type')).toContain('application/json');
    const [end] = await harness.ended(1);
    expect(end).toMatchObject({ type: 'failed', charge: { cost: 0n } });
  });
});

describe.each(wires)('a provider that speaks %s and refuses in its stream', (wire) => {
  const refusals: Readonly<Record<Wire, string>> = {
    'chat-completions': buildChunks({ error: { message: 'Not that.', code: 400 } }),
    responses: buildEvents({
      type: 'response.failed',
      response: { ...response, status: 'failed', error: { code: 'invalid_prompt', message: 'Not that.' } },
    }),
    messages: buildEvents({ type: 'error', error: { type: 'invalid_request_error', message: 'Not that.' } }),
    'generate-content': buildChunks({
      error: { code: 400, message: 'Not that.', status: 'INVALID_ARGUMENT' },
    }),
  };

  it("blames the client for the client's mistake, and no other provider is asked", async () => {
    const harness = await startWithVendors(
      buildVendor('first', wire, [openings[wire].opening, refusals[wire]]),
      buildVendor('second', 'messages', [answer]),
    );
    const reply = await ask(harness, 'chat-completions');
    expect([
      reply.status,
      reply.headers.get('x-should-retry'),
      reply.headers.get('x-tollgate-attempts'),
    ]).toEqual([400, 'false', '1']);
    expect(await reply.json()).toMatchObject({
      error: { message: 'Not that.', type: expect.stringMatching(/invalid|INVALID/) },
    });
  });
});

const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };

it.each<[client: Wire, reason: string, opening: string]>([
  ['chat-completions', 'gets nothing of it yet', openings['chat-completions'].opening],
  [
    'generate-content',
    'gets a call only when it is whole',
    buildChunks({ id: 'c', model: 'm', choices: [{ index: 0, delta: { tool_calls: [call] } }] }),
  ],
])(
  'a provider that opens and waits has met the timeout for its first event, though a %s client %s',
  async (client, _reason, opening) => {
    async function* openAndWait(): AsyncGenerator<string> {
      yield opening;
      await new Promise((resolve) => setTimeout(resolve, 4500));
      const choice = { index: 0, delta: { content: says }, finish_reason: 'stop' };
      yield `${buildChunks({ id: 'c', model: 'm', choices: [choice] })}data: [DONE]\n\n`;
    }
    const slow = tappedVendor('slow', ['chat-completions'], () => ({ body: openAndWait() }));
    const gateway = await startGateway({
      timeouts: { firstEvent: 3 },
      plugins: [acceptAnyKey(), ...textProtocols(), slow],
    });
    const reply = await ask(gateway, client);
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining(says)]);
  },
);
