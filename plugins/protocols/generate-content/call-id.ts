/**
 * Makes an id for a function call that has none, as most calls of Google's models do. The id is a hash of the
 * call's position, so reading the same conversation or reply again gives the same id.
 */
import { hash } from 'node:crypto';

export function makeCallId(...place: readonly (string | number)[]): string {
  return `call_${hash('sha256', JSON.stringify(place)).slice(0, 24)}`;
}
