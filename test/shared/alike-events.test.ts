import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CanonicalEvent, EventDecoder, WireEvent } from '../../core/index.ts';
import { padding, ReplyDecoder as ChatDecoder } from '../../plugins/protocols/chat-completions/reply-in.ts';
import { ReplyDecoder as MessagesDecoder } from '../../plugins/protocols/messages/reply-in.ts';
import { AlikeEvents } from '../../plugins/shared/wire-kit/alike-events.ts';
import { readCall } from '../support/families.ts';
import '../support/seed.ts';

const question = { model: 'a/b', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] };
const chatCall = readCall('chat-completions', question);
const messagesCall = readCall('messages', question);

function read(decoder: EventDecoder, events: readonly WireEvent[]): CanonicalEvent[] {
  return [...events.flatMap((event) => decoder.push(event)), ...decoder.end()];
}

/** A decoder, and how many events it was given. */
function countPushes(decoder: EventDecoder): EventDecoder & { asked: number } {
  const counted = {
    asked: 0,
    push: (event: WireEvent) => ((counted.asked += 1), decoder.push(event)),
    end: () => decoder.end(),
  };
  return counted;
}

function chunk(delta: object, more: object = {}, index = 0): WireEvent {
  return {
    event: undefined,
    data: JSON.stringify({
      id: 'chatcmpl-1',
      created: 1,
      model: 'm',
      choices: [{ index, delta, finish_reason: null }],
      ...more,
    }),
  };
}

function buildText(text: string): WireEvent {
  return {
    event: 'content_block_delta',
    data: JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  };
}

const words = ['Hello', ' there', ', said', ' content', ' the', ' gate', '.'];

describe('events that differ only in their text', () => {
  it('are recognised without being parsed, padded or not', () => {
    for (const pad of [() => ({}), (text: string) => ({ obfuscation: 'x'.repeat(9 - text.length) })]) {
      const decoder = countPushes(new ChatDecoder(chatCall));
      const events = words.map((content) => chunk({ content }, pad(content)));
      expect(read(new AlikeEvents(decoder, padding), events)).toEqual(
        read(new ChatDecoder(chatCall), events),
      );
      expect(decoder.asked).toBe(2);
    }
  });

  it('are recognised if they have a name', () => {
    const decoder = countPushes(new MessagesDecoder(messagesCall));
    const start = {
      event: 'content_block_start',
      data: '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    };
    const events = [start, ...words.map(buildText)];
    expect(read(new AlikeEvents(decoder), events)).toEqual(read(new MessagesDecoder(messagesCall), events));
    expect(decoder.asked).toBe(2);
  });

  it('are parsed as usual if they contain more than text', () => {
    const plain = words.map((content) => chunk({ content }));
    const others = [
      chunk({ content: 'b' }, { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }),
      chunk({ content: 'b', refusal: 'No.' }),
      chunk({ content: 'b', tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] }),
      chunk({ content: 'b' }, { obfuscation: 'x', error: { message: 'broken' } }),
      { event: 'error', data: plain[0]?.data ?? '' },
      { event: undefined, data: (plain[0]?.data ?? '').replace('Hello', 'Hel\tlo') },
      { event: undefined, data: `${plain[0]?.data ?? ''}]` },
      { event: undefined, data: (plain[0]?.data ?? '').replace('}]', '}],"x":[') },
    ];
    for (const other of others) {
      const events = [...plain, other, ...plain];
      expect(read(new AlikeEvents(new ChatDecoder(chatCall), padding), events), other.data).toEqual(
        read(new ChatDecoder(chatCall), events),
      );
    }
  });

  it('are not confused with other events that contain the same words', () => {
    const buildNamed = (model: string, content: string): WireEvent => chunk({ content }, { model });
    const events = [buildNamed('a', 'b'), buildNamed('c', 'c'), buildNamed('d', 'c'), buildNamed('e', 'c')];
    expect(read(new AlikeEvents(new ChatDecoder(chatCall), padding), events)).toEqual(
      read(new ChatDecoder(chatCall), events),
    );
  });

  it('are all passed to a decoder that keeps what they say', () => {
    const decoder = countPushes(new ChatDecoder(chatCall));
    read(
      new AlikeEvents(decoder),
      words.map((thought) => chunk({ reasoning_content: thought })),
    );
    expect(decoder.asked).toBe(words.length);
  });

  it('are not text if their wire has an unknown field for it', () => {
    const buildOdd = (value: string): WireEvent => ({
      event: 'content_block_delta',
      data: JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'odd', value } }),
    });
    const start = {
      event: 'content_block_start',
      data: '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    };
    const events = [start, buildText('a'), buildOdd(''), buildOdd('b'), buildOdd('c')];
    expect(read(new AlikeEvents(new MessagesDecoder(messagesCall)), events)).toEqual(
      read(new MessagesDecoder(messagesCall), events),
    );
  });

  it('give the same result whatever they contain', () => {
    const text = fc.oneof(
      fc.constantFrom('content', 'delta', '"', '\\', '\n', '\u0000', 'é', '😀', 'm', 'chatcmpl-1', ''),
      fc.string({ maxLength: 20 }),
    );
    const delta = fc.oneof(
      { weight: 6, arbitrary: fc.record({ content: text }) },
      fc.record({ content: text, role: text }),
      fc.record({ reasoning_content: text }),
      fc.record({ refusal: text }),
      fc.record({ content: fc.constant([{ type: 'text', text: 'part' }]) }),
    );
    const more = fc.oneof(
      { weight: 4, arbitrary: fc.constant({}) },
      fc.record({ obfuscation: text }),
      fc.record({ usage: fc.constant(null) }),
      fc.record({ note: text }),
    );
    const event = fc
      .tuple(delta, more, fc.constantFrom(0, 0, 0, 1))
      .map(([said, beside, index]) => chunk(said, beside, index));
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), (events) => {
        expect(read(new AlikeEvents(new ChatDecoder(chatCall), padding), events)).toEqual(
          read(new ChatDecoder(chatCall), events),
        );
      }),
    );
  });
});
