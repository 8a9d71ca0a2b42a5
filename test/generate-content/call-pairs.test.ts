import { expect, it } from 'vitest';
import { CallPairs } from '../../plugins/protocols/generate-content/content.ts';
import { expectLinear } from '../support/linear.ts';

it('CallPairs pairs results with calls by id, then by name and in order with calls that had no id', () => {
  const calls = new CallPairs();
  calls.addCall('a', 'one', 0);
  const made = calls.addCall('a', undefined, 0);
  calls.addCall('a', 'two', 0);
  expect(calls.matchResult('b', 'two')).toBe('two');
  expect(calls.matchResult('a', 'unknown')).toBe(made);
  expect(calls.matchResult('a', 'other')).toBe('other');
  expect(calls.matchResult('a', undefined)).toBe('one');
});

it('CallPairs pairs many results with their calls in linear time', async () => {
  await expectLinear((count) => {
    const calls = new CallPairs();
    const ids = Array.from({ length: count }, (_, place) => calls.addCall('a', `id ${place}`, 0));
    for (const id of ids) calls.matchResult('b', `not ${id}`);
    const backwards = ids.toReversed().map((id) => calls.matchResult('a', id) === id);
    expect(backwards.every(Boolean)).toBe(true);
  }, 2000);
});
