/**
 * Real-looking JSON with one thing wrong in it: what a fuzzer needs to know of a format is a few good
 * examples.
 */
import fc from 'fast-check';

type Step = string | number;

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The places in a value, the value itself not counted. */
function listPlaces(value: unknown, from: readonly Step[] = []): (readonly Step[])[] {
  if (!isContainer(value)) return [];
  const steps: Step[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return steps.flatMap((step) => [[...from, step], ...listPlaces(Reflect.get(value, step), [...from, step])]);
}

/** A copy with the value at a path replaced; `undefined` removes it. */
function replaceAt(value: unknown, [step, ...rest]: readonly Step[], by: unknown): unknown {
  if (step === undefined) return by;
  if (!isContainer(value)) return value;
  const inner = replaceAt(Reflect.get(value, step), rest, by);
  if (Array.isArray(value))
    return inner === undefined ? value.filter((_, index) => index !== step) : value.with(Number(step), inner);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, old]) =>
      name !== step ? [[name, old]] : inner === undefined ? [] : [[name, inner]],
    ),
  );
}

const anything = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    '',
    0,
    -1,
    1.5,
    true,
    [],
    {},
    [[]],
    { type: 'later' },
    'x',
    '9'.repeat(40),
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

/** An example with something at one place of it replaced or taken away. */
export function mutate(examples: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc
    .constantFrom(...examples)
    .chain((example) => fc.tuple(fc.constant(example), fc.constantFrom([], ...listPlaces(example)), anything))
    .map(([example, place, by]) => replaceAt(example, place, by));
}
