/**
 * Generates an id for a tool call that came without one (Google's chat endpoint leaves it empty). It is
 * derived from the call's position: the same reply always gives the same id, and two replies of a
 * conversation give different ones.
 */
import { createHash } from 'node:crypto';

export function makeCallId(reply: string, candidate: number, ordinal: number): string {
  return `call_${createHash('sha256')
    .update(JSON.stringify([reply, candidate, ordinal]))
    .digest('base64url')
    .replaceAll(/[-_]/g, '0')
    .slice(0, 24)}`;
}
