/** Anthropic's error body, and the refusals a scenario can give whatever the request says. */
import type { WholeReply } from '../delivery.ts';

export interface Complaint {
  readonly type?: string;
  readonly message: string;
}

export function buildErrorBody({ type = 'invalid_request_error', message }: Complaint, id: string): object {
  return { type: 'error', error: { type, message }, request_id: id };
}

export function refuse(complaint: Complaint, id = 'req_011CfakeVendor00000000000', status = 400): WholeReply {
  return { status, body: buildErrorBody(complaint, id) };
}

const buildRefusal = (
  status: number,
  type: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): WholeReply => ({
  ...refuse({ type, message }, undefined, status),
  headers,
});

export const messagesRefusals = {
  unauthorised: buildRefusal(401, 'authentication_error', 'invalid x-api-key'),
  outOfMoney: buildRefusal(
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. ' +
      'Please go to Plans & Billing to upgrade or purchase credits.',
  ),
  billing: buildRefusal(402, 'billing_error', 'There is an issue with your billing.'),
  forbidden: buildRefusal(
    403,
    'permission_error',
    'Your API key does not have permission to use the specified resource.',
  ),
  tooLarge: buildRefusal(413, 'request_too_large', 'Request exceeds the maximum size'),
  rateLimited: buildRefusal(
    429,
    'rate_limit_error',
    "This request would exceed your organization's rate limit of 50 requests per minute.",
    { 'retry-after': '2' },
  ),
  broken: buildRefusal(500, 'api_error', 'Internal server error'),
  timeout: buildRefusal(504, 'timeout_error', 'The request timed out.'),
  overloaded: buildRefusal(529, 'overloaded_error', 'Overloaded', { 'x-should-retry': 'true' }),
} as const satisfies Record<string, WholeReply>;
