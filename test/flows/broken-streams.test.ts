/**
 * A provider that breaks off in the middle of a call, or of a line that never ends, for every client protocol
 * and every wire. The contract of the protocols has every other place where a stream may break.
 */
import { beforeAll, expect, it } from 'vitest';
import { readStream } from '../contract/replies.ts';
import { least } from '../matrix/spelling.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';
import { buildPath, getModel, openFourWires } from '../support/four-wires.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { readGolden } from '../support/golden.ts';
import { isObject, type Json } from '../support/json.ts';
import { readData } from '../support/listen.ts';
import { postJson } from '../support/post.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

/** The blocks of a golden stream, each with its blank line. */
function readBlocks(wire: Wire, name: string): string[] {
  return readGolden(wire, name, 'reply.sse')
    .split(/(?<=\r?\n\r?\n)/)
    .filter((block) => block.trim() !== '');
}

let gateway: TestGateway;
let message = '';
beforeAll(async () => {
  const houses = wires.map((wire) =>
    tappedVendor(`${wire}-house`, [wire], () => ({ body: message }), {
      id: `house/${wire}`,
      outputLimit: 100_000,
      contextLength: 1_000_000,
    }),
  );
  gateway = await startGateway({
    plugins: [acceptAnyKey(), ...textProtocols(), ...houses],
  });
});

/** What a client receives of a stream. */
async function streamReply(
  client: Wire,
  wire: Wire,
  stream: string,
): Promise<{ readonly status: number; readonly text: string }> {
  message = stream;
  const model = `house/${wire}`;
  const response = await postJson(
    gateway.url + buildPath(client, model, true),
    {
      ...(client === 'generate-content' ? {} : { model, stream: true }),
      ...least[client],
    },
    { 'anthropic-version': '2023-06-01' },
  );
  return { status: response.status, text: await response.text() };
}

const pairs = wires.flatMap((client) => wires.map((wire): [client: Wire, wire: Wire] => [client, wire]));

/** A call whose arguments have only begun, and an error in the stream. */
const begun: Readonly<Record<Wire, { readonly call: readonly object[]; readonly error: object }>> = {
  'chat-completions': {
    call: [
      { id: 'call_1', function: { name: 'send', arguments: '' } },
      { function: { arguments: '{"to":' } },
    ].map((call) => ({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] } }] })),
    error: { error: { message: 'Busy' } },
  },
  responses: {
    call: [
      { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'send', arguments: '' },
      },
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"to":' },
    ],
    error: { type: 'error', code: 'server_error', message: 'Busy' },
  },
  messages: {
    call: [
      { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [] } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'call_1', name: 'send', input: {} },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"to":' } },
    ],
    error: { type: 'error', error: { type: 'overloaded_error', message: 'Busy' } },
  },
  'generate-content': {
    call: [
      { name: 'send', willContinue: true },
      { partialArgs: [{ jsonPath: '$.to', stringValue: 'A', willContinue: true }], willContinue: true },
    ].map((functionCall) => ({ candidates: [{ content: { parts: [{ functionCall }] } }] })),
    error: { error: { code: 503, message: 'Busy', status: 'UNAVAILABLE' } },
  },
};

// Clients run a call as soon as it ends, and do not wait for the end of the reply.
it.each(pairs)(
  'a %s client gets no end of a call whose arguments the %s vendor cuts off',
  async (client, wire) => {
    const { call, error } = begun[wire];
    for (const frames of [call.slice(0, -1), call, [...call, error]]) {
      const stream = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('');
      const { text } = await streamReply(client, wire, stream);
      const decoder = families[client].protocol.upstream.decodeEvents(
        readCall(client, { model: 'a/b', ...least[client] }, true),
      );
      const events = readStream(Buffer.from(text)).flatMap((event) => decoder.push(event));
      expect(
        events.filter(({ type }) => type === 'block-end' || type === 'response-end'),
        text,
      ).toEqual([]);
      expect(text).toMatch(/"error"/);
    }
  },
);

it.each(wires)(
  "the gateway cuts off a line of %s that never ends, and closes the provider's connection",
  async (wire) => {
    const harness = await openFourWires();
    const { id, upstream } = getModel(wire);
    const before = process.memoryUsage().rss;
    const endless =
      wire === 'chat-completions'
        ? { inserts: [{ before: 2, frame: `data: ${'x'.repeat(70 * 1024 * 1024)}` }] }
        : { endlessLine: 2 };
    harness.vendors[wire].script(upstream, { text: ['one ', 'two ', 'three'], ...endless });
    const { text, end } = await harness.ask(wire, id, least[wire], true);
    expect([end.type, text]).toEqual([
      expect.stringMatching('answered|failed'),
      expect.stringMatching('"error"'),
    ]);
    expect(end).toMatchObject({ error: { code: 'upstream_failed' } });
    await expect.poll(() => harness.vendors[wire].requests.at(-1)?.closedByPeerAt).toBeDefined();
    expect(process.memoryUsage().rss - before).toBeLessThan(1_000_000_000);
    await harness.close();
  },
);

it.each(['responses', 'messages'] as const)(
  'a responses client whose stream of %s breaks gets the error under its id and number',
  async (wire) => {
    const { text } = await streamReply('responses', wire, readBlocks(wire, 'text').slice(0, -2).join(''));
    const events = readData(text);
    const readId = (event: Json | undefined): unknown =>
      isObject(event?.response) ? event.response.id : undefined;
    expect(events.at(-1)).toMatchObject({ type: 'response.failed' });
    expect(readId(events[0])).toMatch(/^resp_/);
    expect(readId(events.at(-1))).toBe(readId(events[0]));
    const numbers = events.map((event) => Number(event.sequence_number));
    expect(numbers.slice(1)).toEqual(numbers.slice(0, -1).map((number) => number + 1));
  },
);
