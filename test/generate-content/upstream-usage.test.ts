import { describe, expect, it } from 'vitest';
import type { Usage } from '../../core/index.ts';
import { chunk, decode, decodeChunks } from './upstream-events.ts';

describe('usage', () => {
  it.each<[wire: Record<string, unknown>, usage: Usage]>([
    [
      { promptTokenCount: 9, candidatesTokenCount: 4, thoughtsTokenCount: 3, totalTokenCount: 16 },
      { input: 9, output: 7, reasoning: 3 },
    ],
    [
      {
        promptTokenCount: 17,
        toolUsePromptTokenCount: 102,
        candidatesTokenCount: 41,
        thoughtsTokenCount: 412,
        totalTokenCount: 572,
      },
      { input: 119, toolPrompt: 102, output: 453, reasoning: 412 },
    ],
    [
      { promptTokenCount: 14, totalTokenCount: 14 },
      { input: 14, output: 0 },
    ],
    [{ promptTokenCount: 14 }, { input: 14 }],
    [
      { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 20 },
      { input: 10, output: 10 },
    ],
    [
      {
        promptTokenCount: 300,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 100 },
          { modality: 'AUDIO', tokenCount: 200 },
        ],
        cachedContentTokenCount: 180,
        cacheTokensDetails: [
          { modality: 'AUDIO', tokenCount: 150 },
          { modality: 'TEXT', tokenCount: 30 },
        ],
        candidatesTokenCount: 2,
        totalTokenCount: 302,
      },
      { input: 300, cacheRead: 180, cacheReadAudio: 150, inputAudio: 200, output: 2 },
    ],
    [
      {
        promptTokenCount: 3520,
        cachedContentTokenCount: 3512,
        candidatesTokenCount: 2,
        totalTokenCount: 3522,
      },
      { input: 3520, cacheRead: 3512, output: 2 },
    ],
    [
      {
        promptTokenCount: 5,
        candidatesTokenCount: 1290,
        totalTokenCount: 1295,
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 3 }],
      },
      { input: 5, cacheRead: 0, inputAudio: 3, output: 1290, reasoning: 0, outputImage: 1290 },
    ],
    [{ promptTokenCount: -1, candidatesTokenCount: '5', totalTokenCount: 1.5 }, {}],
  ])('is decoded from %j', (usageMetadata, usage) => {
    expect(
      decodeChunks([{ ...chunk([{ text: 'x' }], { finishReason: 'STOP' }), usageMetadata }]).usage,
    ).toEqual(usage);
  });

  it('is reported when it changes, and the last report counts', () => {
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
});

describe('sources of an answer', () => {
  it('have positions in characters of the answer, whichever part they are in', () => {
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

  it('have no position beyond the text that is kept of a very long answer', () => {
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
      decodeChunks([...long, chunk([{ text: '.' }], { finishReason: 'STOP', groundingMetadata })])
        .candidates[0]?.annotations,
    ).toEqual([{ ...cited, start: 0, end: 4 }, cited]);
  });

  it('count each search once', () => {
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

  it('count a search that only the parts of the reply tell', () => {
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

  it('apply to the whole answer if they have no passages', () => {
    const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://a.example' } }, { other: {} }] };
    expect(
      decodeChunks([chunk([{ text: 'ok' }], { finishReason: 'STOP', groundingMetadata })]).candidates[0]
        ?.annotations,
    ).toEqual([{ kind: 'url', url: 'https://a.example' }]);
  });
});
