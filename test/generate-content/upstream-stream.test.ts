import { describe, expect, it } from 'vitest';
import { fold } from '../contract/replies.ts';
import { makeCall } from './bodies.ts';
import { chunk, decode, decodeChunks, foreign, own, upstream } from './upstream-events.ts';

describe('a stream from Google', () => {
  it.each([own, foreign])('keeps all text and finishes once if every chunk says STOP', (call) => {
    const reply = decodeChunks(
      [
        chunk([{ text: 'Ah' }], { finishReason: 'STOP' }),
        chunk([{ text: 'oy' }], { finishReason: 'STOP' }),
        chunk([{ functionCall: { name: 'f' } }], { finishReason: 'STOP' }),
      ],
      call,
    );
    expect(reply).toMatchObject({
      complete: true,
      candidates: { 0: { text: 'Ahoy', calls: [{ name: 'f' }] } },
    });
  });

  it('finishes a translated reply after all its parts, whichever chunk had the reason first', () => {
    const events = decode(
      [
        chunk([{ text: 'Ah' }], { finishReason: 'STOP' }),
        chunk([{ functionCall: { name: 'f' } }], { finishReason: 'STOP' }),
      ],
      foreign,
    );
    expect(events.slice(-2)).toMatchObject([
      { type: 'finish', reason: { unified: 'tool-calls', raw: 'STOP' } },
      { type: 'response-end' },
    ]);
  });

  it('finishes a verbatim reply at once, because the gateway holds back its last chunk', () => {
    const decoder = upstream.decodeEvents(own);
    const events = decoder.push({
      event: undefined,
      data: JSON.stringify(chunk([{ text: 'Ahoy' }], { finishReason: 'STOP' })),
    });
    expect(events.at(-1)).toMatchObject({ type: 'finish' });
    expect(decoder.end()).toEqual([{ type: 'response-end' }]);
  });

  it.each([
    [[['Ah'], ['oy', { finishReason: 'STOP' }]], true],
    [
      [
        ['Ahoy', { finishReason: 'STOP' }],
        ['', { groundingMetadata: {} }],
      ],
      true,
    ],
    [[['Ah'], ['oy']], false],
    [
      [
        ['Ah', { finishReason: 'STOP' }],
        ['oy', { finishReason: 'STOP' }],
      ],
      false,
    ],
  ] satisfies [[string, Record<string, unknown>?][], boolean][])(
    'may end after a reason that no output follows: %j',
    (texts, mayEnd) => {
      const decoder = upstream.decodeEvents(own);
      const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 2 };
      for (const [text, more] of texts)
        decoder.push({
          event: undefined,
          data: JSON.stringify({ ...chunk([{ text }], more), usageMetadata }),
        });
      expect(decoder.mayEnd).toBe(mayEnd);
    },
  );

  it('may not end before its usage is known', () => {
    const decoder = upstream.decodeEvents(own);
    const last = chunk([{ text: 'Ahoy' }], { finishReason: 'STOP' });
    decoder.push({ event: undefined, data: JSON.stringify(last) });
    expect(decoder.mayEnd).toBe(false);
  });

  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content-filter'],
    ['RECITATION', 'content-filter'],
    ['PROHIBITED_CONTENT', 'content-filter'],
    ['SPII', 'content-filter'],
    ['IMAGE_SAFETY', 'content-filter'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['LANGUAGE', 'error'],
    ['SOMETHING_NEW', 'error'],
    ['constructor', 'error'],
  ])('maps the finish reason %s to "%s"', (raw, unified) => {
    expect(decode([chunk([{ text: 'x' }], { finishReason: raw })])).toContainEqual(
      expect.objectContaining({ type: 'finish', reason: { unified, raw } }),
    );
  });

  it('finishes with tool-calls if it has calls, unless it was cut or filtered', () => {
    const decodeReason = (raw: string): string | undefined =>
      decodeChunks([chunk([{ functionCall: { name: 'f' } }]), chunk([{ text: '' }], { finishReason: raw })])
        .candidates[0]?.reason;
    expect([
      decodeReason('STOP'),
      decodeReason('MAX_TOKENS'),
      decodeReason('SAFETY'),
      decodeReason('MALFORMED_FUNCTION_CALL'),
    ]).toEqual(['tool-calls', 'length', 'content-filter', 'error']);
  });

  it('is complete only when every requested candidate has finished', () => {
    const two = makeCall({ generationConfig: { candidateCount: 2 } });
    expect(decodeChunks([chunk([{ text: 'a' }], { finishReason: 'STOP' })], two).complete).toBe(false);
    expect(
      decodeChunks(
        [
          chunk([{ text: 'a' }], { finishReason: 'STOP' }),
          chunk([{ text: 'b' }], { index: 1, finishReason: 'STOP' }),
        ],
        two,
      ).complete,
    ).toBe(true);
    expect(
      decodeChunks([chunk([{ text: 'a' }], { finishReason: 'FINISH_REASON_UNSPECIFIED' })]).complete,
    ).toBe(false);
    expect(decodeChunks([]).complete).toBe(false);
  });

  it('is complete and gives the reason if Google refuses the prompt', () => {
    const events = decode([
      {
        promptFeedback: { blockReason: 'MODEL_ARMOR', blockReasonMessage: 'No.' },
        usageMetadata: { trafficType: 'ON_DEMAND' },
      },
    ]);
    expect(events).toMatchObject([
      { type: 'response-start' },
      { type: 'finish', reason: { unified: 'content-filter', raw: 'MODEL_ARMOR' } },
      { type: 'response-end' },
    ]);
  });

  it.each([
    [
      { error: { code: 503, message: 'Overloaded.', status: 'UNAVAILABLE' } },
      { type: 'error', message: 'Overloaded.', code: 'UNAVAILABLE', status: 503 },
    ],
    [{ error: {} }, { type: 'error', message: 'The provider broke off its reply and gave no reason.' }],
  ])('ends with one error if it breaks off with %j', (broken, error) => {
    const events = decode([chunk([{ text: 'a' }]), broken, chunk([{ text: 'b' }], { finishReason: 'STOP' })]);
    expect(events.at(-1)).toMatchObject(error);
  });

  it('is read as far as possible if parts have odd shapes', () => {
    const odd = [
      null,
      5,
      {},
      { text: 5 },
      { functionCall: {} },
      { functionCall: { args: {} } },
      { inlineData: {} },
      { thought: true },
      { text: 'ok' },
    ];
    expect(
      decodeChunks([
        { candidates: 'none' },
        { candidates: [null, { content: 'x', index: 0 }] },
        chunk(odd, { finishReason: 'STOP', index: -1 }),
      ]),
    ).toMatchObject({ complete: true, candidates: { 0: { text: 'ok', calls: [] } } });
  });

  it('does not take a picture among the thoughts for the answer', () => {
    const blob = { mimeType: 'image/png', data: 'AAAA' };
    const { others = [] } =
      decodeChunks([
        chunk([{ inlineData: blob, thought: true }, { inlineData: blob }], { finishReason: 'STOP' }),
      ]).candidates[0] ?? {};
    expect(others).toEqual([
      { kind: 'server-tool', text: '' },
      { kind: 'image', text: 'AAAA' },
    ]);
  });
});

describe('a JSON reply', () => {
  it('can be an array with the chunks of a stream', () => {
    expect(
      fold(
        upstream.decodeReply(
          [chunk([{ text: 'Ah' }]), chunk([{ text: 'oy' }], { finishReason: 'STOP' })],
          own,
        ),
      ),
    ).toMatchObject({ complete: true, candidates: { 0: { text: 'Ahoy' } } });
  });

  it.each([{}, [], null, 'x', { candidates: null }])(
    'is not %j: that is an error of the provider',
    (body) => {
      expect(() => upstream.decodeReply(body, own)).toThrow(/without candidates/);
    },
  );

  it('is complete without a finish reason if it has content, but the chunks of a stream are not', () => {
    expect(fold(upstream.decodeReply(chunk([{ text: 'a' }]), own))).toMatchObject({
      complete: true,
      candidates: { 0: { reason: 'stop' } },
    });
    expect(fold(upstream.decodeReply([chunk([{ text: 'a' }])], own)).complete).toBe(false);
    expect(fold(upstream.decodeReply(chunk([]), own)).complete).toBe(false);
    expect(fold(upstream.decodeReply({ candidates: [] }, own)).complete).toBe(false);
  });
});
