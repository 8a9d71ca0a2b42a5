/**
 * Events that differ only in their text pass as bytes: what the client receives and what is counted stay the
 * same.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toText } from '../../core/crossing/pieces.ts';
import { ReplyBudget, ReplyMemory } from '../../core/http/reply-memory.ts';
import { freePrice, isGatewayError, type Provider } from '../../core/index.ts';
import { crossReply } from '../../core/lanes.ts';
import { Tally } from '../../core/tally.ts';
import { protocol as chat } from '../../plugins/protocols/chat-completions/index.ts';
import { makeModel } from '../chat-completions/bodies.ts';
import { protocol as messages } from '../messages/bodies.ts';
import { character } from '../support/arbitrary.ts';
import { buildRouted } from '../support/exchange.ts';
import { readCall } from '../support/families.ts';

const provider: Provider = { name: 'p', endpoints: {}, sign: (request) => request };
const target = { provider, model: makeModel({}), price: freePrice, protocol: chat };
const body = {
  model: target.model.id,
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: 'user', content: 'x' }],
};

interface Said {
  readonly text: string;
  /** Characters of padding; undefined: none. */
  readonly padding: number | undefined;
  readonly logprobs: boolean;
}

function writeChunk({ text, padding, logprobs }: Said, model: string): string {
  const choice = { index: 0, delta: { content: text }, ...(logprobs ? { logprobs: null } : {}) };
  const end = padding === undefined ? {} : { obfuscation: 'x'.repeat(padding) };
  return `data: ${JSON.stringify({ id: 'c', created: 1, model, choices: [choice], ...end })}\n\n`;
}

function writeStream(said: readonly Said[], model: string): string {
  const chunk = (more: object): string =>
    `data: ${JSON.stringify({ id: 'c', created: 1, model, ...more })}\n\n`;
  const start = chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] });
  const finish = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  const usage = chunk({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
  return `${start}${said.map((each) => writeChunk(each, model)).join('')}${finish}${usage}data: [DONE]\n\n`;
}

async function cross(
  text: string,
  cuts: readonly number[],
  client = chat,
): Promise<{ sent: string; tally: Tally }> {
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % bytes.length))].toSorted((one, other) => one - other);
  const stream = async function* (): AsyncGenerator<Uint8Array> {
    for (const [index, from] of [0, ...places].entries())
      yield bytes.subarray(from, places[index] ?? bytes.length);
  };
  const call = readCall('chat-completions', body);
  const exchange = { ...buildRouted(target), call, protocol: client };
  const tally = new Tally();
  const response = { status: 200, headers: { 'content-type': 'text/event-stream' }, body: stream() };
  const memory = new ReplyMemory(new ReplyBudget({ repliesLimit: 1e9 }));
  let sent = '';
  const lane = { verbatim: client === chat, stops: [], expects: undefined, transform: undefined };
  try {
    for await (const piece of crossReply(exchange, response, { tally, memory }, lane)) sent += toText(piece);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
  }
  return { sent, tally };
}

const words = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('a', ' toll', 'gate.', ' für', '世界', ' 😀', '0') },
  fc.string({ unit: character, maxLength: 6 }),
  fc.constantFrom('"', '\\', '\n', 'model', '"}', 'é"'),
);
const saids = fc.array(
  fc.record({
    text: words,
    padding: fc.option(fc.nat(8), { nil: undefined, freq: 3 }),
    logprobs: fc.constantFrom(false, false, false, true),
  }),
  { maxLength: 40 },
);

it('the gateway changes only the model and counts the same text, however a stream is cut', async () => {
  await fc.assert(
    fc.asyncProperty(saids, fc.array(fc.nat(), { maxLength: 30 }), async (said, cuts) => {
      const { sent, tally } = await cross(writeStream(said, 'theirs'), cuts);
      expect(sent).toBe(writeStream(said, target.model.id));
      expect(tally.deliveredBytes).toBe(said.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0));
      expect(tally.complete).toBe(true);
    }),
    { numRuns: 300 },
  );
});

/** The text of a stream of messages. */
function readText(stream: string): string {
  const deltas = stream.matchAll(/^data: (\{"type":"content_block_delta".*\})$/gm);
  return [...deltas].map(([, data = '']) => JSON.parse(data).delta.text).join('');
}

it('a client of another protocol gets and is charged for all the text, however a stream is cut', async () => {
  await fc.assert(
    fc.asyncProperty(saids, fc.array(fc.nat(), { maxLength: 30 }), async (said, cuts) => {
      const { sent, tally } = await cross(writeStream(said, 'theirs'), cuts, messages);
      const all = said.map(({ text }) => text).join('');
      expect(readText(sent)).toBe(all.toWellFormed());
      expect(tally.deliveredBytes).toBe(said.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0));
      expect(tally.complete).toBe(true);
    }),
    { numRuns: 300 },
  );
});

it('an event without its blank line is sent and counted when its provider breaks off', async () => {
  const said = ['Toll', ' ', 'gate'].map((text) => ({ text, padding: undefined, logprobs: false }));
  const whole = writeStream(said, 'theirs');
  const last = whole.indexOf('"gate"');
  const { sent, tally } = await cross(whole.slice(0, whole.indexOf('\n\n', last)), [last]);
  expect(tally).toMatchObject({ deliveredBytes: 9, complete: false });
  expect(sent).toContain('"gate"');
});
