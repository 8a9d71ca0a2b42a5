/**
 * Google's function calls in pieces: a name with `willContinue`, then `partialArgs` that each name a place by
 * its JSON path.
 */
import { isObject, type Json } from '../support/json.ts';
import type { Heard } from './heard.ts';

const valueFields = ['stringValue', 'numberValue', 'boolValue', 'nullValue'];

function putAt(root: Json, path: string, value: unknown): void {
  const steps = [...path.matchAll(/[^.[\]$'"]+/g)].map(([step]) => step);
  const last = steps.pop();
  if (last === undefined) return;
  let place: Json = root;
  for (const [index, step] of steps.entries()) {
    const next = index + 1 < steps.length ? steps[index + 1] : last;
    place[step] ??= /^\d+$/.test(next ?? '') ? [] : {};
    // An array is an object whose names are numbers.
    place = Object(place[step]);
  }
  const before = place[last];
  place[last] = typeof before === 'string' && typeof value === 'string' ? before + value : value;
}

export class PartialArguments {
  #open = false;

  /** Adds a call, or more of the one that is still open. */
  take(call: Json, calls: Heard['calls']): void {
    const last = calls.at(-1);
    const { name, args } = call;
    if (!this.#open || !last || typeof name === 'string')
      calls.push({ name: String(name), arguments: isObject(args) ? args : {} });
    const known = calls.at(-1)?.arguments;
    for (const piece of Array.isArray(call.partialArgs) ? call.partialArgs : []) {
      const field = valueFields.find((each) => isObject(piece) && each in piece);
      if (isObject(known) && field !== undefined)
        putAt(known, String(piece.jsonPath), field === 'nullValue' ? null : piece[field]);
    }
    this.#open = call.willContinue === true;
  }
}
