/**
 * An id for a tool call whose vendor gave none (Google's chat layer leaves it empty). It is made of where the call
 * stands, so that reading the same reply twice gives the same id, and two replies of one conversation differ.
 */
import { createHash } from 'node:crypto';

/** Passed the id of the reply, and which call of it this is. */
export function makeCallId(reply: string, candidate: number, ordinal: number): string {
  return `call_${createHash('sha256')
    .update(JSON.stringify([reply, candidate, ordinal]))
    .digest('base64url')
    .replaceAll(/[-_]/g, '0')
    .slice(0, 24)}`;
}
