import { describe, expect, it } from 'vitest';
import { checkConfig } from '../../core/config.ts';
import { computeBodiesLimit } from '../../core/http/bodies.ts';
import { computeRepliesLimit, ReplyBudget, ReplyMemory } from '../../core/upstream/reply-memory.ts';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;

describe('the default limit of all bodies', () => {
  it.each([
    [1, GiB, 128],
    [1, 2 * GiB, 256],
    [1, 64 * GiB, 512],
    [4, 4 * GiB, 128],
    [1, Infinity, 512],
  ])('is, for %d workers in %d bytes of memory, %d MiB', (workers, memory, most) => {
    expect(computeBodiesLimit({ bodyLimit: 32 * MiB, workers }, memory)).toBe(most * MiB);
  });

  it('allows one whole body, however little memory there is', () => {
    expect(computeBodiesLimit({ bodyLimit: 32 * MiB, workers: 1 }, 100 * MiB)).toBe(32 * MiB);
    expect(checkConfig({ server: { bodyLimit: 600 * MiB }, plugins: [] }, 'test').server.bodiesLimit).toBe(
      600 * MiB,
    );
  });

  it('follows the memory of the machine unless the limit is configured', () => {
    const { bodiesLimit } = checkConfig({ plugins: [] }, 'test').server;
    expect(bodiesLimit).toBe(computeBodiesLimit({ bodyLimit: 32 * MiB, workers: 1 }));
    expect(
      checkConfig({ server: { bodiesLimit: bodiesLimit + 1 }, plugins: [] }, 'test').server.bodiesLimit,
    ).toBe(bodiesLimit + 1);
    expect(() => checkConfig({ server: { bodyLimit: 2, bodiesLimit: 1 }, plugins: [] }, 'test')).toThrow(
      'must not be smaller',
    );
  });
});

describe('the default limit of all replies', () => {
  it.each([
    [1, 64 * GiB, 4 * GiB, 128],
    [1, GiB, 4 * GiB, 32],
    [4, GiB, 4 * GiB, 8],
    [1, 64 * GiB, 192 * MiB, 6],
    [1, 256 * MiB, 192 * MiB, 6],
  ])('is, for %d workers in %d bytes of memory with a heap of %d, %d MiB', (workers, memory, heap, most) => {
    expect(computeRepliesLimit({ workers }, { memory, heap })).toBe(most * MiB);
  });

  it('follows the memory and heap of the machine unless the limit is configured', () => {
    expect(checkConfig({ plugins: [] }, 'test').server.repliesLimit).toBe(
      computeRepliesLimit({ workers: 1 }),
    );
    expect(checkConfig({ server: { repliesLimit: 5 }, plugins: [] }, 'test').server.repliesLimit).toBe(5);
  });
});

describe('reply memory', () => {
  const budget = new ReplyBudget({ repliesLimit: 1000 });
  const free = 64 * 1024;

  it('shares one budget among all calls, leaves a little of each uncounted, and releases it', () => {
    const [first, second, third] = [
      new ReplyMemory(budget),
      new ReplyMemory(budget),
      new ReplyMemory(budget),
    ];
    first.add(free + 600);
    expect(() => second.add(free + 600)).toThrow(expect.objectContaining({ code: 'overloaded' }));
    expect(() => third.add(free + 1001)).toThrow(expect.objectContaining({ code: 'upstream_failed' }));
    second.add(free + 350);
    expect(() => budget.checkRoom()).toThrow(
      expect.objectContaining({ code: 'overloaded', details: expect.objectContaining({ retryAfter: 2 }) }),
    );
    third.add(free);
    first.reset();
    expect(() => budget.checkRoom()).not.toThrow();
    first.add(free + 600);
    for (const memory of [first, second, third]) memory.release();
    // Anything after that is not counted.
    first.add(free + 600);
    const all = new ReplyMemory(budget);
    all.add(free + 1000);
    all.release();
  });
});
