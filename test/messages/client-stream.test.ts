import { describe, expect, it } from 'vitest';
import type { CanonicalEvent } from '../../core/index.ts';
import { isObject } from '../support/json.ts';
import {
  call,
  client,
  context,
  delta,
  end,
  finish,
  encodeFrames,
  last,
  start,
  writeEvents,
} from './client-events.ts';

describe("a client's stream", () => {
  it('delays the message start until its first content, so that an early input count is in it', () => {
    const encoder = client.encodeEvents(context);
    expect(
      encoder.push({ type: 'response-start' }) +
        encoder.push({ type: 'usage', usage: { input: 55, cacheRead: 5 } }) +
        encoder.push(start(0, 'text')),
    ).toBe('');
    expect(encoder.push(delta(0, 'x'))).toContain(
      '"usage":{"input_tokens":50,"cache_creation_input_tokens":null,"cache_read_input_tokens":5,',
    );
  });

  it('estimates an input that is not known yet, and corrects it at the end', () => {
    const events = writeEvents([
      { type: 'response-start' },
      start(0, 'text'),
      delta(0, 'x'),
      end(0),
      { type: 'usage', usage: { input: 700, output: 3 } },
      ...last,
    ]);
    const guess = Math.ceil(context.call.size.textBytes / 4);
    expect(events[0]).toMatchObject({
      type: 'message_start',
      message: {
        id: 'msg_k7',
        model: 'openai/gpt-5.5',
        content: [],
        usage: { input_tokens: guess, output_tokens: 0 },
      },
    });
    expect(events.at(-2)).toMatchObject({
      type: 'message_delta',
      usage: { input_tokens: 700, output_tokens: 3 },
    });
  });

  it('has one block open at a time, numbered without a gap, even for interleaved calls', () => {
    const events = writeEvents([
      start(0, 'text'),
      end(0),
      call(1, 'a'),
      delta(1, '{"x":'),
      call(2, 'b'),
      delta(2, '{}'),
      call(3, 'c'),
      delta(1, '1}'),
      end(2),
      end(1),
      end(3),
      ...last,
    ]);
    expect(
      events
        .slice(1, -2)
        .map(({ type, index, delta: part, content_block: block }) => [
          type,
          index,
          isObject(part) ? part.partial_json : isObject(block) ? block.id : undefined,
        ]),
    ).toEqual([
      ['content_block_start', 0, 'a'],
      ['content_block_delta', 0, '{"x":'],
      ['content_block_delta', 0, '1}'],
      ['content_block_stop', 0, undefined],
      ['content_block_start', 1, 'b'],
      ['content_block_delta', 1, '{}'],
      ['content_block_stop', 1, undefined],
      ['content_block_start', 2, 'c'],
      ['content_block_delta', 2, '{}'],
      ['content_block_stop', 2, undefined],
    ]);
  });

  it('closes blocks that never ended before the message ends', () => {
    const types = writeEvents([start(0, 'text'), delta(0, 'x'), call(1, 'a'), ...last]).map(
      ({ type }) => type,
    );
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it.each([
    ['stop', [], 'end_turn'],
    ['length', [], 'max_tokens'],
    ['content-filter', [], 'refusal'],
    ['stop', [call(0, 'a'), end(0)], 'tool_use'],
    ['length', [call(0, 'a'), end(0)], 'max_tokens'],
    ['stop', [start(0, 'refusal'), delta(0, 'No.'), end(0)], 'refusal'],
  ] as const)('that ends by %s after %j ends by %s', (reason, blocks, word) => {
    expect(writeEvents([...blocks, finish(reason), { type: 'response-end' }]).at(-2)).toMatchObject({
      delta: { stop_reason: word, stop_sequence: null },
    });
  });

  it('contains nothing that means success before its very last frames', () => {
    const encoder = client.encodeEvents(context);
    const before = [start(0, 'text'), delta(0, 'x'), end(0), finish()]
      .map((event) => encoder.push(event))
      .join('');
    expect(before).not.toMatch(/message_delta|message_stop/);
    expect(encoder.push({ type: 'response-end' })).toMatch(
      /^event: message_delta\n[^]*event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/,
    );
  });

  it('estimates an output that no provider counted', () => {
    expect(writeEvents([start(0, 'text'), delta(0, 'x'.repeat(40)), end(0), ...last]).at(-2)).toMatchObject({
      usage: { output_tokens: 10 },
    });
  });

  it('gives an id of its own to a call without one, or with one it cannot carry', () => {
    const [, first] = writeEvents([start(0, 'tool-call', { name: 'look' }), end(0), ...last]);
    expect(first).toMatchObject({ content_block: { id: expect.stringMatching(/^toolu_[0-9a-f]{16}$/) } });
    expect(
      writeEvents([start(0, 'tool-call', { id: 'functions.look:0', name: 'look' }), end(0), ...last])[1],
    ).toMatchObject({ content_block: { id: 'toolu_ec0002042636dd8a' } });
  });

  it('says nothing of citations where there are none, because the AI SDK 6 refuses null', () => {
    const [, first] = writeEvents([start(0, 'text'), delta(0, 'x'), end(0), ...last]);
    expect(first).toMatchObject({ content_block: { type: 'text', text: '' } });
    expect(JSON.stringify(first)).not.toContain('citations');
  });

  it('cites web pages that another provider found', () => {
    const annotation = { kind: 'url' as const, url: 'https://a.example', title: 'A' };
    const events = writeEvents([
      start(0, 'text'),
      delta(0, 'x'),
      { type: 'annotation', candidate: 0, block: 0, annotation },
      end(0),
      ...last,
    ]);
    expect(events[3]).toMatchObject({
      delta: {
        type: 'citations_delta',
        citation: {
          type: 'web_search_result_location',
          url: 'https://a.example',
          title: 'A',
          cited_text: '',
        },
      },
    });
  });

  it('finds the cited passage in the answer, and names its position if it is too long for that', () => {
    const lost: string[] = [];
    const annotation = { kind: 'url' as const, url: 'https://a.example' };
    const cite = (from: number, to: number): CanonicalEvent => ({
      type: 'annotation',
      candidate: 0,
      block: 0,
      annotation: { ...annotation, start: from, end: to },
    });
    const encoder = client.encodeEvents({ ...context, reportLoss: (kind) => void lost.push(kind) });
    const long = Array.from({ length: 30_000 }, () => delta(0, 'words '));
    const events = [start(0, 'text'), ...long, cite(6, 11), cite(179_994, 179_999), end(0)]
      .map((event) => encoder.push(event))
      .join('');
    expect(events.match(/"cited_text":"[^"]*"/g)).toEqual(['"cited_text":"words"', '"cited_text":""']);
    expect(lost).toEqual(['annotations.citedText']);
  });

  it('omits what the protocol cannot express', () => {
    expect(
      writeEvents([
        start(0, 'image'),
        delta(0, 'AAAA'),
        end(0),
        start(1, 'text'),
        delta(1, 'x'),
        end(1),
        ...last,
      ])
        .map(({ index }) => index)
        .filter((index) => index !== undefined),
    ).toEqual([0, 0, 0]);
  });

  it('sends a keep-alive that its clients know', () => {
    expect(client.keepAlive).toBe('event: ping\ndata: {"type": "ping"}\n\n');
    expect(encodeFrames([{ type: 'ping' }])).toBe(client.keepAlive);
  });

  it('that breaks off ends with an error and nothing after it', () => {
    expect(encodeFrames([{ type: 'error', message: 'It broke.' }])).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"It broke."}}\n\n',
    );
  });
});
