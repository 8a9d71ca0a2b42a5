import { expect, it } from 'vitest';
import type { Usage } from '../../core/index.ts';
import { readCases } from '../support/cases.ts';
import { chunk, decode, decodeChunks } from './upstream-events.ts';

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
