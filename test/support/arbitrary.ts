/** Generators of values in request bodies of any protocol, for property tests. */
import fc from 'fast-check';

export const text = fc.string({ unit: 'binary', maxLength: 12 });
export const word = fc.string({ unit: fc.constantFrom(...'abcdefgh'), minLength: 1, maxLength: 6 });
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
