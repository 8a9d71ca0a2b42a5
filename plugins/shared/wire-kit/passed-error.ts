/** How a vendor's error reaches a client that speaks the vendor's own protocol. */
import type { ErrorCode, GatewayError } from '../../../core/index.ts';
import type { ErrorFamily } from './vendor-error.ts';

/** Errors of one call, which keep the status that the vendor gave them. A fault of the vendor has the gateway's. */
const oneCalls: ReadonlySet<ErrorCode> = new Set([
  'invalid_request',
  'context_length_exceeded',
  'content_policy_violation',
  'forbidden',
  'not_found',
  'conflict',
  'body_too_large',
  'rate_limited',
]);
/** Clients take these for errors of their key at the gateway, of a proxy, or of their own timeout. A 422 is a 400 by another name. */
const otherwiseMeant = new Set([401, 402, 407, 408, 422]);

/** The vendor's status, where the client is to see it. */
export function passedStatus(
  { code, details: { vendor } }: GatewayError,
  family: ErrorFamily,
): number | undefined {
  const status = vendor?.family === family ? vendor.status : undefined;
  if (status === undefined || status < 400 || status >= 500) return undefined;
  return oneCalls.has(code) && !otherwiseMeant.has(status) ? status : undefined;
}
