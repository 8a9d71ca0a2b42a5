/** Counting the text of a body finds the same as visiting its parsed value. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { countStructure, type Structure } from '../../core/http/json-structure.ts';

const ample = { depth: 1000, fields: 1e9, values: 1e9 };

function countText(text: string, limits: Partial<typeof ample> = {}): Structure {
  return countStructure(Buffer.from(text), { ...ample, ...limits });
}

/** Counts a parsed value by visiting it. */
function countValue(value: unknown): Omit<Structure, 'exceeded'> & { depth: number } {
  const sum = { members: 0, listed: 0, values: 0, depth: 0 };
  if (typeof value !== 'object' || value === null) return sum;
  const children: unknown[] = Object.values(value);
  for (const child of children) {
    const inner = countValue(child);
    sum.members += inner.members;
    sum.listed +=
      inner.listed + (Array.isArray(value) && typeof child === 'object' && child !== null ? 1 : 0);
    sum.values += inner.values;
    sum.depth = Math.max(sum.depth, inner.depth);
  }
  if (!Array.isArray(value)) sum.members += children.length;
  sum.values += Math.max(0, children.length - 1);
  sum.depth += 1;
  return sum;
}

describe('counting JSON text', () => {
  const piece = fc.constantFrom('"', '\\', '\\"', '{"a":[', ']},', ':', ',', '名', '\n', 'x'.repeat(63));
  const words = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.array(piece, { maxLength: 12 }).map((parts) => parts.join('')),
    fc.tuple(fc.nat(140), piece).map(([length, end]) => 'y'.repeat(length) + end),
    fc.tuple(fc.nat(140), fc.nat(5)).map(([length, more]) => 'z'.repeat(length) + '\\'.repeat(more)),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.oneof(words, fc.double({ noNaN: true }), fc.constantFrom(null, true)),
      fc.array(tie('tree'), { maxLength: 5 }),
      fc.dictionary(words, tie('tree'), { maxKeys: 5 }),
    ),
  }));

  it('counts what its value contains, whatever its strings contain', () => {
    fc.assert(
      fc.property(tree, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const { depth, ...counts } = countValue(value);
        const text = JSON.stringify(value, undefined, indent);
        expect(countText(text, { depth })).toEqual({ ...counts, exceeded: undefined });
        const limits = { fields: counts.members + counts.listed, values: counts.values, depth };
        expect(countText(text, limits).exceeded).toBeUndefined();
        for (const name of ['fields', 'values', 'depth'] as const) {
          if (limits[name] === 0) continue;
          expect(countText(text, { [name]: limits[name] - 1 }).exceeded).toBe(name);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['a string without an end', `{"a":"${'x'.repeat(200)}[[[[[`],
    ['a string that ends in a backslash', `{"a":"${'x'.repeat(62)}\\`],
    ['more ends than beginnings', '}]}]}{"a":[]'],
  ])('comes to an end for %s', (_, text) => {
    expect(countText(text)).toMatchObject({ members: 1, listed: 0, exceeded: undefined });
  });

  it('skips a long string in one search', () => {
    const bytes = Buffer.from(`{"a":"${'QUJD:,[{'.repeat(100_000)}","b":1}`);
    const search = vi.spyOn(bytes, 'indexOf');
    expect(countStructure(bytes, ample)).toEqual({ members: 2, listed: 0, values: 1, exceeded: undefined });
    expect(search).toHaveBeenCalledOnce();
  });
});
