/** The id of a request: made at the door, told in the head of its reply, and in every line of the log that is about it. */
import { randomUUID } from 'node:crypto';

/** The beginning of the ids of one millisecond. */
let latest = { at: 0, beginning: '' };

/** A UUID of version 7: what the ledger writes in order of time stands together on its disk. */
export function timeOrderedId(): string {
  const at = Date.now();
  if (at !== latest.at) {
    const time = at.toString(16).padStart(12, '0');
    latest = { at, beginning: `${time.slice(0, 8)}-${time.slice(8)}-7` };
  }
  return latest.beginning + randomUUID().slice(15);
}

/** The headers that tell an id. Anthropic's clients look for the second. */
export function headersNaming(id: string): Record<string, string> {
  return { 'x-request-id': id, 'request-id': id };
}
