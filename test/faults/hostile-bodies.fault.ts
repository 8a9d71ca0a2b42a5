/**
 * Twenty thousand malicious bodies, and fifty thousand changed streams of each wire: the long forms of
 * `test/hostile`.
 */
import { expect, it } from 'vitest';
import '../hostile/streams.test.ts';
import { openHostileHarness, sendHostile } from '../hostile/inputs.ts';

it('twenty thousand hostile bodies crash nothing, and each is answered in its protocol', async () => {
  const harness = await openHostileHarness();
  await sendHostile(harness, 20_000);
  expect(
    harness.gateway.log.filter((line) => line.includes('"level":50') || line.includes('"level":60')),
  ).toEqual([]);
  expect(
    harness.gateway.ends.filter((end) => end.type !== 'replayed' && end.error?.code === 'internal'),
  ).toEqual([]);
  expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
  await harness.close();
});
