/**
 * Requests at random that are made of the parts of a few good ones: other settings beside each other, other
 * turns in a row, unknown fields, and other texts. A protocol refuses some of them, so draw from those that
 * it accepts.
 */
import fc from 'fast-check';
import { character, unknown } from '../support/arbitrary.ts';

const words = fc
  .string({ unit: character, minLength: 1, maxLength: 12 })
  .filter((said) => said.trim() !== '');

/** The values that examples have at each place. */
type Found = Map<string, unknown[]>;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The place of an element: what may stand beside it depends on its kind. */
function placeElement(place: string, element: unknown): string {
  const { type, role, ...rest } = isRecord(element) ? element : {};
  return `${place}[${String(type ?? role ?? Object.keys(rest).join(' '))}]`;
}

function collect(value: unknown, place: string, found: Found): void {
  if (Array.isArray(value)) {
    const elements = found.get(place) ?? [];
    found.set(place, elements);
    for (const each of value) {
      elements.push(each);
      collect(each, placeElement(place, each), found);
    }
  } else if (isRecord(value)) {
    for (const [name, member] of Object.entries(value)) collect(member, `${place}.${name}`, found);
  }
}

function varyList(list: readonly unknown[], place: string, found: Found): fc.Arbitrary<unknown> {
  const varyElement = (each: unknown): fc.Arbitrary<unknown> => vary(each, placeElement(place, each), found);
  const others = found.get(place) ?? [];
  if (!others.some(isRecord)) return fc.constant(list);
  return fc.oneof(
    fc.tuple(...list.map(varyElement)),
    fc.array(fc.constantFrom(...others).chain(varyElement), { minLength: 1, maxLength: 4 }),
  );
}

function varyRecord(record: Record<string, unknown>, place: string, found: Found): fc.Arbitrary<unknown> {
  const members = Object.entries(record).map(([name, member]) => [
    name,
    vary(member, `${place}.${name}`, found),
  ]);
  const more = fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, unknown);
  return fc
    .tuple(more, fc.record<Record<string, unknown>>(Object.fromEntries(members)))
    .map(([rest, known]) => ({ ...rest, ...known }));
}

function vary(value: unknown, place: string, found: Found): fc.Arbitrary<unknown> {
  if (Array.isArray(value)) return varyList(value, place, found);
  if (isRecord(value)) return varyRecord(value, place, found);
  // Only prose has spaces: whatever it says, it means nothing to a protocol.
  if (typeof value === 'string' && value.includes(' ')) return fc.oneof(fc.constant(value), words);
  return fc.constant(value);
}

/** Bodies with the members of one example and some of the others'. */
export function recombine(examples: readonly unknown[]): fc.Arbitrary<unknown> {
  const found: Found = new Map();
  for (const each of examples) collect(each, '', found);
  const bodies = examples.filter(isRecord);
  const other = fc.oneof(
    fc.constant({}),
    fc
      .constantFrom(...bodies)
      .chain((body) => fc.subarray(Object.entries(body)))
      .map(Object.fromEntries),
  );
  return fc
    .tuple(fc.constantFrom(...bodies), other, other)
    .chain(([body, ...others]) => varyRecord(Object.assign({}, body, ...others), '', found));
}
