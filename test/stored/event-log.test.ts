/** The log of a streamed response in the background: bounded, and read at any pace. */
import { expect, it } from 'vitest';
import { EventLog } from '../../plugins/protocols/responses/event-log.ts';

function makeEvent(number: number, delta = 'x'): string {
  return JSON.stringify({ type: 'response.output_text.delta', sequence_number: number, delta });
}

async function listNumbers(log: EventLog, after = -1): Promise<unknown[]> {
  const frames = await Array.fromAsync(log.follow(after));
  return frames.map((frame) => /"sequence_number":(\d+)/.exec(frame)?.[1] ?? frame.trim());
}

it('a reader gets the events so far, then those to come, and the mark at the end', async () => {
  const log = new EventLog({ left: 10_000 });
  log.add(makeEvent(0));
  log.add(makeEvent(1));
  const [all, some] = [listNumbers(log), listNumbers(log, 0)];
  await Promise.resolve();
  log.add(makeEvent(2));
  log.end();
  expect([await all, await some]).toEqual([
    ['0', '1', '2', 'data: [DONE]'],
    ['1', '2', 'data: [DONE]'],
  ]);
});

it('a log that finds no room ends, and gives back what it had', async () => {
  const room = { left: 1000 };
  const log = new EventLog(room);
  log.add(makeEvent(0));
  expect(room.left).toBeLessThan(1000);
  log.add(makeEvent(1, 'x'.repeat(1000)));
  log.add(makeEvent(2));
  expect(await listNumbers(log)).toEqual(['0', 'data: [DONE]']);
  log.forget();
  expect([room.left, await listNumbers(log)]).toEqual([1000, ['data: [DONE]']]);
});

it('a log holds at most 8 MB of one response', async () => {
  const log = new EventLog({ left: Infinity });
  for (let number = 0; number < 9; number += 1) log.add(makeEvent(number, 'x'.repeat(1024 * 1024 - 200)));
  expect(await listNumbers(log)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', 'data: [DONE]']);
});
