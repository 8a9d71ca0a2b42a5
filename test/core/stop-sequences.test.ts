/** A reply with stop sequences ends before the first complete one, however its text was cut. */
import fc from 'fast-check';
import '../support/seed.ts';
import { expect, it } from 'vitest';
import { applyStopSequences } from '../../core/crossing/emulations.ts';
import type { CanonicalEvent } from '../../core/index.ts';

const usage: CanonicalEvent = { type: 'usage', usage: { input: 3, output: 9 } };
const end: CanonicalEvent = { type: 'response-end' };
const finish = (candidate: number): CanonicalEvent => ({
  type: 'finish',
  candidate,
  reason: { unified: 'stop', raw: 'completed' },
});
const start = (
  block: number,
  kind: 'text' | 'reasoning' | 'tool-call' = 'text',
  candidate = 0,
): CanonicalEvent => ({ type: 'block-start', candidate, block, kind });
const close = (block: number, candidate = 0): CanonicalEvent => ({ type: 'block-end', candidate, block });
const say = (block: number, text: string, candidate = 0): CanonicalEvent => ({
  type: 'block-delta',
  candidate,
  block,
  text,
});

async function applySequences(
  events: readonly CanonicalEvent[],
  ...sequences: string[]
): Promise<CanonicalEvent[]> {
  const batches = (async function* () {
    for (const event of events) yield [event];
  })();
  return (await Array.fromAsync(applyStopSequences(batches, sequences))).flat();
}

const joinText = (events: readonly CanonicalEvent[], candidate = 0): string =>
  events
    .map((event) => (event.type === 'block-delta' && event.candidate === candidate ? event.text : ''))
    .join('');
const findFinish = (events: readonly CanonicalEvent[]): unknown =>
  events.find(({ type }) => type === 'finish');

it('a stop sequence ends a reply before it, is named, and leaves the reported usage', async () => {
  const events = await applySequences(
    [
      { type: 'response-start' },
      start(0),
      say(0, 'one EN'),
      say(0, 'D two'),
      close(0),
      finish(0),
      usage,
      end,
    ],
    'END',
  );
  expect(events).toEqual([
    { type: 'response-start' },
    start(0),
    say(0, 'one '),
    close(0),
    {
      type: 'finish',
      candidate: 0,
      reason: { unified: 'stop-sequence', raw: 'stop_sequence' },
      stopSequence: 'END',
    },
    usage,
    end,
  ]);
});

it('a stop sequence changes no reply without it, even if that ends like its beginning', async () => {
  const events = await applySequences(
    [start(0), say(0, 'one EN'), close(0), start(1), say(1, 'D'), close(1), finish(0), end],
    'END',
  );
  expect([joinText(events), findFinish(events)]).toEqual(['one END', finish(0)]);
});

it('a stop sequence drops everything after the sequence: text, calls, and their annotations', async () => {
  const events = await applySequences(
    [start(0), say(0, 'a STOP b'), close(0), start(1, 'tool-call'), say(1, '{}'), close(1), finish(0), end],
    'STOP',
  );
  expect(events.map(({ type }) => type)).toEqual([
    'block-start',
    'block-delta',
    'block-end',
    'finish',
    'response-end',
  ]);
});

it('a stop sequence in reasoning or tool arguments is ignored', async () => {
  const events = await applySequences(
    [
      start(0, 'reasoning'),
      say(0, 'x STOP'),
      close(0),
      start(1, 'tool-call'),
      say(1, '{"a":"STOP"}'),
      close(1),
      finish(0),
      end,
    ],
    'STOP',
  );
  expect([joinText(events), findFinish(events)]).toEqual(['x STOP{"a":"STOP"}', finish(0)]);
});

it('a stop sequence ends each candidate separately', async () => {
  const events = await applySequences(
    [
      start(0),
      start(1, 'text', 1),
      say(0, 'a.'),
      say(1, 'b!', 1),
      say(0, 'c'),
      say(1, 'd', 1),
      close(0),
      close(1, 1),
      finish(0),
      finish(1),
      end,
    ],
    '.',
  );
  expect([joinText(events, 0), joinText(events, 1)]).toEqual(['a', 'b!d']);
  expect(
    events
      .filter(({ type }) => type === 'finish')
      .map((event) => event.type === 'finish' && event.reason.unified),
  ).toEqual(['stop-sequence', 'stop']);
});

it('a stop sequence leaves the same text however the stream is cut', async () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '🌊'), minLength: 0, maxLength: 30 });
  const sequences = fc.array(
    fc.string({ unit: fc.constantFrom('a', 'b', '🌊'), minLength: 1, maxLength: 4 }),
    { minLength: 1, maxLength: 3 },
  );
  await fc.assert(
    fc.asyncProperty(
      letters,
      sequences,
      fc.array(fc.nat(31), { maxLength: 6 }),
      async (text, stops, cuts) => {
        const places = [
          0,
          ...cuts.map((cut) => Math.min(cut, text.length)).toSorted((one, other) => one - other),
          text.length,
        ];
        const pieces = places.slice(1).map((place, index) => say(0, text.slice(places[index], place)));
        const whole = await applySequences([start(0), say(0, text), close(0), finish(0), end], ...stops);
        const cut = await applySequences([start(0), ...pieces, close(0), finish(0), end], ...stops);
        expect([joinText(cut), findFinish(cut)]).toEqual([joinText(whole), findFinish(whole)]);
        expect(stops.some((stop) => joinText(whole).includes(stop))).toBe(false);
        expect(text.startsWith(joinText(whole))).toBe(true);
      },
    ),
  );
});
