/** Replies as canonical events, and the chunks that a client gets of them. */
import { expect, describe, it } from 'vitest';
import { type CanonicalEvent, GatewayError } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { seal } from '../../plugins/shared/wire-kit/envelope.ts';
import { buildBlock } from '../support/events.ts';
import { isObject } from '../support/json.ts';
import { makeCall } from './bodies.ts';

const { client } = protocol;

interface Chunk {
  readonly choices: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}

function isChunk(value: unknown): value is Chunk {
  return isObject(value) && Array.isArray(value.choices);
}

/** The parsed frames of a stream, without the last one. */
function encodeChunks(events: readonly CanonicalEvent[], fields: Record<string, unknown> = {}): Chunk[] {
  const encoder = client.encodeEvents({
    id: 'k7',
    model: 'openai/gpt-5.5',
    created: 1_790_000_000,
    call: makeCall({ stream: true, ...fields }),
  });
  const frames = events
    .map((event) => encoder.push(event))
    .join('')
    .split('\n\n')
    .filter(Boolean);
  expect(frames.pop()).toBe('data: [DONE]');
  return frames.map((frame) => {
    expect(frame.startsWith('data: ')).toBe(true);
    const chunk: unknown = JSON.parse(frame.slice(6));
    if (!isChunk(chunk)) throw new Error(`no chunk: ${frame}`);
    return chunk;
  });
}

const encodeDeltas = (events: readonly CanonicalEvent[]): unknown[] =>
  encodeChunks(events).map(({ choices }) => choices[0]?.delta);

const start: CanonicalEvent = { type: 'response-start' };
const stop: CanonicalEvent = { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'end' } };
const end: CanonicalEvent = { type: 'response-end' };

const usage: CanonicalEvent = {
  type: 'usage',
  usage: { input: 7, output: 5, cacheRead: 3, cacheWrite5m: 1, cacheWrite1h: 2, reasoning: 4 },
};

describe('a stream of chunks', () => {
  it('starts with the role, ends with the reason, and has the same id throughout', () => {
    const read = encodeChunks([start, ...buildBlock(0, 'text', ['Ah', 'oy']), stop, usage, end]);
    expect(read.map(({ choices }) => choices)).toEqual([
      [{ index: 0, delta: { role: 'assistant', content: '', refusal: null }, finish_reason: null }],
      [{ index: 0, delta: { content: 'Ah' }, finish_reason: null }],
      [{ index: 0, delta: { content: 'oy' }, finish_reason: null }],
      [{ index: 0, delta: {}, finish_reason: 'stop' }],
    ]);
    for (const { choices: _, ...head } of read)
      expect(head).toEqual({
        id: 'chatcmpl-k7',
        object: 'chat.completion.chunk',
        created: 1_790_000_000,
        model: 'openai/gpt-5.5',
      });
  });

  it.each([
    ['text', buildBlock(0, 'text', ['a']), ''],
    ['a call', buildBlock(0, 'tool-call', ['{}'], { id: 'c0', name: 'f' }), null],
    ['thoughts', buildBlock(0, 'reasoning', ['Hm.']), null],
    ['nothing', [], ''],
  ] as const)(
    'starts with an empty text unless the message may hold calls only: the first block is %s',
    (_, blocks, content) => {
      expect(encodeDeltas([start, ...blocks, stop, end])[0]).toEqual({
        role: 'assistant',
        content,
        refusal: null,
      });
    },
  );

  it('sends usage at the end and null before, and only if the client asked for it', () => {
    const events = [start, ...buildBlock(0, 'text', ['a']), usage, stop, end];
    expect(encodeChunks(events).every((chunk) => !('usage' in chunk))).toBe(true);
    const requests = encodeChunks(events, { stream_options: { include_usage: true } });
    expect(requests.map((chunk) => chunk.usage)).toEqual([
      null,
      null,
      null,
      {
        prompt_tokens: 7,
        completion_tokens: 5,
        total_tokens: 12,
        prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 4 },
      },
    ]);
    expect(requests.at(-1)?.choices).toEqual([]);
  });

  it('sends pictures whole, and nothing of hosted tools', () => {
    const events = [
      start,
      ...buildBlock(0, 'server-tool', ['q'], { name: 'search' }),
      ...buildBlock(1, 'code', ['print()']),
      ...buildBlock(2, 'image', ['AA', 'BB'], { mediaType: 'image/png' }),
      stop,
      end,
    ];
    expect(encodeDeltas(events).slice(1)).toEqual([
      { images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AABB' } }] },
      {},
    ]);
  });

  it('places a citation without offsets by its whole block, even if the citation comes first', () => {
    const annotation: CanonicalEvent = {
      type: 'annotation',
      candidate: 0,
      block: 1,
      annotation: { kind: 'url', url: 'https://x', title: 'X' },
    };
    const events = [
      start,
      ...buildBlock(0, 'text', ['12345']),
      ...buildBlock(1, 'text', ['678']).toSpliced(1, 0, annotation),
      stop,
      end,
    ];
    expect(encodeDeltas(events)[3]).toEqual({
      annotations: [
        {
          type: 'url_citation',
          url_citation: { url: 'https://x', title: 'X', start_index: 5, end_index: 8 },
        },
      ],
    });
  });

  it('sends log probabilities with their text', () => {
    const [opening, delta, closing] = buildBlock(0, 'text', ['a']);
    if (!opening || !delta || !closing) throw new Error('a block has three events');
    const read = encodeChunks([
      start,
      opening,
      { type: 'logprobs', candidate: 0, block: 0, content: [{ token: 'a' }] },
      delta,
      closing,
      stop,
      end,
    ]);
    expect(read[1]?.choices[0]).toEqual({
      index: 0,
      delta: { content: 'a' },
      logprobs: { content: [{ token: 'a' }], refusal: null },
      finish_reason: null,
    });
  });

  it.each([
    ['stop', 'stop', undefined],
    ['stop-sequence', 'stop', undefined],
    ['length', 'length', undefined],
    ['context-length', 'length', undefined],
    ['tool-calls', 'stop', undefined],
    ['content-filter', 'content_filter', undefined],
    ['refusal', 'content_filter', 'raw'],
    ['pause', 'length', 'raw'],
    ['other', 'length', 'raw'],
  ] as const)('without a call, sends the finish reason %s as %s', (unified, told, native) => {
    const [, last] = encodeChunks([
      start,
      { type: 'finish', candidate: 0, reason: { unified, raw: 'raw' } },
      end,
    ]);
    expect([last?.choices[0]?.finish_reason, last?.choices[0]?.native_finish_reason]).toEqual([told, native]);
  });

  it('ends a refusal in words with stop, because the parsers of SDKs throw at a filtered reply', () => {
    const chunks = encodeChunks([
      start,
      ...buildBlock(0, 'refusal', ['I cannot.']),
      { type: 'finish', candidate: 0, reason: { unified: 'refusal', raw: 'completed' } },
      end,
    ]);
    const last = chunks.at(-1)?.choices[0];
    expect([last?.finish_reason, last?.native_finish_reason]).toEqual(['stop', undefined]);
  });

  it('ends with one error event, named for clients that know it by name, and nothing like success', () => {
    const frame = client.encodeStreamError(
      new GatewayError('upstream_failed', 'It broke off.'),
      makeCall(),
      true,
    );
    expect(frame).toBe(
      'event: error\ndata: {"error":{"message":"It broke off.","type":"server_error","param":null,' +
        '"code":"upstream_error"}}\n\n',
    );
    const encoder = client.encodeEvents({ id: 'k7', model: 'a/b', created: 1, call: makeCall() });
    expect(encoder.push({ type: 'error', message: 'It broke off.' })).toBe(frame);
  });
});

it('a whole completion has all fields that the service interface lists', () => {
  const events = [start, ...buildBlock(0, 'text', ['Ah', 'oy']), stop, usage, end];
  expect(client.encodeReply(events, { id: 'k7', model: 'a/b', created: 5, call: makeCall() })).toMatchObject({
    id: 'chatcmpl-k7',
    object: 'chat.completion',
    created: 5,
    model: 'a/b',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Ahoy', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
  });
});

it('a whole completion has an empty text if it holds nothing else, and no text with tool calls', () => {
  const encodeContent = (events: CanonicalEvent[]): unknown => {
    const body = client.encodeReply(events, { id: 'k7', model: 'a/b', created: 5, call: makeCall() });
    const [choice]: unknown[] = isChunk(body) ? [...body.choices] : [];
    return isObject(choice) && isObject(choice.message) ? choice.message.content : undefined;
  };
  expect(encodeContent([start, stop, end])).toBe('');
  expect(
    encodeContent([start, ...buildBlock(0, 'tool-call', ['{}'], { id: 'c', name: 'f' }), stop, end]),
  ).toBeNull();
});

it('a whole completion has no usage if the provider sent none', () => {
  expect(
    client.encodeReply([start, stop, end], { id: 'k7', model: 'a/b', created: 5, call: makeCall() }),
  ).not.toHaveProperty('usage');
});

it('a stream of chunks numbers the tool calls of every candidate from 0', () => {
  const call = (number: number, candidate: number): CanonicalEvent[] =>
    buildBlock(number, 'tool-call', ['{}'], { id: `c${number}`, name: 'f' }, undefined, candidate);
  const second: CanonicalEvent = { type: 'finish', candidate: 1, reason: { unified: 'stop', raw: 'end' } };
  const read = encodeChunks([
    start,
    ...buildBlock(0, 'text', ['a']),
    ...call(1, 0),
    ...call(2, 0),
    ...call(3, 1),
    stop,
    second,
    end,
  ]);
  const seen = read.flatMap(({ choices: [choice] }) => {
    const delta = choice?.delta;
    const calls: unknown[] = isObject(delta) && Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
    return calls.map((each) => [
      choice?.index,
      isObject(each) ? each.index : undefined,
      isObject(each) ? each.id : undefined,
    ]);
  });
  expect(seen).toEqual([
    [0, 0, 'c1'],
    [0, 0, undefined],
    [0, 1, 'c2'],
    [0, 1, undefined],
    [1, 0, 'c3'],
    [1, 0, undefined],
  ]);
  expect(read.slice(-2).map(({ choices: [choice] }) => choice?.finish_reason)).toEqual([
    'tool_calls',
    'tool_calls',
  ]);
});

it('a stream of chunks generates the same id each time for a call without one', () => {
  const events = [start, ...buildBlock(0, 'tool-call', ['{}'], { name: 'f' }), stop, end];
  expect(encodeDeltas(events)[1]).toEqual({
    tool_calls: [
      {
        index: 0,
        id: expect.stringMatching(/^call_\w{24}$/),
        type: 'function',
        function: { name: 'f', arguments: '' },
      },
    ],
  });
  expect(encodeDeltas(events)).toEqual(encodeDeltas(events));
});

it('a stream of chunks numbers the thoughts of a candidate, so that clients can group their entries', () => {
  const opaque = [{ vendor: 'anthropic', kind: 'encrypted', value: 'eA==' }];
  const [, first, second] = encodeDeltas([
    start,
    ...buildBlock(0, 'reasoning', [], {}, opaque),
    ...buildBlock(1, 'reasoning', [], {}, opaque),
    stop,
    end,
  ]);
  expect([first, second]).toMatchObject([
    { reasoning_details: [{ index: 0 }] },
    { reasoning_details: [{ index: 1 }] },
  ]);
});

describe('a signed tool call', () => {
  const opaque = [{ vendor: 'google', kind: 'signature', value: 'c2VhbA==' }];
  const sealed = {
    extra_content: {
      google: { thought_signature: seal({ vendor: 'google', kind: 'signature', value: 'c2VhbA==' }) },
    },
  };
  const encodeSealedCall = (facts: object): unknown[] =>
    encodeDeltas([
      start,
      ...buildBlock(0, 'tool-call', ['{}'], { id: 'c', name: 'f', ...facts }, opaque),
      stop,
      end,
    ]).slice(1, -1);

  it('has the signature next to its name, the only place where some clients look', () => {
    expect(encodeSealedCall({ opaque })).toEqual([
      {
        tool_calls: [
          { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' }, ...sealed },
        ],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
    ]);
  });

  it('has a late signature in a fragment of the call', () => {
    expect(encodeSealedCall({})[2]).toEqual({
      tool_calls: [{ index: 0, function: { arguments: '' }, ...sealed }],
    });
    expect(encodeSealedCall({ custom: true })[2]).toEqual({
      tool_calls: [{ index: 0, custom: { input: '' }, ...sealed }],
    });
  });
});
