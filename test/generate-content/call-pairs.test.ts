import { describe, expect, it } from 'vitest';
import { Calls } from '../../plugins/protocols/generate-content/call-pairs.ts';
import { expectLinear } from '../support/linear.ts';

describe('calls and results', () => {
  it('are paired by id, then with calls that had none by name, and in order', () => {
    const calls = new Calls();
    calls.called('a', 'one', 0);
    const made = calls.called('a', undefined, 0);
    calls.called('a', 'two', 0);
    expect(calls.answered('b', 'two')).toBe('two');
    expect(calls.answered('a', 'unknown')).toBe(made);
    expect(calls.answered('a', 'other')).toBe('other');
    expect(calls.answered('a', undefined)).toBe('one');
  });

  it('are paired in linear time where there are many', async () => {
    await expectLinear((count) => {
      const calls = new Calls();
      const ids = Array.from({ length: count }, (_, place) => calls.called('a', `id ${place}`, 0));
      for (const id of ids) calls.answered('b', `not ${id}`);
      const backwards = ids.toReversed().map((id) => calls.answered('a', id) === id);
      expect(backwards.every(Boolean)).toBe(true);
    }, 2000);
  });
});
