/**
 * Turns that a provider paused or broke off: no client may take them for finished, and a client of the
 * provider's protocol gets its word for it.
 */
import { describe, expect, it } from 'vitest';
import { decodeAll, fold, readStream } from '../contract/replies.ts';
import { least } from '../matrix/spelling.ts';
import { families, readCall } from '../support/families.ts';
import { openOneReply } from '../support/one-reply.ts';
import { withCounts } from '../support/rates.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { responsesReply } from '../support/replies.ts';

const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'news' } };
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-x',
  content: [{ type: 'text', text: 'Let me look.' }, search],
  stop_reason: 'pause_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 4 },
};
const paused = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Let me look.' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'pause_turn', stop_sequence: null },
    usage: { output_tokens: 4 },
  },
  { type: 'message_stop' },
];

function buildBroken(reason: string): object {
  return {
    candidates: [
      { content: {}, finishReason: reason, index: 0, finishMessage: 'Malformed function call: look(' },
    ],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 },
    modelVersion: 'gemini-x',
    responseId: 'r1',
  };
}

const incomplete = responsesReply(
  'Let me look.',
  { status: 'incomplete', incomplete_details: { reason: 'something_new' } },
  [9, 4],
);

/** How each protocol says that a turn is not finished. */
const unfinished: Readonly<Record<Wire, RegExp>> = {
  'chat-completions': /"finish_reason":"length"/,
  responses: /"status":"(incomplete|failed)"/,
  messages: /"stop_reason":"(pause_turn|max_tokens)"/,
  'generate-content':
    /"finishReason":"(MAX_TOKENS|OTHER|MALFORMED_FUNCTION_CALL|UNEXPECTED_TOOL_CALL|SOMETHING_NEW)"/,
};
const finished =
  /"finish_reason":"stop"|"type":"response\.completed"|"stop_reason":"end_turn"|"finishReason":"STOP"/;

describe.each(wires)('a client of %s', (client) => {
  it('learns that Claude paused its turn', async () => {
    const harness = await openOneReply('messages');
    for (const reply of [message, paused]) {
      const { status, text, end } = await harness.ask(client, reply);
      expect([status, text]).toEqual([200, expect.stringMatching(unfinished[client])]);
      expect(text).not.toMatch(finished);
      expect(end).toMatchObject({
        outcome: 'completed',
        charge: { basis: 'usage', uses: withCounts({ input: 9, output: 4 }) },
      });
    }
  });

  it.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'SOMETHING_NEW'])(
    'learns that Gemini broke off by %s',
    async (reason) => {
      const harness = await openOneReply('generate-content');
      for (const reply of [buildBroken(reason), [buildBroken(reason)]]) {
        const { status, text, end } = await harness.ask(client, reply);
        expect([status, text]).toEqual([200, expect.stringMatching(unfinished[client])]);
        expect(text).not.toMatch(finished);
        expect(end).toMatchObject({
          outcome: 'completed',
          charge: { basis: 'usage', uses: withCounts({ input: 9, output: 4 }) },
        });
      }
      await harness.close();
    },
  );

  it('learns that a response is incomplete, whatever the reason', async () => {
    const harness = await openOneReply('responses');
    for (const reply of [incomplete, [{ type: 'response.incomplete', response: incomplete }]]) {
      const { status, text } = await harness.ask(client, reply);
      expect([status, text]).toEqual([200, expect.stringMatching(unfinished[client])]);
      expect(text).not.toMatch(finished);
    }
  });
});

const call = { name: 'send', arguments: '{"to":"Ann"}' };
const cutCall = { ...call, arguments: '{"to":"An' };

/** A reply of chat-completions that ends with this word, whole and streamed. */
function buildChatReplies(word: unknown, called: object | undefined): (object | object[])[] {
  const calls = called && [{ index: 0, id: 'call_1', type: 'function', function: called }];
  const said = { role: 'assistant', content: calls ? null : 'Let me', ...(calls && { tool_calls: calls }) };
  const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
  const head = { id: 'c1', created: 1, model: 'm' };
  return [
    { ...head, choices: [{ index: 0, message: said, finish_reason: word }], usage },
    [
      { ...head, choices: [{ index: 0, delta: said, finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: word }], usage },
    ],
  ];
}

/** A message that ends with this word, whole and streamed. */
function buildMessages(word: unknown, called: typeof call | undefined): (object | object[])[] {
  const tool = { type: 'tool_use', id: 'toolu_1', name: 'send' };
  const [start, ...rest] = paused.slice(0, 1);
  const piece = called
    ? { type: 'input_json_delta', partial_json: called.arguments }
    : { type: 'text_delta', text: 'Let me' };
  const stream = [
    start ?? {},
    ...rest,
    {
      type: 'content_block_start',
      index: 0,
      content_block: called ? { ...tool, input: {} } : { type: 'text', text: '' },
    },
    { type: 'content_block_delta', index: 0, delta: piece },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: word, stop_sequence: null }, usage: { output_tokens: 4 } },
    { type: 'message_stop' },
  ];
  const content = [called ? { ...tool, input: { to: 'Ann' } } : { type: 'text', text: 'Let me' }];
  const whole = { ...message, content, stop_reason: word };
  // A whole message holds its input as an object, which cannot break off.
  return called === cutCall ? [stream] : [whole, stream];
}

/** How each protocol ends a reply. */
const endings = {
  finished: [finished.source, '"status":"completed","completed_at"'],
  called: [
    '"finish_reason":"tool_calls"',
    '"type":"function_call"',
    '"stop_reason":"tool_use"',
    '"functionCall"',
  ],
  cut: [
    '"finish_reason":"length"',
    '"status":"incomplete"',
    '"stop_reason":"max_tokens"',
    '"finishReason":"(MAX_TOKENS|OTHER)"',
  ],
  filtered: [
    '"finish_reason":"content_filter"',
    '"reason":"content_filter"',
    '"stop_reason":"refusal"',
    '"finishReason":"SAFETY"',
  ],
};

const words: readonly (readonly [
  word: unknown,
  called: typeof call | undefined,
  ending: keyof typeof endings,
])[] = [
  ['sensitive', undefined, 'filtered'],
  ['repetition', undefined, 'cut'],
  ['tool_calls', undefined, 'finished'],
  ['tool_use', undefined, 'finished'],
  ['tool_calls', call, 'called'],
  ['tool_calls', cutCall, 'cut'],
  ['tool_use', cutCall, 'cut'],
  ['a word of tomorrow', undefined, 'cut'],
  [{ odd: true }, undefined, 'cut'],
];
const clean = new RegExp(
  [...endings.finished, '"finish_reason":"tool_calls"', '"stop_reason":"tool_use"'].join('|'),
);

describe.each(wires)('a client of %s, at a vendor of chat-completions', (client) => {
  it.each(words)('reads the end %j of a reply with the call %j as %s', async (word, called, ending) => {
    const harness = await openOneReply('chat-completions');
    for (const reply of buildChatReplies(word, called)) {
      const { status, text } = await harness.ask(client, reply);
      expect([status, text]).toEqual([200, expect.stringMatching(new RegExp(endings[ending].join('|')))]);
      if (ending === 'cut' || ending === 'filtered') expect(text).not.toMatch(clean);
    }
  });

  it('gets an error if the vendor lost its network', async () => {
    const harness = await openOneReply('chat-completions');
    for (const reply of buildChatReplies('network_error', undefined)) {
      const { text, end } = await harness.ask(client, reply);
      expect([end.error?.code, text]).toEqual(['upstream_failed', expect.stringContaining('network_error')]);
      expect(text).not.toMatch(clean);
    }
  });
});

describe.each(wires)('a client of %s, at a vendor of messages', (client) => {
  // Claude's own clients know words that came later than this gateway.
  const known = words.filter(([word]) => client !== 'messages' || String(word) !== 'a word of tomorrow');

  it.each(known.filter(([word]) => typeof word === 'string'))(
    'reads the end %j of a reply with the call %j as %s',
    async (word, called, ending) => {
      const harness = await openOneReply('messages');
      for (const reply of buildMessages(word, called)) {
        const { status, text } = await harness.ask(client, reply);
        expect([status, text]).toEqual([200, expect.stringMatching(new RegExp(endings[ending].join('|')))]);
        if (ending === 'cut' || ending === 'filtered') expect(text).not.toMatch(clean);
      }
      await harness.close();
    },
  );
});

describe.each(wires.filter((wire) => wire !== 'generate-content'))('a client of %s, at Google', (client) => {
  const begin = { name: 'send', id: 'g1', willContinue: true };
  const piece = {
    partialArgs: [{ jsonPath: '$.to', stringValue: 'An', willContinue: true }],
    willContinue: true,
  };
  it.each([
    ['before its first argument', [begin]],
    ['in the middle of an argument', [begin, piece]],
    ['before another call', [begin, piece, { name: 'send', args: { to: 'Bob' } }]],
  ])('sees that a call breaks off %s, although the reply ends well', async (_, calls) => {
    const harness = await openOneReply('generate-content');
    const chunks = calls.map((functionCall) => ({
      candidates: [{ content: { parts: [{ functionCall }] } }],
    }));
    const { status, text } = await harness.ask(client, [...chunks, buildBroken('STOP')]);
    expect([status, text]).toEqual([200, expect.stringMatching(new RegExp(endings.cut.join('|')))]);
    expect(text).not.toMatch(clean);
    const decoder = families[client].protocol.upstream.decodeEvents(
      readCall(client, { model: 'a/b', ...least[client] }, true),
    );
    const [call] = fold(decodeAll(decoder, readStream(Buffer.from(text)))).candidates[0]?.calls ?? [];
    expect(() => JSON.parse(call?.arguments ?? ''), text).toThrow(SyntaxError);
  });
});

it('a chat client can still read the word of the vendor', async () => {
  const harness = await openOneReply('chat-completions');
  for (const reply of buildChatReplies('sensitive', undefined)) {
    const { text } = await harness.ask('chat-completions', reply);
    expect(text).toContain('"finish_reason":"content_filter","native_finish_reason":"sensitive"');
  }
});

it("a client of the provider's own protocol receives its own word, unchanged", async () => {
  const claude = await openOneReply('messages');
  expect(JSON.parse((await claude.ask('messages', message)).text)).toEqual({
    ...message,
    model: 'house/model',
  });
  await claude.close();
  const gemini = await openOneReply('generate-content');
  expect(
    JSON.parse((await gemini.ask('generate-content', buildBroken('UNEXPECTED_TOOL_CALL'))).text),
  ).toEqual({
    ...buildBroken('UNEXPECTED_TOOL_CALL'),
    modelVersion: 'house/model',
  });
});
