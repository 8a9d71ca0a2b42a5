/**
 * Asserts that work grows no faster than its input, by counted operations: no verdict depends on the machine.
 */
import { expect } from 'vitest';
import { countOperations } from './operations.ts';

/** Runs it once to warm up, then for a size and for twice that size. */
export async function expectLinear(run: (size: number) => unknown, size: number): Promise<void> {
  const counter = countOperations();
  try {
    await run(10);
    const [one, two] = await counter.each([size, 2 * size].map((each) => () => run(each)));
    if (!one || !two) throw new Error('the work was not counted');
    expect(one.blocks + one.scanned).toBeGreaterThan(size);
    for (const kind of ['blocks', 'scanned', 'allocated'] as const)
      expect(two[kind], kind).toBeLessThan(3 * one[kind] + 100_000);
  } finally {
    counter.stop();
  }
}
