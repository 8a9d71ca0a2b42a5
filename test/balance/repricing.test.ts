/** Prices that change while calls run; `npm run faults` has them change for a minute. */
import { expect, it } from 'vitest';
import { runRepricing } from './repricing.ts';

it('a call is charged at the price it was reserved at, even if prices change while it runs', async () => {
  const options = { changes: 4, every: 50, readings: 1, lanes: 8, call: 200 };
  const { versions, overtaken } = await runRepricing(options);
  expect(versions).toBe(5);
  expect(overtaken).toBeGreaterThan(0);
});
