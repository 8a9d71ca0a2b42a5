import { describe, expect, it } from 'vitest';
import { errorTable, GatewayError } from '../../core/index.ts';
import { decodeError, encodeError } from '../../plugins/shared/google/errors.ts';

describe("an error of the gateway in Google's format", () => {
  it.each([
    ['invalid_request', 400, 'INVALID_ARGUMENT'],
    ['context_length_exceeded', 400, 'INVALID_ARGUMENT'],
    ['invalid_api_key', 401, 'UNAUTHENTICATED'],
    ['out_of_balance', 402, 'FAILED_PRECONDITION'],
    ['forbidden', 403, 'PERMISSION_DENIED'],
    ['model_not_found', 404, 'NOT_FOUND'],
    ['conflict', 409, 'ABORTED'],
    ['body_too_large', 413, 'INVALID_ARGUMENT'],
    ['rate_limited', 429, 'RESOURCE_EXHAUSTED'],
    ['internal', 500, 'INTERNAL'],
    ['upstream_failed', 503, 'UNAVAILABLE'],
    ['upstream_overloaded', 503, 'UNAVAILABLE'],
    ['timeout', 504, 'DEADLINE_EXCEEDED'],
  ] as const)('sends %s as %i %s', (code, status, rpcStatus) => {
    expect(encodeError(new GatewayError(code, 'Why.'))).toMatchObject({
      status,
      body: { error: { code: status, message: 'Why.', status: rpcStatus } },
    });
  });

  it('keeps the status of the error table, except for the one that Google expresses by another', () => {
    const others = Object.entries(errorTable).filter(
      ([code, { status }]) => code in errorTable && status !== 502,
    );
    for (const [code, { status }] of others) {
      const known = Object.keys(errorTable).find((each): each is keyof typeof errorTable => each === code);
      if (known) expect(encodeError(new GatewayError(known, 'x')).status, code).toBe(status);
    }
    expect(others.length).toBe(Object.keys(errorTable).length - 1);
  });

  it('names the bad field and when to retry', () => {
    const { body } = encodeError(
      new GatewayError('rate_limited', 'Why.', { param: 'contents[0]', retryAfter: 12 }),
    );
    expect(body).toMatchObject({
      error: {
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'RATE_LIMITED' },
          {
            '@type': 'type.googleapis.com/google.rpc.BadRequest',
            fieldViolations: [{ field: 'contents[0]', description: 'Why.' }],
          },
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12s' },
        ],
      },
    });
  });
});

const info = (reason: string): unknown => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason,
  domain: 'googleapis.com',
});

function buildError(code: number, status: string, message: string, details: unknown[] = []): string {
  return JSON.stringify({ error: { code, message, status, details } });
}

describe("Google's error about the client's content", () => {
  it('keeps its message, its status and the bad field', () => {
    const violations = [
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field: 'contents[0].parts', description: 'x' }],
      },
    ];
    const error = decodeError(
      400,
      buildError(400, 'INVALID_ARGUMENT', 'Unable to process input image.', violations),
    );
    expect(error).toMatchObject({
      code: 'invalid_request',
      message: 'Unable to process input image.',
      details: { param: 'contents[0].parts', vendor: { type: 'INVALID_ARGUMENT' } },
    });
  });

  it('becomes context_length_exceeded if the content is too long', () => {
    expect(
      decodeError(
        400,
        buildError(
          400,
          'INVALID_ARGUMENT',
          'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
        ),
      ).code,
    ).toBe('context_length_exceeded');
  });
});

describe("Google's error about the gateway", () => {
  it.each([
    [
      400,
      buildError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
        info('API_KEY_INVALID'),
      ]),
    ],
    [400, buildError(400, 'INVALID_ARGUMENT', 'Please renew the secret.', [info('API_KEY_EXPIRED')])],
    [400, buildError(400, 'FAILED_PRECONDITION', 'User location is not supported for the secret API use.')],
    [400, `[${buildError(400, 'INVALID_ARGUMENT', 'secret', [info('BILLING_DISABLED')])}]`],
    [401, buildError(401, 'UNAUTHENTICATED', 'secret')],
    [403, buildError(403, 'PERMISSION_DENIED', 'secret project', [info('CONSUMER_SUSPENDED')])],
  ])('with %i is none of the caller: %s', (status, text) => {
    const error = decodeError(status, text);
    expect(error.code).toBe('upstream_failed');
    expect(JSON.stringify(encodeError(error).body)).not.toMatch(/secret|key|location/i);
  });

  it.each(['soon', '-1s', '5', 5, null])('has no retry time if Google sends the delay %j', (retryDelay) => {
    expect(
      decodeError(
        429,
        buildError(429, 'RESOURCE_EXHAUSTED', 'x', [
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
        ]),
      ).details.retryAfter,
    ).toBeUndefined();
  });
});
