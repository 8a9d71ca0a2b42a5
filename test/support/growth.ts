/**
 * Requests and replies of any size: each golden case, with one list, object, text or event of it repeated. A
 * test draws a shape from them and makes it twice and four times as large; the work for it may only grow in
 * proportion.
 */
import type { WireEvent } from '../../core/index.ts';
import { isObject } from './json.ts';

export type Path = readonly (string | number)[];

/**
 * How a place grows: a list by the same items again, or by items with their own names, an object by unknown
 * fields, a text by itself.
 */
type Manner = 'same' | 'distinct' | 'fields' | 'text';

export interface Place {
  readonly path: Path;
  readonly manner: Manner;
}

/** Every place of a value that can grow. */
export function* findPlaces(value: unknown, path: Path = []): Generator<Place> {
  if (typeof value === 'string') yield { path, manner: 'text' };
  if (Array.isArray(value)) {
    if (value.length > 0)
      yield* [
        { path, manner: 'same' },
        { path, manner: 'distinct' },
      ] as const;
    for (const [index, item] of value.entries()) yield* findPlaces(item, [...path, index]);
  } else if (isObject(value)) {
    yield { path, manner: 'fields' };
    for (const [name, member] of Object.entries(value)) yield* findPlaces(member, [...path, name]);
  }
}

const names = /^(.*_)?(id|name|Id)$|uri|url|title/;
const numbers = /index$|^sequence_number$/i;

/** The same with other names and numbers, equal for equal `times`. */
function renameValue(value: unknown, times: number, field = ''): unknown {
  if (typeof value === 'string') return names.test(field) ? `${value}_${times}` : value;
  if (typeof value === 'number') return numbers.test(field) ? value + times : value;
  if (Array.isArray(value)) return value.map((item) => renameValue(item, times, field));
  return isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, member]) => [name, renameValue(member, times, name)]),
      )
    : value;
}

function repeatItems(items: readonly unknown[], manner: Manner, size: number): unknown[] {
  return Array.from({ length: size * items.length }, (_, index) => {
    const item = items[index % items.length];
    return manner === 'distinct' ? renameValue(item, Math.floor(index / items.length)) : item;
  });
}

function growValue(value: unknown, manner: Manner, size: number): unknown {
  if (Array.isArray(value)) return repeatItems(value, manner, size);
  if (typeof value === 'string') return value.padEnd(20, '-').repeat(size);
  return isObject(value)
    ? { ...value, ...Object.fromEntries(Array.from({ length: size }, (_, index) => [`x_${index}`, index])) }
    : value;
}

/** The value, made so many times as large at one place. */
export function growAt(value: unknown, { path, manner }: Place, size: number): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return growValue(value, manner, size);
  if (Array.isArray(value))
    return value.map((item, index) => (index === first ? growAt(item, { path: rest, manner }, size) : item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === first ? growAt(member, { path: rest, manner }, size) : member,
    ]),
  );
}

/** A part of a stream that is repeated, or an event that grows at one place. */
export type StreamPlace =
  | { readonly from: number; readonly to: number; readonly manner: 'same' | 'distinct' }
  | { readonly event: number; readonly place: Place };

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** Every place of a stream that can grow: any event, any few in sequence, and any place in one. */
export function* findStreamPlaces(events: readonly WireEvent[]): Generator<StreamPlace> {
  for (const [from, { data }] of events.entries()) {
    for (const length of [1, 2, 3, 6]) {
      if (from + length > events.length) continue;
      for (const manner of ['same', 'distinct'] as const) yield { from, to: from + length, manner };
    }
    for (const place of findPlaces(parseJson(data))) yield { event: from, place };
  }
}

export function growStream(events: readonly WireEvent[], place: StreamPlace, size: number): string {
  const joinFrames = (each: readonly WireEvent[]): string =>
    each
      .map(({ event, data }) => `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`)
      .join('');
  if ('event' in place) {
    return joinFrames(
      events.map((each, index) =>
        index === place.event
          ? { ...each, data: JSON.stringify(growAt(parseJson(each.data), place.place, size)) }
          : each,
      ),
    );
  }
  const part = events.slice(place.from, place.to);
  const again = Array.from({ length: size }, (_, times) =>
    place.manner === 'same'
      ? part
      : part.map(({ event, data }) => ({
          event,
          data: data.startsWith('{') ? JSON.stringify(renameValue(parseJson(data), times)) : data,
        })),
  );
  return joinFrames([...events.slice(0, place.from), ...again.flat(), ...events.slice(place.to)]);
}
