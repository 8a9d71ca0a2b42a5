/**
 * Work grows no faster than the input. Shapes are drawn from the golden cases, with any list, object, text or
 * event of them repeated, and crossed at three sizes: twice the size may cost about twice as much. The test
 * counts operations, not time.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunk } from '../support/chat-stream.ts';
import { crossAnswer, crossRequest, sides } from '../support/crossing.ts';
import { listGolden, readGolden, readGoldenStream } from '../support/golden.ts';
import { growAt, growStream, findPlaces, findStreamPlaces, type Place } from '../support/growth.ts';
import { countOperations, type OperationCounter, type Operations } from '../support/operations.ts';
import { known, makeMany } from './growth-requests.ts';

const runs = Number(process.env.GROWTH ?? 2);
const smallest = 100;
let counter: OperationCounter;
beforeAll(() => {
  counter = countOperations();
});
afterAll(() => counter.stop());

/**
 * What the larger of two sizes may cost compared with the smaller, which is half as long. Quadratic work
 * costs four times as much.
 */
const most = 2.6;

/**
 * The same for bytes as a whole, since they come in lumps: an object of many fields is rebuilt now and then
 * as it grows.
 */
const mostAllocated = 3;

/** Below this a step is too small to judge. */
const least: Operations = { blocks: 10_000, scanned: 50_000, allocated: 8_000_000 };

function findFastGrowth([first, second, third]: readonly Operations[]): string[] {
  if (!first || !second || !third) return ['it was not measured'];
  return (['blocks', 'scanned', 'allocated'] as const).flatMap((kind) => {
    const [step, next] = [second[kind] - first[kind], third[kind] - second[kind]];
    const grows = kind === 'allocated' ? third[kind] > second[kind] * mostAllocated : next > step * most;
    return next > least[kind] && grows ? [`${kind}: ${next} after ${step}`] : [];
  });
}

type Prepare = (size: number) => () => unknown;

async function measureGrowth(size: number, prepare: Prepare): Promise<string[]> {
  return findFastGrowth(await counter.each([1, 2, 4].map((times) => prepare(size * times))));
}

/**
 * Returns what grows too fast when `prepare` builds a shape of a size and the result crosses. It checks a
 * finding again, at larger sizes and several times: a single jump, as where a reply is long enough to be
 * weighed or where V8 compiles, does not repeat.
 */
async function findGrowth(prepare: Prepare): Promise<string[]> {
  // Once without counting, since compilation and caches do not count.
  await prepare(3)();
  let grown: string[] = [];
  for (const size of [smallest, smallest * 6, smallest * 6, smallest * 6]) {
    grown = await measureGrowth(size, prepare);
    if (grown.length === 0) return [];
  }
  return grown;
}

const listNumbers = (size: number): number[] => Array.from({ length: size }, (_, index) => index);
it.each<[string, Prepare]>([
  [
    'a search of all items for each',
    (size) => () => listNumbers(size * 4).filter((each, _, all) => all.includes(-each - 1)),
  ],
  [
    'a copy of all items for each',
    (size) => () => listNumbers(size).reduce<number[]>((all, each) => [...all, each], []),
  ],
  [
    'a text parsed again with each piece',
    (size) => () =>
      listNumbers(size * 2).reduce(
        (text, each) => (JSON.stringify(JSON.parse(text)), `${text.slice(0, -1)},${each}]`),
        '[0]',
      ),
  ],
  [
    'an object copied with each field',
    (size) => () =>
      listNumbers(4).map(() =>
        listNumbers(size / 2).reduce<object>((all, each) => ({ ...all, [`f${each}`]: each }), {}),
      ),
  ],
])('the counter sees quadratic work: %s', async (_, prepare) => {
  expect(await measureGrowth(smallest, prepare)).not.toEqual([]);
});

it('the counter accepts linear work', async () => {
  expect(
    await findGrowth(
      (size) => () =>
        listNumbers(size * 100)
          .map(String)
          .join(','),
    ),
  ).toEqual([]);
});

const side = fc.constantFrom(...sides);

describe.each(sides)('%s', (own) => {
  const findIn = (file: string): { name: string; body: unknown; place: Place }[] =>
    listGolden(own, file).flatMap((name) => {
      const body: unknown = JSON.parse(readGolden(own, name, file));
      return [...findPlaces(body)].map((place) => ({ name, body, place }));
    });
  const requests = findIn('request.json');
  const replies = findIn('reply.json');
  const streams = listGolden(own, 'reply.sse').flatMap((name) => {
    const events = readGoldenStream(own, name);
    return [...findStreamPlaces(events)].map((place) => ({ name, events, place }));
  });

  it('makes requests cost no more for each part the more parts there are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...requests), side, async ({ body, place }, vendor) => {
        expect(
          await findGrowth((size) => {
            const grown = Buffer.from(JSON.stringify(growAt(body, place, size)));
            return () => crossRequest(own, vendor, grown);
          }),
        ).toEqual([]);
      }),
      { numRuns: runs, endOnFailure: true },
    );
  });

  it('makes whole replies cost no more for each part the more parts there are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...replies), side, async ({ body, place }, client) => {
        expect(
          await findGrowth((size) => {
            const text = JSON.stringify(growAt(body, place, size));
            return () => crossAnswer({ client, vendor: own, streamed: false, text });
          }),
        ).toEqual([]);
      }),
      { numRuns: runs, endOnFailure: true },
    );
  });

  it('makes streams cost no more for each event the more events there are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...streams), side, async ({ events, place }, client) => {
        expect(
          await findGrowth((size) => {
            const text = growStream(events, place, size);
            return () => crossAnswer({ client, vendor: own, streamed: true, text });
          }),
        ).toEqual([]);
      }),
      { numRuns: runs, endOnFailure: true },
    );
  });
});

describe.each(sides)('a request for %s', (vendor) => {
  it.each(known)('of %s with many %s is written in linear time', async (client, _, shape) => {
    expect(
      await findGrowth((size) => {
        const body = Buffer.from(JSON.stringify(shape(size)));
        return () => crossRequest(client, vendor, body);
      }),
    ).toEqual([]);
  });
});

function writeChunks(size: number, delta: (index: number) => object): string {
  const chunks = makeMany(size, (index) => chunk(delta(index)));
  return `${chunks.join('')}${chunk({}, 'tool_calls')}data: [DONE]\n\n`;
}

describe.each(sides.filter((each) => each !== 'images'))('a stream of chat-completions for %s', (client) => {
  const piece = (text: string, fields: object = {}): object => ({
    tool_calls: [
      { index: 0, ...fields, function: { ...('id' in fields ? { name: 'f' } : {}), arguments: text } },
    ],
  });
  it.each<[string, (size: number) => string]>([
    [
      'arguments in small pieces',
      (size) => writeChunks(size * 10, (index) => (index === 0 ? piece('{"a":"', { id: 'c' }) : piece('xy'))),
    ],
    [
      'arguments whose every piece has the name',
      (size) =>
        writeChunks(size * 10, (index) => ({
          tool_calls: [{ index: 0, function: { name: 'f', arguments: index === 0 ? '{"a":"' : 'xy' } }],
        })),
    ],
    [
      'calls that run side by side',
      (size) =>
        writeChunks(size * 5, (index) => ({
          tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } }],
        })),
    ],
    [
      'thoughts and text in turn',
      (size) => writeChunks(size * 5, (index) => (index % 2 ? { content: 'a' } : { reasoning_content: 'b' })),
    ],
  ])('with %s is read in linear time', async (_, make) => {
    expect(
      await findGrowth((size) => {
        const text = make(size);
        return () => crossAnswer({ client, vendor: 'chat-completions', streamed: true, text });
      }),
    ).toEqual([]);
  });
});
