/**
 * An id for a function call that has none, as Google's mostly have not. It is made of where the call stands, so that
 * reading the same conversation or reply again gives the same id.
 */
import { createHash } from 'node:crypto';

export function makeCallId(...place: readonly (string | number)[]): string {
  return `call_${createHash('sha256').update(JSON.stringify(place)).digest('hex').slice(0, 24)}`;
}
