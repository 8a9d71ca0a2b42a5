/** Replies as canonical events, and the chunks that a client gets of them. */
import { expect, describe, it } from 'vitest';
import { type CanonicalEvent, type ClientCall, GatewayError } from '../../core/index.ts';
import { seal, unseal } from '../../plugins/shared/wire-kit/envelope.ts';
import { buildBlock } from '../support/events.ts';
import { isObject } from '../support/json.ts';
import { makeCall, makeMatch, protocol, showingThoughts } from './bodies.ts';

const { client } = protocol;
const start: CanonicalEvent = { type: 'response-start' };
const end: CanonicalEvent = { type: 'response-end' };

const stop: CanonicalEvent = {
  type: 'finish',
  candidate: 0,
  reason: { unified: 'stop', raw: 'end_turn' },
};

const usage: CanonicalEvent = { type: 'usage', usage: { input: 7, output: 5, reasoning: 2 } };

function encodeFrames(
  events: readonly CanonicalEvent[],
  call: ClientCall = makeCall(showingThoughts, makeMatch(true)),
): string[] {
  const encoder = client.encodeEvents({ id: 'k7', model: 'a/b', created: 1, call });
  return events.map((event) => encoder.push(event));
}

function encodeChunks(events: readonly CanonicalEvent[], call?: ClientCall): unknown[] {
  const all = encodeFrames(events, call).join('');
  // Each frame is a single data line. Any other line breaks some client.
  expect(all).toMatch(/^(data: [^\r\n]+\r\n\r\n)*$/);
  return all
    .split('\r\n\r\n')
    .filter(Boolean)
    .map((frame): unknown => JSON.parse(frame.slice('data: '.length)));
}

function encodeParts(events: readonly CanonicalEvent[], call?: ClientCall): unknown[] {
  return encodeChunks(events, call)
    .flatMap((chunk) => (isObject(chunk) && Array.isArray(chunk.candidates) ? chunk.candidates : []))
    .flatMap((candidate: unknown) => {
      const content: unknown = isObject(candidate) ? candidate.content : undefined;
      return isObject(content) && Array.isArray(content.parts) ? content.parts : [];
    });
}

const tools = [{ functionDeclarations: [{ name: 'tide' }] }];

describe('a stream to a client', () => {
  it('has a chunk per piece of text, and one last chunk with the finish reason and all token counts', () => {
    expect(encodeChunks([start, ...buildBlock(0, 'text', ['Ah', 'oy']), stop, usage, end])).toEqual([
      {
        candidates: [{ content: { parts: [{ text: 'Ah' }], role: 'model' }, index: 0 }],
        modelVersion: 'a/b',
        responseId: 'k7',
      },
      {
        candidates: [{ content: { parts: [{ text: 'oy' }], role: 'model' }, index: 0 }],
        modelVersion: 'a/b',
        responseId: 'k7',
      },
      {
        candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
        usageMetadata: {
          promptTokenCount: 7,
          candidatesTokenCount: 3,
          thoughtsTokenCount: 2,
          totalTokenCount: 12,
          promptTokensDetails: [{ modality: 'TEXT', tokenCount: 7 }],
          candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: 3 }],
        },
        modelVersion: 'a/b',
        responseId: 'k7',
      },
    ]);
  });

  it('sends the finish reason in the last chunk only, so that a broken stream never looks complete', () => {
    const frames = encodeFrames([start, ...buildBlock(0, 'text', ['Ahoy']), stop, usage, end]);
    expect(frames.slice(0, -1).join('')).not.toContain('finishReason');
    expect(frames.at(-1)).toContain('"finishReason":"STOP"');
  });

  it('is one JSON array if the client does not send alt=sse', () => {
    const frames = encodeFrames(
      [start, ...buildBlock(0, 'text', ['Ah', 'oy']), stop, end],
      makeCall({}, makeMatch(true, 'array')),
    );
    expect(frames.filter(Boolean).map((frame) => frame[0])).toEqual(['[', ',', ',']);
    expect(JSON.parse(frames.join(''))).toMatchObject([
      { candidates: [{ content: { parts: [{ text: 'Ah' }] } }] },
      {},
      { candidates: [{ finishReason: 'STOP' }] },
    ]);
  });

  it('sends a call once it is whole, with the digits of its arguments', () => {
    const events = [
      start,
      ...buildBlock(0, 'tool-call', ['{"n":1.0,', '"big":12345678901234567890}'], { id: 'c1', name: 'f' }),
      stop,
      end,
    ];
    expect(encodeFrames(events).filter(Boolean)[0]).toContain(
      '"functionCall":{"id":"c1","name":"f","args":{"n":1.0,"big":12345678901234567890}}',
    );
    expect(
      encodeParts([start, ...buildBlock(0, 'tool-call', ['{"cut'], { name: 'f' }), stop, end])[0],
    ).toMatchObject({
      functionCall: { name: 'f', args: { _raw: '{"cut' } },
    });
    expect(
      encodeParts([start, ...buildBlock(0, 'tool-call', [], { name: 'f' }), stop, end])[0],
    ).toMatchObject({
      functionCall: { name: 'f', args: {} },
    });
  });

  it('marks thoughts as thoughts, and leaves them out if the client does not want them', () => {
    const events = [start, ...buildBlock(0, 'reasoning', ['hm']), ...buildBlock(1, 'text', ['a']), stop, end];
    expect(encodeParts(events)).toEqual([{ text: 'hm', thought: true }, { text: 'a' }, { text: '' }]);
    const call = makeCall(
      { generationConfig: { thinkingConfig: { includeThoughts: false } } },
      makeMatch(true),
    );
    expect(encodeParts(events, call)).toEqual([{ text: 'a' }, { text: '' }]);
    expect(client.encodeReply(events, { id: 'k7', model: 'a/b', created: 1, call })).toMatchObject({
      candidates: [{ content: { parts: [{ text: 'a' }] } }],
    });
  });

  it('shows unrequested thoughts only to calls with tools or pictures', () => {
    const events = [start, ...buildBlock(0, 'reasoning', ['hm']), ...buildBlock(1, 'text', ['a']), stop, end];
    const shown = [{ text: 'hm', thought: true }, { text: 'a' }, { text: '' }];
    expect(encodeParts(events, makeCall({}, makeMatch(true)))).toEqual([{ text: 'a' }, { text: '' }]);
    expect(encodeParts(events, makeCall({ tools }, makeMatch(true)))).toEqual(shown);
    const pictures = { generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } };
    expect(encodeParts(events, makeCall(pictures, makeMatch(true)))).toEqual(shown);
  });

  it('keeps the seal of hidden thoughts for the results of tools, unless the seal covers their text', () => {
    const hiding = { generationConfig: { thinkingConfig: { includeThoughts: false } } };
    const call = makeCall({ ...hiding, tools }, makeMatch(true));
    const openais = { vendor: 'openai', kind: 'encrypted', value: 'Z0FBQUFB' };
    const sealedThought = (...text: string[]): CanonicalEvent[] => [
      start,
      ...buildBlock(0, 'reasoning', text, {}, [openais]),
      ...buildBlock(1, 'text', ['a']),
      stop,
      end,
    ];
    expect(encodeParts(sealedThought(), call)).toEqual([
      { text: '', thought: true, thoughtSignature: seal(openais) },
      { text: 'a' },
      { text: '' },
    ]);
    expect(encodeParts(sealedThought('hm'), call)).toEqual([{ text: 'a' }, { text: '' }]);
    expect(encodeParts(sealedThought(), makeCall(hiding, makeMatch(true)))).toEqual([
      { text: 'a' },
      { text: '' },
    ]);
    const lost: string[] = [];
    client.encodeReply(sealedThought('hm'), {
      id: 'k7',
      model: 'a/b',
      created: 1,
      call,
      reportLoss: (kind) => void lost.push(kind),
    });
    expect(lost).toEqual(['reasoning']);
  });

  it('carries state that Google sealed in its signatures, and that of other vendors in an envelope', () => {
    const claudes = { vendor: 'anthropic', kind: 'encrypted', value: 'Y2xhdWRl' };
    const parts = encodeParts([
      start,
      ...buildBlock(0, 'reasoning', ['hm'], {}, [claudes]),
      ...buildBlock(1, 'tool-call', ['{}'], { id: 'c', name: 'f' }, [
        { vendor: 'google', kind: 'signature', value: 'AAAA' },
      ]),
      stop,
      end,
    ]);
    const [, sealed, call] = parts;
    const envelope = isObject(sealed) ? String(sealed.thoughtSignature) : '';
    expect(unseal(envelope)).toEqual(claudes);
    expect(envelope).toMatch(/^[A-Za-z0-9+/]+=*$/);
    expect(sealed).toMatchObject({ text: '', thought: true });
    expect(call).toMatchObject({ thoughtSignature: 'AAAA' });
  });

  it.each([
    ['stop', 'STOP'],
    ['stop-sequence', 'STOP'],
    ['length', 'MAX_TOKENS'],
    ['context-length', 'MAX_TOKENS'],
    ['tool-calls', 'STOP'],
    ['content-filter', 'SAFETY'],
    ['refusal', 'SAFETY'],
    ['pause', 'MAX_TOKENS'],
    ['error', 'OTHER'],
    ['other', 'OTHER'],
  ] as const)('sends the finish reason "%s" as %s', (unified, finishReason) => {
    const finish: CanonicalEvent = { type: 'finish', candidate: 0, reason: { unified, raw: 'theirs' } };
    expect(encodeChunks([start, finish, end])).toMatchObject([{ candidates: [{ finishReason }] }]);
  });

  it('keeps a finish reason of Google, and no reason of another vendor that only looks like one', () => {
    const encodeFinish = (unified: 'content-filter' | 'stop', raw: string): unknown =>
      encodeChunks([start, { type: 'finish', candidate: 0, reason: { unified, raw } }, end]);
    expect(encodeFinish('content-filter', 'RECITATION')).toMatchObject([
      { candidates: [{ finishReason: 'RECITATION' }] },
    ]);
    expect(encodeFinish('stop', 'OTHER')).toMatchObject([{ candidates: [{ finishReason: 'STOP' }] }]);
    expect(encodeFinish('stop', 'constructor')).toMatchObject([{ candidates: [{ finishReason: 'STOP' }] }]);
  });
});

const error = new GatewayError('upstream_failed', 'It broke off.');

it('an error inside a stream is a chunk, or the last element of an array that it closes', () => {
  const [events, array] = [makeCall({}, makeMatch(true)), makeCall({}, makeMatch(true, 'array'))];
  const frame = client.encodeStreamError(error, events, true);
  expect(JSON.parse(frame.slice('data: '.length))).toMatchObject({
    error: { code: 503, message: 'It broke off.', status: 'UNAVAILABLE' },
  });
  expect(client.encodeStreamError(error, events, false)).toBe(frame);
  const begun = encodeFrames([start, ...buildBlock(0, 'text', ['Ahoy'])], array).join('');
  expect(JSON.parse(begun + client.encodeStreamError(error, array, true))).toMatchObject([
    { candidates: [{}] },
    { error: { code: 503 } },
  ]);
  expect(JSON.parse(client.encodeStreamError(error, array, false))).toMatchObject([{ error: { code: 503 } }]);
});

it('an error inside a stream looks the same if the vendor sent it', () => {
  const array = makeCall({}, makeMatch(true, 'array'));
  const broken: CanonicalEvent = { type: 'error', message: 'It broke off.' };
  expect(JSON.parse(encodeFrames([start, broken], array).join(''))).toMatchObject([
    { error: { message: 'It broke off.' } },
  ]);
  expect(
    JSON.parse(encodeFrames([start, ...buildBlock(0, 'text', ['a']), broken], array).join('')),
  ).toMatchObject([{}, { error: { message: 'It broke off.' } }]);
});

it('a whole reply to a client has every field that the service promises', () => {
  const call = makeCall(showingThoughts);
  const opaque = [{ vendor: 'google', kind: 'signature', value: 'AAAA' }];
  const events = [
    start,
    ...buildBlock(0, 'reasoning', ['h', 'm'], {}, opaque),
    ...buildBlock(1, 'text', ['Ah', 'oy']),
    ...buildBlock(2, 'image', ['iVBO'], { mediaType: 'image/png' }),
    stop,
    usage,
    end,
  ];
  expect(client.encodeReply(events, { id: 'k7', model: 'a/b', created: 5, call })).toEqual({
    candidates: [
      {
        content: {
          parts: [
            { text: 'hm', thought: true, thoughtSignature: 'AAAA' },
            { text: 'Ahoy' },
            { inlineData: { mimeType: 'image/png', data: 'iVBO' } },
          ],
          role: 'model',
        },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: expect.objectContaining({
      promptTokenCount: 7,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 2,
      totalTokenCount: 12,
      candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: 3 }],
    }),
    modelVersion: 'a/b',
    responseId: 'k7',
  });
});

it("a whole reply to a client keeps Gemini's token counts by modality and its tier, streamed or not", () => {
  const counts = {
    promptTokenCount: 100,
    candidatesTokenCount: 20,
    toolUsePromptTokenCount: 7,
    totalTokenCount: 127,
  };
  const media = {
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 40 },
      { modality: 'VIDEO', tokenCount: 60 },
    ],
    toolUsePromptTokensDetails: [{ modality: 'TEXT', tokenCount: 7 }],
  };
  const usageMetadata = {
    ...counts,
    ...media,
    candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: 20 }],
    trafficType: 'ON_DEMAND',
  };
  const events = protocol.upstream.decodeReply(
    { candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }], usageMetadata },
    makeCall(),
  );
  const reply: unknown = JSON.parse(
    JSON.stringify(client.encodeReply(events, { id: 'k7', model: 'a/b', created: 5, call: makeCall() })),
  );
  expect([reply, encodeChunks(events).at(-1)]).toMatchObject([{ usageMetadata }, { usageMetadata }]);
});

it('a whole reply to a client has no usage if the provider counted none', () => {
  expect(
    client.encodeReply([start, stop, end], { id: 'k7', model: 'a/b', created: 5, call: makeCall() }),
  ).toEqual({
    candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    modelVersion: 'a/b',
    responseId: 'k7',
  });
});
