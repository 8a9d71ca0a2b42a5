/** The id of a request: created when it arrives, sent with its reply, and logged in every line about it. */
import { randomUUID } from 'node:crypto';

/** The prefix of all ids of one millisecond. */
let latest = { at: 0, prefix: '' };

/** Creates a UUID version 7. Ordered ids keep ledger rows of one time close together on disk. */
export function createRequestId(): string {
  const at = Date.now();
  if (at !== latest.at) {
    const time = at.toString(16).padStart(12, '0');
    latest = { at, prefix: `${time.slice(0, 8)}-${time.slice(8)}-7` };
  }
  return latest.prefix + randomUUID().slice(15);
}

/** The headers that carry the id. Anthropic's SDKs read the second. */
export function buildIdHeaders(id: string): Record<string, string> {
  return { 'x-request-id': id, 'request-id': id };
}
