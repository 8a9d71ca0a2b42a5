import { describe, expect, it } from 'vitest';
import { errorTable, GatewayError } from '../../core/index.ts';
import { decodeError, encodeError } from '../../plugins/protocols/generate-content/errors.ts';
import { callWith, matchOf, protocol } from './bodies.ts';

describe('our errors in the words of Google', () => {
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
  ] as const)('%s is %i %s', (code, status, word) => {
    expect(encodeError(new GatewayError(code, 'Why.'))).toMatchObject({
      status,
      body: { error: { code: status, message: 'Why.', status: word } },
    });
  });

  it('keep the status of the table, but for the one that Google tells by another', () => {
    const others = Object.entries(errorTable).filter(
      ([code, { status }]) => code in errorTable && status !== 502,
    );
    for (const [code, { status }] of others) {
      const known = Object.keys(errorTable).find((each): each is keyof typeof errorTable => each === code);
      if (known) expect(encodeError(new GatewayError(known, 'x')).status, code).toBe(status);
    }
    expect(others.length).toBe(Object.keys(errorTable).length - 1);
  });

  it('name the field at fault, and when to come again', () => {
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

  it('stand in an array where the stream would have', () => {
    const error = new GatewayError('internal', 'Why.');
    expect(protocol.client.encodeError(error, 'k7', matchOf(true, 'array')).body).toMatchObject([
      { error: { code: 500 } },
    ]);
    expect(protocol.client.encodeError(error, 'k7', matchOf(true, 'events')).body).toMatchObject({
      error: { code: 500 },
    });
    expect(protocol.client.encodeStreamError(error, callWith({}, matchOf(true)), true)).toContain(
      '"code":500',
    );
  });
});

const info = (reason: string): unknown => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason,
  domain: 'googleapis.com',
});

function google(code: number, status: string, message: string, details: unknown[] = []): string {
  return JSON.stringify({ error: { code, message, status, details } });
}

describe("Google's refusal of the caller's content", () => {
  it('keeps its words, its status and the field at fault', () => {
    const violations = [
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field: 'contents[0].parts', description: 'x' }],
      },
    ];
    const error = decodeError(
      400,
      google(400, 'INVALID_ARGUMENT', 'Unable to process input image.', violations),
    );
    expect(error).toMatchObject({
      code: 'invalid_request',
      message: 'Unable to process input image.',
      details: { param: 'contents[0].parts', vendor: { type: 'INVALID_ARGUMENT' } },
    });
  });

  it('for its length is known as that', () => {
    expect(
      decodeError(
        400,
        google(
          400,
          'INVALID_ARGUMENT',
          'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
        ),
      ).code,
    ).toBe('context_length_exceeded');
  });
});

describe("Google's refusal of the gateway", () => {
  it.each([
    [
      400,
      google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
        info('API_KEY_INVALID'),
      ]),
    ],
    [400, google(400, 'INVALID_ARGUMENT', 'Please renew the secret.', [info('API_KEY_EXPIRED')])],
    [400, google(400, 'FAILED_PRECONDITION', 'User location is not supported for the secret API use.')],
    [400, `[${google(400, 'INVALID_ARGUMENT', 'secret', [info('BILLING_DISABLED')])}]`],
    [401, google(401, 'UNAUTHENTICATED', 'secret')],
    [403, google(403, 'PERMISSION_DENIED', 'secret project', [info('CONSUMER_SUSPENDED')])],
  ])('with %i is none of the caller: %s', (status, text) => {
    const error = decodeError(status, text);
    expect(error.code).toBe('upstream_failed');
    expect(JSON.stringify(encodeError(error).body)).not.toMatch(/secret|key|location/i);
  });

  it('for its rate says when to come again, and not whose project it is', () => {
    const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' };
    const error = decodeError(
      429,
      google(429, 'RESOURCE_EXHAUSTED', 'Quota of projects/secret exceeded.', [retry]),
    );
    expect(error).toMatchObject({ code: 'rate_limited', details: { retryAfter: 34.4 } });
    expect(error.message).not.toContain('secret');
  });

  it.each(['soon', '-1s', '5', 5, null])('with the delay %j says nothing of when', (retryDelay) => {
    expect(
      decodeError(
        429,
        google(429, 'RESOURCE_EXHAUSTED', 'x', [
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
        ]),
      ).details.retryAfter,
    ).toBeUndefined();
  });
});
