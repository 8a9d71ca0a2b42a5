/**
 * What a client is charged for is what it reads in its reply: between all pairs of protocols, whole and
 * streamed, if the provider reports no usage, half of it, or figures that cannot be true.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { nameCounts } from '../../core/index.ts';
import { isObject, type Json } from '../support/json.ts';
import { openOneReply, type OneReply } from '../support/one-reply.ts';
import { withCounts } from '../support/rates.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { chatReply, generateReply, messagesReply, responsesReply, textItem } from '../support/replies.ts';

const said = 'It is a rather long answer, of some words.';

/** What a provider says of its usage: two counts, which may be missing or be anything. */
interface Reported {
  readonly input?: unknown;
  readonly output?: unknown;
}

const cases: readonly (readonly [what: string, reported: Reported | null | undefined])[] = [
  ['no usage', undefined],
  ['null', null],
  ['no output', { input: 9 }],
  ['null as its output', { input: 9, output: null }],
  ['no input', { output: 4 }],
  ['more output than can be true', { input: 9, output: 1e9 }],
  ['more input than can be true', { input: 1e9, output: 4 }],
  ['output beyond the limit', { input: 9, output: 900 }],
  ['zero as its input', { input: 0, output: 4 }],
  ['zero as its output', { input: 9, output: 0 }],
  ['less than nothing', { input: -5, output: -5 }],
  ['more than a number can hold', { input: 1e300, output: 1e300 }],
  ['no whole number', { input: 12.5, output: 12.5 }],
  ['words', { input: '12', output: '12' }],
];

const names: Readonly<Record<Wire, readonly [field: string, input: string, output: string]>> = {
  'chat-completions': ['usage', 'prompt_tokens', 'completion_tokens'],
  responses: ['usage', 'input_tokens', 'output_tokens'],
  messages: ['usage', 'input_tokens', 'output_tokens'],
  'generate-content': ['usageMetadata', 'promptTokenCount', 'candidatesTokenCount'],
};

/** The member of a provider's reply that holds its usage; no member if it has none. */
function buildUsage(wire: Wire, reported: Reported | null | undefined): Json {
  const [field, input, output] = names[wire];
  if (reported === undefined) return { [field]: undefined };
  if (reported === null) return { [field]: null };
  const counts: Json = { [input]: reported.input, [output]: reported.output };
  return { [field]: { ...counts, service_tier: 'standard' } };
}

function buildReply(wire: Wire, usage: Json): Json {
  if (wire === 'chat-completions') return chatReply(said, usage);
  if (wire === 'responses') return responsesReply(said, usage);
  return wire === 'messages' ? messagesReply(said, usage) : generateReply(said, usage);
}

const streams: Readonly<Record<Wire, (usage: Json) => readonly unknown[]>> = {
  'chat-completions': (usage) => {
    const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' };
    const delta = { role: 'assistant', content: said };
    return [
      { ...head, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      ...(usage.usage === undefined ? [] : [{ ...head, choices: [], ...usage }]),
      '[DONE]',
    ];
  },
  responses: (usage) => {
    const whole = responsesReply(said, usage);
    const started = { ...whole, status: 'in_progress', output: [], usage: null };
    const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const item = { ...textItem(said), status: 'in_progress', content: [] };
    const part = { type: 'output_text', text: '', annotations: [] };
    return [
      { type: 'response.created', response: started },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.content_part.added', ...place, part },
      { type: 'response.output_text.delta', ...place, delta: said },
      { type: 'response.output_text.done', ...place, text: said },
      { type: 'response.content_part.done', ...place, part: { ...part, text: said } },
      { type: 'response.output_item.done', output_index: 0, item: textItem(said) },
      { type: 'response.completed', response: whole },
    ];
  },
  messages: (usage) => {
    const { content: _content, ...message } = messagesReply('', { usage: {}, stop_reason: null });
    return [
      { type: 'message_start', message: { ...message, content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: said } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, ...usage },
      { type: 'message_stop' },
    ];
  },
  'generate-content': (usage) => [
    { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: said }] } }] },
    { candidates: [{ index: 0, content: { role: 'model', parts: [] }, finishReason: 'STOP' }], ...usage },
  ],
};

/** What each client needs to limit its output to 100 tokens, and to read usage in a stream. */
const asked: Readonly<Record<Wire, (stream: boolean) => object>> = {
  'chat-completions': (stream) => ({
    max_completion_tokens: 100,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  }),
  responses: () => ({ max_output_tokens: 100 }),
  messages: () => ({ max_tokens: 100 }),
  'generate-content': () => ({ generationConfig: { maxOutputTokens: 100 } }),
};

/** The JSON values of a reply: of its events, or its only one. */
function listValues(text: string, stream: boolean): readonly unknown[] {
  if (!stream) return [JSON.parse(text)];
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data));
}

/** The last usage that a client reads. */
function readUsage(client: Wire, text: string, stream: boolean): Json {
  const [field] = names[client];
  const found = listValues(text, stream).flatMap((value) => {
    if (!isObject(value)) return [];
    const holder = client === 'responses' && isObject(value.response) ? value.response : value;
    const usage = holder[field];
    return isObject(usage) ? [usage] : [];
  });
  return found.at(-1) ?? {};
}

describe.each(wires)('a provider of %s', (wire) => {
  let harness: OneReply;
  beforeAll(async () => void (harness = await openOneReply(wire)));

  it.each(cases)('that reports %s: each client reads the figures it is charged for', async (_, reported) => {
    const usage = buildUsage(wire, reported);
    for (const client of wires) {
      for (const stream of [true, false]) {
        const reply = stream ? streams[wire](usage) : buildReply(wire, usage);
        const fields = asked[client](stream);
        const { text, end } = await harness.ask(client, reply, { stream, fields });
        const what = `${client}, ${stream ? 'streamed' : 'whole'}: ${text}`;
        expect([end.type, end.charge.basis !== 'usage' || end.charge.suspect], what).toEqual([
          'answered',
          true,
        ]);
        const [, input, output] = names[client];
        const { input: chargedInput, output: chargedOutput } = nameCounts(end.charge.uses);
        expect(chargedOutput, what).toBeGreaterThan(0);
        expect(chargedOutput, what).toBeLessThanOrEqual(100);
        expect(readUsage(client, text, stream), what).toMatchObject({
          [input]: chargedInput,
          [output]: chargedOutput,
        });
      }
    }
  });

  it('that reports true figures is repeated to a client of its protocol as it wrote them', async () => {
    const usage = buildUsage(wire, { input: 9, output: 4 });
    for (const stream of [true, false]) {
      const reply = stream ? streams[wire](usage) : buildReply(wire, usage);
      const { text, end } = await harness.ask(wire, reply, { stream, fields: asked[wire](stream) });
      expect(end.charge).toMatchObject({
        uses: withCounts({ input: 9, output: 4 }),
        basis: 'usage',
        suspect: false,
      });
      expect(readUsage(wire, text, stream)).toEqual(usage[names[wire][0]]);
    }
  });
});

describe('usage that the gateway adds to a stream', () => {
  let harness: OneReply;
  beforeAll(async () => void (harness = await openOneReply('chat-completions')));
  const events = streams['chat-completions']({ usage: undefined });

  it('comes once, before the end, with the id and the time of the other chunks', async () => {
    const fields = asked['chat-completions'](true);
    for (const list of [events, events.slice(0, -1)]) {
      const { text } = await harness.ask('chat-completions', list, { fields });
      expect(text.match(/"usage":\{/g)).toHaveLength(1);
      expect(text).toMatch(/"choices":\[\],"usage":\{.*\}\}\n\ndata: \[DONE\]\n\n$/);
      const heads = listValues(text, true).map((value) =>
        isObject(value) ? [value.id, value.object, value.created, value.model] : value,
      );
      expect(heads).toEqual([1, 2, 3].map(() => ['c1', 'chat.completion.chunk', 1, 'house/model']));
    }
  });

  it('is not sent to a client that did not ask for usage', async () => {
    const { text } = await harness.ask('chat-completions', events);
    expect(text).not.toContain('usage');
  });
});
