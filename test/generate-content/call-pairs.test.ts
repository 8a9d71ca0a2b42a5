import { describe, expect, it } from 'vitest';
import { CallPairs } from '../../plugins/protocols/generate-content/call-pairs.ts';
import { expectLinear } from '../support/linear.ts';

describe('calls and results', () => {
  it('are paired by id, then with calls that had none by name, and in order', () => {
    const calls = new CallPairs();
    calls.addCall('a', 'one', 0);
    const made = calls.addCall('a', undefined, 0);
    calls.addCall('a', 'two', 0);
    expect(calls.matchResult('b', 'two')).toBe('two');
    expect(calls.matchResult('a', 'unknown')).toBe(made);
    expect(calls.matchResult('a', 'other')).toBe('other');
    expect(calls.matchResult('a', undefined)).toBe('one');
  });

  it('are paired in linear time where there are many', async () => {
    await expectLinear((count) => {
      const calls = new CallPairs();
      const ids = Array.from({ length: count }, (_, place) => calls.addCall('a', `id ${place}`, 0));
      for (const id of ids) calls.matchResult('b', `not ${id}`);
      const backwards = ids.toReversed().map((id) => calls.matchResult('a', id) === id);
      expect(backwards.every(Boolean)).toBe(true);
    }, 2000);
  });
});
