/** Google's error body, and the refusals a scenario can give whatever the request says. */
import type { WholeReply } from '../delivery.ts';

export interface Complaint {
  readonly code?: number;
  readonly status?: string;
  readonly message: string;
  readonly details?: readonly object[];
}

const toTypeUrl = (name: string): string => `type.googleapis.com/google.rpc.${name}`;

export function buildErrorBody({
  code = 400,
  status = 'INVALID_ARGUMENT',
  message,
  details,
}: Complaint): object {
  return { error: { code, message, status, ...(details ? { details } : {}) } };
}

export function refuse(complaint: Complaint): WholeReply {
  return { status: complaint.code ?? 400, body: buildErrorBody(complaint) };
}

export function refuseViolations(
  violations: readonly { readonly field: string; readonly description: string }[],
): WholeReply {
  const message = violations.map(({ description }) => description).join('\n');
  const fieldViolations = violations.map(({ field, description }) =>
    field ? { field, description } : { description },
  );
  return refuse({ message, details: [{ '@type': toTypeUrl('BadRequest'), fieldViolations }] });
}

export const wrongKey = refuse({
  message: 'API key not valid. Please pass a valid API key.',
  details: [
    {
      '@type': toTypeUrl('ErrorInfo'),
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
      metadata: { service: 'generativelanguage.googleapis.com' },
    },
    {
      '@type': toTypeUrl('LocalizedMessage'),
      locale: 'en-US',
      message: 'API key not valid. Please pass a valid API key.',
    },
  ],
});

export const missingKey = refuse({
  code: 403,
  status: 'PERMISSION_DENIED',
  message:
    "Method doesn't allow unregistered callers (callers without established identity). " +
    'Please use API Key or other form of API consumer identity to call this API.',
});

export function refuseModel(model: string, method: string): WholeReply {
  const message =
    `models/${model} is not found for API version v1beta, or is not supported for ${method}. ` +
    'Call ListModels to see the list of available models and their supported methods.';
  return refuse({ code: 404, status: 'NOT_FOUND', message });
}

export const generateContentRefusals = {
  unauthorised: wrongKey,
  forbidden: refuse({
    code: 403,
    status: 'PERMISSION_DENIED',
    message: 'Your project has been denied access. Please contact support.',
  }),
  location: refuse({
    status: 'FAILED_PRECONDITION',
    message: 'User location is not supported for the API use.',
  }),
  rateLimited: refuse({
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    message: 'You exceeded your current quota, please check your plan.',
    details: [
      {
        '@type': toTypeUrl('QuotaFailure'),
        violations: [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier' }],
      },
      { '@type': toTypeUrl('RetryInfo'), retryDelay: '34.4s' },
    ],
  }),
  broken: refuse({
    code: 500,
    status: 'INTERNAL',
    message:
      'An internal error has occurred. ' +
      'Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
  }),
  overloaded: refuse({
    code: 503,
    status: 'UNAVAILABLE',
    message: 'The model is overloaded. Please try again later.',
  }),
  timeout: refuse({
    code: 504,
    status: 'DEADLINE_EXCEEDED',
    message: 'The request timed out. Please try again.',
  }),
} as const satisfies Record<string, WholeReply>;
