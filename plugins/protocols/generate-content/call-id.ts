/**
 * An id for a function call that has none, as Google's mostly have not. It is made of where the call stands, so that
 * reading the same conversation or reply again gives the same id.
 */
import { hash } from 'node:crypto';

export function makeCallId(...place: readonly (string | number)[]): string {
  return `call_${hash('sha256', JSON.stringify(place)).slice(0, 24)}`;
}
