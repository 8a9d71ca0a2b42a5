/** The id of a request: created when it arrives, sent with its reply, and logged in every line about it. */
import { randomUUID } from 'node:crypto';

/** Creates a UUID version 7. Ordered ids keep ledger rows of one time close together on disk. */
export function createRequestId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** The headers that carry the id. Anthropic's SDKs read the second. */
export function buildIdHeaders(id: string): Record<string, string> {
  return { 'x-request-id': id, 'request-id': id };
}
