import { expect, it } from 'vitest';
import { expectLinear } from './linear.ts';

const makeNumbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

it('the check accepts work that grows in proportion to its input', async () => {
  await expectLinear((count) => new Set(makeNumbers(count).concat(makeNumbers(count))).size, 2000);
});

it('the check rejects work that grows with the square of its input', async () => {
  await expect(
    expectLinear((count) => makeNumbers(count).filter((_, index, all) => !all.includes(-index - 1)), 2000),
  ).rejects.toThrow('scanned');
});
