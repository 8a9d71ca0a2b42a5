import { describe, expect, it } from 'vitest';
import type { CanonicalEvent, Opaque } from '../../core/index.ts';
import { StreamEncoder } from '../../plugins/protocols/messages/reply-out.ts';
import { seal } from '../../plugins/shared/wire-kit/envelope.ts';
import { sendOwn } from '../support/families.ts';
import { isObject } from '../support/json.ts';
import { makeCall, makeModel, protocol } from './bodies.ts';
import { call, client, context, delta, end, last, start, writeEvents } from './client-events.ts';

describe('encrypted state of another provider', () => {
  const state = (kind = 'encrypted'): Opaque => ({ vendor: 'openai', kind, value: 'sealed+/=' });
  const reply: CanonicalEvent[] = [
    start(0, 'reasoning'),
    delta(0, 'Thinking of it.'),
    end(0, [state(), state('second')]),
    start(1, 'reasoning'),
    end(1, [state('other')]),
    start(2, 'text'),
    delta(2, 'Well.'),
    end(2, [{ vendor: 'google', kind: 'signature', value: 't' }]),
    call(3, 'a'),
    end(3, [{ vendor: 'google', kind: 'signature', value: 'c' }]),
    ...last,
  ];

  it('travels with the conversation, and returns to the very block it belongs to', () => {
    const body = client.encodeReply(reply, context);
    const content = isObject(body) ? body.content : undefined;
    const next = makeCall({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content },
        { role: 'user', content: 'y' },
      ],
    });
    expect(next.carriesState).toBe(true);
    const [, turn] = next.decode().turns;
    expect(turn?.blocks).toMatchObject([
      { type: 'reasoning', text: 'Thinking of it.', opaque: [state(), state('second')] },
      { type: 'reasoning', text: '', opaque: [state('other')] },
      { type: 'text', text: 'Well.', opaque: [{ vendor: 'google', kind: 'signature', value: 't' }] },
      { type: 'tool-call', id: 'a', opaque: [{ vendor: 'google', kind: 'signature', value: 'c' }] },
    ]);
    expect(turn?.blocks).toHaveLength(4);
  });

  it('is in a block that clients keep without reading it', () => {
    const data = writeEvents(reply).flatMap(({ content_block: block }) =>
      isObject(block) && block.type === 'redacted_thinking' ? [block.data] : [],
    );
    expect(data).toHaveLength(5);
    for (const text of data) expect(text).toMatch(/^[A-Za-z0-9+/]+=*$/);
  });

  it('never follows the text at the end of a reply, where clients look for that text', () => {
    const lost: string[] = [];
    const withLosses = { ...context, reportLoss: (kind: string): void => void lost.push(kind) };
    const sealed = { vendor: 'google', kind: 'signature', value: 't' };
    const closing = [
      start(0, 'text'),
      delta(0, 'Hm.'),
      end(0),
      call(1, 'a'),
      end(1),
      start(2, 'text'),
      delta(2, 'Well.'),
      end(2, [sealed]),
      ...last,
    ];
    const body = client.encodeReply(closing, withLosses);
    const content = isObject(body) ? body.content : undefined;
    expect([content, lost]).toMatchObject([
      [
        { type: 'text' },
        { type: 'tool_use' },
        { type: 'redacted_thinking' },
        { type: 'text', text: 'Well.' },
      ],
      [],
    ]);
    const [turn] = makeCall({ messages: [{ role: 'assistant', content }] }).decode().turns;
    expect(turn?.blocks).toEqual([
      expect.not.objectContaining({ opaque: expect.anything() }),
      expect.objectContaining({ id: 'a' }),
      expect.objectContaining({ text: 'Well.', opaque: [sealed] }),
    ]);
    // In a stream the text has been sent before its signature is known.
    const stream = new StreamEncoder(withLosses);
    const frames = closing.map((event) => stream.push(event)).join('');
    expect([frames.includes('redacted_thinking'), lost]).toEqual([false, ['text.opaque']]);
  });

  it('is left out with its reasoning if the caller neither asked for thinking nor offered tools', () => {
    const signed = [
      start(0, 'reasoning'),
      end(0, [state()]),
      start(1, 'text'),
      delta(1, 'Well.'),
      end(1, [{ vendor: 'google', kind: 'signature', value: 't' }]),
      ...last,
    ];
    const shown = [start(0, 'reasoning'), delta(0, 'Thinking of it.'), ...signed.slice(1)];
    const encodeFor = (fields: Record<string, unknown>, events = signed): unknown => {
      const lost: string[] = [];
      const calling = {
        ...context,
        call: makeCall(fields),
        reportLoss: (kind: string) => void lost.push(kind),
      };
      const body = client.encodeReply(events, calling);
      const content = isObject(body) && Array.isArray(body.content) ? body.content : [];
      const stream = new StreamEncoder(calling);
      const frames = events.map((event) => stream.push(event)).join('');
      return {
        whole: content.map((block: unknown) => isObject(block) && block.type),
        streamed: frames.split(/"(?:redacted_)?thinking"/).length - 1,
        lost,
      };
    };
    const plain = {
      whole: ['text'],
      streamed: 0,
      lost: ['reasoning.opaque', 'text.opaque', 'reasoning.opaque', 'text.opaque'],
    };
    expect(encodeFor({})).toEqual(plain);
    expect(encodeFor({ thinking: { type: 'disabled' } })).toEqual(plain);
    expect(encodeFor({}, shown)).toEqual({
      whole: ['text'],
      streamed: 0,
      lost: ['reasoning', ...plain.lost.slice(0, 2), 'reasoning', ...plain.lost.slice(0, 2)],
    });
    const kept = {
      whole: ['redacted_thinking', 'redacted_thinking', 'text'],
      streamed: 1,
      lost: ['text.opaque'],
    };
    expect(encodeFor({ thinking: { type: 'adaptive' } })).toEqual(kept);
    expect(encodeFor({ tools: [{ name: 'look', input_schema: { type: 'object' } }] })).toEqual(kept);
  });

  it('is reported as lost by its position', () => {
    const data = seal({ vendor: 'openai', kind: 'encrypted', value: 'x' });
    const content = [
      { type: 'text', text: 'Well.' },
      { type: 'redacted_thinking', data },
    ];
    const wire = { model: 'a/b', max_tokens: 90, messages: [{ role: 'assistant', content }] };
    expect(sendOwn('messages', wire).lost).toEqual(['messages[0].content[1]']);
  });

  it('never reaches Anthropic', () => {
    const content = [
      { type: 'thinking', thinking: 'Thinking of it.', signature: '' },
      { type: 'text', text: 'Well.' },
    ];
    const { body } = protocol.upstream.encodeRequest(
      makeCall({ messages: [{ role: 'assistant', content }] }).decode(),
      makeModel(),
      undefined,
    );
    expect(JSON.stringify(body)).not.toContain('Thinking of it.');
  });
});
