/** Generators of values in request bodies of any protocol, for property tests. */
import fc from 'fast-check';

export const text = fc.string({ unit: 'binary', maxLength: 12 });
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

export function withUnknown(fields: fc.Arbitrary<object>): fc.Arbitrary<Record<string, unknown>> {
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
