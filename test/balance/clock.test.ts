/**
 * A clock that jumps by an hour and a year, back and forth, during running calls; `npm run faults` takes
 * longer over it.
 */
import { expect, it } from 'vitest';
import { runClock } from './clock.ts';

it('a clock jump expires no process and no reservation, and each process settles its own calls', async () => {
  const { streams, whole, ids, strange, due, used, audit } = await runClock({ milliseconds: 600, lease: 1 });
  expect({ streams, whole, ids }).toEqual({ streams: 28, whole: 28, ids: 28 });
  expect(strange).toEqual([]);
  expect(used).toBeCloseTo(due, 9);
  expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
});
