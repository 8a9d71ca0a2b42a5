import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { writeFrame, SseReader } from '../../core/crossing/sse.ts';
import { expectLinear } from '../support/linear.ts';

const streams: Record<string, string> = {
  'line feeds':
    'data: {"a":"é€😀"}\n\n: a comment\n\ndata: two\ndata: lines\n\n' +
    'event: ping\ndata: {}\n\ndata: [DONE]\n\n',
  'a name before its data, and lines of another order':
    'event: a\ndata: 1\n\ndata: 2\nevent: b\n\nevent: \ndata: 3\n\nid: 4\ndata:4\n\n',
  'both kinds of line ends': 'data: 1\n\ndata: 2\r\n\r\ndata: 3\n\n',
  'carriage returns and line feeds': 'data: {"a":1}\r\n\r\ndata: {"b":2}\r\n\r\n',
  'carriage returns alone': 'data: {"a":1}\r\rdata: {"b":2}\r\r',
};

function readIn(stream: string, cuts: readonly number[]): { raw: string; events: unknown[] } {
  const bytes = Buffer.from(stream);
  const reader = new SseReader();
  const edges = [0, ...cuts, bytes.length];
  const blocks = edges.slice(1).flatMap((to, index) => reader.push(bytes.subarray(edges[index], to)));
  const all = [...blocks, ...reader.end()];
  return { raw: all.map(({ raw }) => raw).join(''), events: all.flatMap(({ event }) => event ?? []) };
}

it.each(Object.entries(streams))(
  'SseReader returns the same events wherever a stream of %s is cut',
  (_, stream) => {
    const whole = readIn(stream, []);
    expect(whole.raw).toBe(stream);
    for (let at = 1; at < Buffer.byteLength(stream); at += 1) {
      expect(readIn(stream, [at]).events, `cut at ${at}`).toEqual(whole.events);
      expect(readIn(stream, [at]).raw).toBe(stream);
    }
  },
);

it('SseReader returns the same events for any number of cuts', () => {
  const [stream = ''] = Object.values(streams);
  const whole = readIn(stream, []);
  fc.assert(
    fc.property(fc.array(fc.nat(Buffer.byteLength(stream)), { maxLength: 40 }), (cuts) => {
      expect(
        readIn(
          stream,
          cuts.toSorted((first, second) => first - second),
        ).events,
      ).toEqual(whole.events);
    }),
  );
});

it('SseReader reads names, joined data lines and comments as the standard defines them', () => {
  expect(readIn(streams['line feeds'] ?? '', []).events).toEqual([
    { event: undefined, data: '{"a":"é€😀"}' },
    { event: undefined, data: 'two\nlines' },
    { event: 'ping', data: '{}' },
    { event: undefined, data: '[DONE]' },
  ]);
});

it('SseReader reads a name after its data, an empty name, and unused fields', () => {
  expect(readIn(streams['a name before its data, and lines of another order'] ?? '', []).events).toEqual([
    { event: 'a', data: '1' },
    { event: 'b', data: '2' },
    { event: undefined, data: '3' },
    { event: undefined, data: '4' },
  ]);
});

it('SseReader returns a last event without its blank line', () => {
  expect(readIn('data: a\n\ndata: b', [])).toEqual({
    raw: 'data: a\n\ndata: b\n\n',
    events: [
      { event: undefined, data: 'a' },
      { event: undefined, data: 'b' },
    ],
  });
});

it('SseReader drops an event without data, which clients fail to parse, and keeps comments', () => {
  expect(readIn(': a\n\nevent: ping\n\ndata:\n\nretry: 5\n\ndata: b\n\n: c\r\n\r\n', [])).toEqual({
    raw: ': a\n\ndata: b\n\n: c\r\n\r\n',
    events: [{ event: undefined, data: 'b' }],
  });
});

it('SseReader does not scan a long event again with each small chunk', async () => {
  const piece = Buffer.alloc(4096, 'a');
  await expectLinear((pieces) => {
    const reader = new SseReader();
    reader.push(Buffer.from('data: '));
    for (let sent = 0; sent < pieces; sent += 1) reader.push(piece);
    const [block] = reader.push(Buffer.from('\n\n'));
    expect(block?.event?.data.length).toBe(pieces * piece.length);
  }, 1000);
});

it('SseReader throws on an endless line', () => {
  const reader = new SseReader();
  const piece = Buffer.alloc(8 * 1024 * 1024, 'a');
  expect(() => {
    for (let index = 0; index < 10; index += 1) reader.push(piece);
  }).toThrow('longer than the gateway accepts');
});

const files = globSync(join(import.meta.dirname, '../golden/*/*/reply.sse')).map((file) =>
  readFileSync(file, 'utf8'),
);
const endings: readonly (readonly [string, (text: string) => string])[] = [
  ['LF', (text) => text],
  ['CR and LF', (text) => text.replaceAll('\n', '\r\n')],
  ['CR', (text) => text.replaceAll('\n', '\r')],
  [
    'all of them by turns',
    (text) => text.split('\n').reduce((all, line, place) => all + ['\n', '\r', '\r\n'][place % 3] + line),
  ],
];

it.each(endings)(
  'SseReader reads a stream with %s line ends and a byte order mark alike, whole and byte by byte',
  (_, end) => {
    expect(files.length).toBeGreaterThan(20);
    for (const file of files) {
      const plain = file.replaceAll('\r\n', '\n');
      const { events } = readIn(plain, []);
      expect(events.length).toBeGreaterThan(0);
      for (const stream of [end(plain), `\ufeff${end(plain)}`]) {
        expect(
          readIn(
            stream,
            Array.from({ length: Buffer.byteLength(stream) }, (_each, at) => at),
          ).events,
        ).toEqual(events);
        // Each line of a file is like many others: about a hundred places are as good as all.
        const step = Math.ceil(Buffer.byteLength(stream) / 100) | 1;
        for (let at = 1; at < Buffer.byteLength(stream); at += step)
          expect(readIn(stream, [at]).events.length).toBe(events.length);
      }
    }
  },
);

it('the encoder of frames writes frames that read back unchanged', () => {
  expect(readIn(writeFrame('{"a":1}', 'message_start') + writeFrame('x'), []).events).toEqual([
    { event: 'message_start', data: '{"a":1}' },
    { event: undefined, data: 'x' },
  ]);
});
