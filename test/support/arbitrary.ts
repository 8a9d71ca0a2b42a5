/** Generators of values in request bodies of any protocol, for property tests. */
import fc from 'fast-check';

const surrogates = { first: 0xd800, count: 0x800 };

function toCharacter(index: number): string {
  return String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count);
}

function toIndex(value: unknown): number {
  const point = typeof value === 'string' ? (value.codePointAt(0) ?? 0) : -1;
  const index = point < surrogates.first ? point : point - surrogates.count;
  if (index < 0 || toCharacter(index) !== value) throw new Error('The value is not one character.');
  return index;
}

/** What fast-check calls `binary`, which lists all code points first: 1.6 s and 110 MB in each process. */
export const character = fc.nat({ max: 0x10ffff - surrogates.count }).map(toCharacter, toIndex);

export const text = fc.string({ unit: character, maxLength: 12 });
export const word = fc.string({ unit: fc.constantFrom(...'abcdefgh'), minLength: 1, maxLength: 6 });
export const base64 = fc.base64String({ minLength: 4, maxLength: 16 });

/** URLs of pictures, good and bad. */
export const url = fc.oneof(
  fc.constantFrom(
    'https://pictures.example/a.png',
    'data:text/plain,hello',
    'data:image/png;base64',
    'ftp://x',
  ),
  fc
    .tuple(
      fc
        .constantFrom('image/png', '', 'IMAGE/PNG', 'image/svg+xml;charset=utf-8')
        .map((type) => `data:${type}`),
      base64,
    )
    .map(([prefix, data]) => `${prefix};base64,${data}`),
);

/** Unknown fields, in either spelling. */
export const unknown = fc.dictionary(
  fc.oneof(
    word.map((name) => `x_${name}`),
    word.map((name) => `x${name}`),
  ),
  fc.jsonValue({ maxDepth: 2 }),
  { maxKeys: 2 },
);

export function addUnknown(fields: fc.Arbitrary<object>): fc.Arbitrary<Record<string, unknown>> {
  return fc.tuple(unknown, fields).map(([rest, known]) => ({ ...rest, ...known }));
}

/** An object each of whose members may be missing or null. */
export function optional(
  members: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<Record<string, unknown>> {
  const loose = Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, fc.option(value, { freq: 6 })]),
  );
  return fc.record(loose, { requiredKeys: [] });
}
