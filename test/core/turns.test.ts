/** Turns of the event loop: long texts of several requests are read one in a turn. */
import { setImmediate as giveWay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { takeTurn } from '../../core/util/turns.ts';

const long = 2 * 1024 * 1024;

it('no two long texts are read in one turn of the event loop, in whatever turns they arrive', async () => {
  let turn = 0;
  const readIn: number[] = [];
  const read = async (length: number): Promise<void> => {
    await takeTurn(length);
    readIn.push(turn);
  };
  const reading = [read(long), read(long), read(long)];
  for (; readIn.length < 5; turn += 1) {
    await giveWay();
    if (turn === 1) reading.push(read(long), read(long));
  }
  await Promise.all(reading);
  expect(new Set(readIn).size).toBe(5);
});

it('a short text waits for no turn', () => {
  expect(takeTurn(1000)).toBeUndefined();
});
