/** Google's streams: what their chunks, calls and usage decode to. */
import { describe, expect, it } from 'vitest';
import type { CanonicalEvent, ClientCall, Usage } from '../../core/index.ts';
import { checkEvents } from '../contract/events.ts';
import { fold, type Folded } from '../contract/replies.ts';
import { readCases } from '../support/cases.ts';
import { makeCall, protocol } from './bodies.ts';

const { upstream } = protocol;
const own = makeCall();

/** A call of another protocol, with tools that its encoder sent to the vendor. */
const foreign: ClientCall = {
  ...own,
  decode: () => ({
    ...own.decode(),
    tools: [
      { type: 'custom', name: 'patch' },
      { type: 'function', name: 'f' },
    ],
  }),
};

function chunk(parts: readonly unknown[], more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
    modelVersion: 'gemini',
    responseId: 'r1',
  };
}

function decode(chunks: readonly unknown[], call: ClientCall = own): CanonicalEvent[] {
  const decoder = upstream.decodeEvents(call);
  const events = [
    ...chunks.flatMap((each) =>
      decoder.push({ event: undefined, data: typeof each === 'string' ? each : JSON.stringify(each) }),
    ),
    ...decoder.end(),
  ];
  checkEvents(events);
  return events;
}

function decodeChunks(chunks: readonly unknown[], call?: ClientCall): Folded {
  return fold(decode(chunks, call));
}

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

describe('a function call', () => {
  it('gets an id if it has none, which differs between replies and not between two readings of one', () => {
    const decodeIds = (responseId: string): unknown[] =>
      decodeChunks([
        {
          ...chunk([{ functionCall: { name: 'f' } }, { functionCall: { name: 'f' } }], {
            finishReason: 'STOP',
          }),
          responseId,
        },
      ]).candidates[0]?.calls.map(({ id }) => id) ?? [];
    expect(decodeIds('r1')).toEqual(decodeIds('r1'));
    expect(new Set([...decodeIds('r1'), ...decodeIds('r2')]).size).toBe(4);
  });

  it("is decoded to the custom tool's text", () => {
    const { calls = [] } =
      decodeChunks(
        [
          chunk(
            [
              { functionCall: { id: '1', name: 'patch', args: { input: '*** Begin' } } },
              { functionCall: { id: '2', name: 'patch', args: { odd: 1 } } },
            ],
            { finishReason: 'STOP' },
          ),
        ],
        foreign,
      ).candidates[0] ?? {};
    expect(calls).toMatchObject([
      { name: 'patch', custom: true, arguments: '*** Begin' },
      { name: 'patch', custom: true, arguments: '{"odd":1}' },
    ]);
    expect(
      decodeChunks([
        chunk([{ functionCall: { name: 'patch', args: { input: 'x' } } }], { finishReason: 'STOP' }),
      ]).candidates[0]?.calls,
    ).toMatchObject([{ custom: false, arguments: '{"input":"x"}' }]);
  });

  it('cannot reach a prototype or exhaust memory with its partial arguments', () => {
    const pieces = [
      { jsonPath: '$.__proto__.polluted', stringValue: 'x' },
      { jsonPath: '$.list[4294967290]', stringValue: 'x' },
      { jsonPath: '$', stringValue: 'x' },
      { jsonPath: 5 },
      null,
      { jsonPath: '$.a' },
      { jsonPath: '$.b[0].c', numberValue: 2 },
    ];
    const { calls = [] } =
      decodeChunks([
        chunk([{ functionCall: { name: 'f', partialArgs: pieces, willContinue: true } }]),
        chunk([{ functionCall: {} }], { finishReason: 'STOP' }),
      ]).candidates[0] ?? {};
    expect(calls[0]?.arguments).toBe('{"__proto__":{"polluted":"x"},"b":[{"c":2}]}');
    expect('polluted' in {}).toBe(false);
  });

  it("keeps Google's signature, and opens an envelope of ours", () => {
    const chunks = [
      chunk([{ functionCall: { name: 'f' }, thoughtSignature: 'AA_-' }], { finishReason: 'STOP' }),
    ];
    const sealed = [{ vendor: 'google', kind: 'signature', value: 'AA/+' }];
    expect(decodeChunks(chunks).candidates[0]?.calls[0]?.sealed).toEqual(sealed);
    expect(
      decode(chunks).find(({ type }) => type === 'block-start'),
      'the seal is on the first event too',
    ).toMatchObject({ kind: 'tool-call', opaque: sealed });
  });
});

it('sealed thoughts are two if they have two seals, whereas text with two seals is one block', () => {
  const decodeKinds = (thought: boolean): string[] =>
    decode([
      chunk([{ text: 'a', thought, thoughtSignature: 'AAAA' }]),
      chunk([{ text: 'b', thought }]),
      chunk([{ text: '', thought, thoughtSignature: 'BBBB' }], { finishReason: 'STOP' }),
    ]).flatMap((event) => (event.type === 'block-start' ? [event.kind] : []));
  expect(decodeKinds(true)).toEqual(['reasoning', 'reasoning']);
  expect(decodeKinds(false)).toEqual(['text']);
});

const cases = readCases<readonly [wire: Record<string, unknown>, usage: Usage][]>(
  'upstream-usage.json',
  import.meta.url,
);

it.each(cases)('usage is decoded from %j', (usageMetadata, usage) => {
  expect(
    decodeChunks([{ ...chunk([{ text: 'x' }], { finishReason: 'STOP' }), usageMetadata }]).usage,
  ).toEqual(usage);
});

it('usage is reported when it changes, and the last report counts', () => {
  const events = decode(
    [1, 1, 2].map((count) => ({
      ...chunk([{ text: 'x' }], count === 2 ? { finishReason: 'STOP' } : {}),
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: count, totalTokenCount: 5 + count },
    })),
  );
  expect(events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []))).toEqual([
    { input: 5, output: 1 },
    { input: 5, output: 2 },
  ]);
});

it('sources of an answer have positions in characters of the answer, whichever part they are in', () => {
  const groundingMetadata = {
    groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }],
    groundingSupports: [
      { segment: { endIndex: 8, text: 'Été – ' }, groundingChunkIndices: [0] },
      { segment: { partIndex: 2, startIndex: 3, endIndex: 5 }, groundingChunkIndices: [0, 7] },
    ],
  };
  const { annotations = [] } =
    decodeChunks([
      chunk([{ text: 'Été – ok.' }, { text: 'hm', thought: true }, { text: '“zz' }], {
        finishReason: 'STOP',
        groundingMetadata,
      }),
    ]).candidates[0] ?? {};
  expect(annotations).toEqual([
    { kind: 'url', url: 'https://a.example', title: 'A', start: 0, end: 5, citedText: 'Été – ' },
    { kind: 'url', url: 'https://a.example', title: 'A', start: 10, end: 12 },
  ]);
});

it('sources of an answer have no position beyond the text that is kept of a very long answer', () => {
  const groundingSupports = [
    [0, 4],
    [150_000, 150_004],
  ].map(([startIndex, endIndex]) => ({
    segment: { startIndex, endIndex, text: 'word' },
    groundingChunkIndices: [0],
  }));
  const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://a.example' } }], groundingSupports };
  const long = Array.from({ length: 40_000 }, () => chunk([{ text: 'word ' }]));
  const cited = { kind: 'url', url: 'https://a.example', title: undefined, citedText: 'word' };
  expect(
    decodeChunks([...long, chunk([{ text: '.' }], { finishReason: 'STOP', groundingMetadata })]).candidates[0]
      ?.annotations,
  ).toEqual([{ ...cited, start: 0, end: 4 }, cited]);
});

it('sources of an answer count each search once', () => {
  const groundChunk = (...webSearchQueries: string[]): object => ({
    ...chunk([{ text: 'ok' }], { groundingMetadata: { webSearchQueries } }),
    usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
  });
  const { usage } = decodeChunks([
    groundChunk('one'),
    groundChunk('one', ''),
    groundChunk('one', 'two'),
    {
      ...chunk([], { finishReason: 'STOP' }),
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2 },
    },
  ]);
  expect(usage).toMatchObject({ input: 5, output: 2, webSearches: 2 });
});

it('sources of an answer count a search that only the parts of the reply tell', () => {
  const search = { toolType: 'GOOGLE_SEARCH_WEB', id: 's', args: { queries: ['one', 'two'] } };
  const map = { toolType: 'GOOGLE_MAPS', id: 'm', args: { queries: ['three'] } };
  const { usage } = decodeChunks([
    chunk([{ toolCall: search }, { toolCall: map }]),
    {
      ...chunk([{ text: 'ok' }], {
        finishReason: 'STOP',
        groundingMetadata: { webSearchQueries: ['two'] },
      }),
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2 },
    },
  ]);
  expect(usage).toMatchObject({ webSearches: 2 });
});

it('sources of an answer apply to the whole answer if they have no passages', () => {
  const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://a.example' } }, { other: {} }] };
  expect(
    decodeChunks([chunk([{ text: 'ok' }], { finishReason: 'STOP', groundingMetadata })]).candidates[0]
      ?.annotations,
  ).toEqual([{ kind: 'url', url: 'https://a.example' }]);
});
