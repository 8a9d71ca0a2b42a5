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
    const one = await counter.of(() => run(size));
    const two = await counter.of(() => run(2 * size));
    expect(one.blocks + one.scanned).toBeGreaterThan(size);
    for (const kind of ['blocks', 'scanned', 'allocated'] as const)
      expect(two[kind], kind).toBeLessThan(3 * one[kind] + 100_000);
  } finally {
    counter.stop();
  }
}
