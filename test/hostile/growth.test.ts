/**
 * Work grows no faster than the input. Shapes are drawn from the golden cases, with any list, object, text or
 * event of them repeated, and crossed at three sizes: twice the size may cost about twice as much. The test
 * counts operations, not time.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WireEvent } from '../../core/index.ts';
import { chunk } from '../support/chat-stream.ts';
import { type Side, crossAnswer, crossRequest, sides } from '../support/crossing.ts';
import { listGolden, readGolden, readGoldenStream } from '../support/golden.ts';
import { isObject } from '../support/json.ts';
import { countOperations, type OperationCounter, type Operations } from '../support/operations.ts';

type Path = readonly (string | number)[];

/**
 * How a place grows: a list by the same items again, or by items with their own names, an object by unknown
 * fields, a text by itself.
 */
type Manner = 'same' | 'distinct' | 'fields' | 'text';

interface Place {
  readonly path: Path;
  readonly manner: Manner;
}

/** Every place of a value that can grow. */
function* findPlaces(value: unknown, path: Path = []): Generator<Place> {
  if (typeof value === 'string') yield { path, manner: 'text' };
  if (Array.isArray(value)) {
    if (value.length > 0)
      yield* [
        { path, manner: 'same' },
        { path, manner: 'distinct' },
      ] as const;
    for (const [index, item] of value.entries()) yield* findPlaces(item, [...path, index]);
  } else if (isObject(value)) {
    yield { path, manner: 'fields' };
    for (const [name, member] of Object.entries(value)) yield* findPlaces(member, [...path, name]);
  }
}

const names = /^(.*_)?(id|name|Id)$|uri|url|title/;
const numbers = /index$|^sequence_number$/i;

/** The same with other names and numbers, equal for equal `times`. */
function renameValue(value: unknown, times: number, field = ''): unknown {
  if (typeof value === 'string') return names.test(field) ? `${value}_${times}` : value;
  if (typeof value === 'number') return numbers.test(field) ? value + times : value;
  if (Array.isArray(value)) return value.map((item) => renameValue(item, times, field));
  return isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, member]) => [name, renameValue(member, times, name)]),
      )
    : value;
}

function repeatItems(items: readonly unknown[], manner: Manner, size: number): unknown[] {
  return Array.from({ length: size * items.length }, (_, index) => {
    const item = items[index % items.length];
    return manner === 'distinct' ? renameValue(item, Math.floor(index / items.length)) : item;
  });
}

function growValue(value: unknown, manner: Manner, size: number): unknown {
  if (Array.isArray(value)) return repeatItems(value, manner, size);
  if (typeof value === 'string') return value.padEnd(20, '-').repeat(size);
  return isObject(value)
    ? { ...value, ...Object.fromEntries(Array.from({ length: size }, (_, index) => [`x_${index}`, index])) }
    : value;
}

/** The value, made so many times as large at one place. */
function growAt(value: unknown, { path, manner }: Place, size: number): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return growValue(value, manner, size);
  if (Array.isArray(value))
    return value.map((item, index) => (index === first ? growAt(item, { path: rest, manner }, size) : item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === first ? growAt(member, { path: rest, manner }, size) : member,
    ]),
  );
}

/** A part of a stream that is repeated, or an event that grows at one place. */
type StreamPlace =
  | { readonly from: number; readonly to: number; readonly manner: 'same' | 'distinct' }
  | { readonly event: number; readonly place: Place };

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** Every place of a stream that can grow: any event, any few in sequence, and any place in one. */
function* findStreamPlaces(events: readonly WireEvent[]): Generator<StreamPlace> {
  for (const [from, { data }] of events.entries()) {
    for (const length of [1, 2, 3, 6]) {
      if (from + length > events.length) continue;
      for (const manner of ['same', 'distinct'] as const) yield { from, to: from + length, manner };
    }
    for (const place of findPlaces(parseJson(data))) yield { event: from, place };
  }
}

function growStream(events: readonly WireEvent[], place: StreamPlace, size: number): string {
  const joinFrames = (each: readonly WireEvent[]): string =>
    each
      .map(({ event, data }) => `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`)
      .join('');
  if ('event' in place) {
    return joinFrames(
      events.map((each, index) =>
        index === place.event
          ? { ...each, data: JSON.stringify(growAt(parseJson(each.data), place.place, size)) }
          : each,
      ),
    );
  }
  const part = events.slice(place.from, place.to);
  const again = Array.from({ length: size }, (_, times) =>
    place.manner === 'same'
      ? part
      : part.map(({ event, data }) => ({
          event,
          data: data.startsWith('{') ? JSON.stringify(renameValue(parseJson(data), times)) : data,
        })),
  );
  return joinFrames([...events.slice(0, place.from), ...again.flat(), ...events.slice(place.to)]);
}

type Shape = (size: number) => object;

function makeMany(size: number, make: (index: number) => unknown): unknown[] {
  return Array.from({ length: size }, (_, index) => make(index));
}

const user = { role: 'user', content: 'Ahoy' };
const chatCall = (id: string): object => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });

/** Shapes that were slow once. */
const known: readonly [Side, string, Shape][] = [
  [
    'chat-completions',
    'short turns',
    (size) => ({
      model: 'a/b',
      messages: makeMany(size * 10, (index) => ({ role: index % 2 ? 'assistant' : 'user', content: 'a' })),
    }),
  ],
  [
    'chat-completions',
    'calls without results',
    (size) => ({
      model: 'a/b',
      messages: [
        user,
        {
          role: 'assistant',
          content: null,
          tool_calls: makeMany(size * 5, (index) => chatCall(`c${index}`)),
        },
        user,
      ],
    }),
  ],
  [
    'chat-completions',
    'calls of one id',
    (size) => ({
      model: 'a/b',
      messages: makeMany(size * 5, () => ({ role: 'assistant', content: null, tool_calls: [chatCall('c')] })),
    }),
  ],
  [
    'chat-completions',
    'results without calls',
    (size) => ({
      model: 'a/b',
      messages: [
        user,
        ...makeMany(size * 5, (index) => ({ role: 'tool', tool_call_id: `c${index}`, content: 'a' })),
      ],
    }),
  ],
  [
    'chat-completions',
    'stop sequences',
    (size) => ({ model: 'a/b', messages: [user], stop: makeMany(size, String) }),
  ],
  [
    'messages',
    'unknown fields',
    (size) => ({
      model: 'a/b',
      max_tokens: 9,
      messages: makeMany(size * 5, () => ({ ...user, x: 1, y: 2 })),
    }),
  ],
  [
    'responses',
    'outputs without calls',
    (size) => ({
      model: 'a/b',
      input: makeMany(size * 5, (index) => ({
        type: 'function_call_output',
        call_id: `c${index}`,
        output: 'a',
      })),
    }),
  ],
  [
    'responses',
    'tools',
    (size) => ({
      model: 'a/b',
      input: 'a',
      tools: makeMany(size * 5, (index) => ({
        type: 'function',
        name: `f ${index}`,
        parameters: null,
        strict: false,
      })),
    }),
  ],
  [
    'generate-content',
    'calls without ids',
    (size) => ({
      contents: makeMany(size * 5, (index) =>
        index % 2
          ? { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] }
          : { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      ),
    }),
  ],
  [
    'generate-content',
    'calls before results',
    (size) => ({
      contents: ['functionCall', 'functionResponse'].map((kind, index) => ({
        role: index === 0 ? 'model' : 'user',
        parts: makeMany(size * 5, () => ({
          [kind]: { name: 'f', ...(index === 0 ? { args: {} } : { response: {} }) },
        })),
      })),
    }),
  ],
  [
    'chat-completions',
    'results of one id',
    (size) => ({
      model: 'a/b',
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: makeMany(size * 5, () => chatCall('c')) },
        ...makeMany(size * 5, () => ({ role: 'tool', tool_call_id: 'c', content: 'a' })),
      ],
    }),
  ],
  [
    'generate-content',
    'fields in snake_case',
    (size) => ({
      contents: [
        { parts: makeMany(size * 5, () => ({ inline_data: { mime_type: 'image/png', data: 'AAAA' } })) },
      ],
    }),
  ],
];

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
