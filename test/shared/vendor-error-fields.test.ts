import { describe, expect, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { decode, decoders, encoders } from './vendor-replies.ts';

const cases = readCases<{
  readonly kept: readonly [string, number, object, object?][];
  readonly statuses: readonly (readonly [
    number,
    string,
    Record<'openai' | 'messages' | 'google', [number, object]>,
  ])[];
}>('vendor-error-fields.json', import.meta.url);

describe("a provider's error on its own protocol", () => {
  it.each(cases.kept)('keeps all its fields: %s, %i', (_, status, error, added = {}) => {
    const wrapped = { error, user_id: 'user_abc' };
    expect(encoders.openai(decoders.openai(status, JSON.stringify(wrapped)))).toEqual({
      status,
      body: { error: { param: null, ...error, ...added } },
    });
  });

  it('keeps the message of a provider that is overloaded', () => {
    const overloaded = { type: 'overloaded_error', message: 'Overloaded' };
    expect(
      encoders.messages(decoders.messages(529, JSON.stringify({ type: 'error', error: overloaded }))),
    ).toEqual({ status: 529, body: { type: 'error', error: overloaded, request_id: 'id-1' } });
    const busy = { message: 'The engine is currently overloaded.', type: 'server_error', code: 'overloaded' };
    // Codex stops at this code of ours.
    expect(encoders.openai(decoders.openai(503, JSON.stringify({ error: busy })))).toMatchObject({
      status: 503,
      body: { error: { message: busy.message, code: 'server_is_overloaded' } },
    });
  });

  it("keeps Google's details, without our project", () => {
    const details = [
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: [{ quotaId: 'PerMinute', subject: 'project:123' }],
      },
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'RATE_LIMIT_EXCEEDED',
        metadata: { service: 's', consumer: 'projects/123456' },
      },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' },
    ];
    const message =
      'You exceeded your current quota, please check your plan and billing details. Please retry in 34.4s.';
    const error = decoders.google(
      429,
      JSON.stringify({ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED', details } }),
    );
    expect(Math.ceil(error.details.retryAfter ?? 0)).toBe(35);
    expect(encoders.google(error)).toEqual({
      status: 429,
      body: {
        error: {
          code: 429,
          message: 'Please retry in 34.4s.',
          status: 'RESOURCE_EXHAUSTED',
          details: [
            { '@type': details[0]?.['@type'], violations: [{ quotaId: 'PerMinute' }] },
            { '@type': details[1]?.['@type'], reason: 'RATE_LIMIT_EXCEEDED', metadata: { service: 's' } },
            details[2],
          ],
        },
      },
    });
  });

  it.each([
    ['sk-proj-ab****cd', 'Slow down, sk-proj-ab****cd.'],
    ['org-AbC123', 'Rate limit reached for gpt-4o in organization org-AbC123 on requests per day.'],
    ['proj_AbC123', 'Limit of proj_AbC123 reached.'],
    [
      '01234567-89ab-cdef-0123-456789abcdef',
      'This would exceed the rate limit for your organization (01234567-89ab-cdef-0123-456789abcdef) ' +
        'of 50 requests per minute.',
    ],
    ['AIzaSyAbCdEf', 'Failed: https://x.googleapis.com/v1?key=AIzaSyAbCdEf&alt=sse'],
    ['123456789', 'Quota of projects/123456789 exceeded.'],
  ])('names neither our key nor our account: %s', (secret, message) => {
    for (const [family, status] of [
      ['openai', 429],
      ['messages', 429],
      ['google', 429],
      ['openai', 500],
      ['openai', 400],
    ] as const) {
      const { body } = encoders[family](decode(family, status, message, { extra: { deep: [message] } }));
      expect(JSON.stringify(body)).not.toContain(secret);
    }
  });

  it('is bounded, however deep or long', () => {
    const deep = `{"error":{"message":"x","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    expect(decoders.openai(400, deep)).toMatchObject({ code: 'invalid_request', message: 'x' });
    expect(
      decoders.openai(400, JSON.stringify({ error: { message: 'x', long: 'sk-'.repeat(300_000) } })).message,
    ).toBe('x');
  });
});

describe("a provider's error on another protocol", () => {
  it("has OpenAI's format if a chat or responses client asks Google", () => {
    const error = decoders.google(
      400,
      JSON.stringify({ error: { code: 400, message: 'Bad part.', status: 'INVALID_ARGUMENT' } }),
    );
    expect(encoders.openai(error)).toEqual({
      status: 400,
      body: { error: { message: 'Bad part.', type: 'invalid_request_error', param: null, code: null } },
    });
    expect(encoders.messages(error).body).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'Bad part.' },
      request_id: 'id-1',
    });
  });

  it("has OpenAI's format if it comes from Google's own chat layer", () => {
    const error = decoders.openai(
      400,
      JSON.stringify([{ error: { code: 400, message: 'Bad part.', status: 'INVALID_ARGUMENT' } }]),
    );
    expect(encoders.openai(error)).toMatchObject({
      status: 400,
      body: { error: { message: 'Bad part.', type: 'invalid_request_error', param: null, code: null } },
    });
  });

  it.each(cases.statuses)(
    'with status %i keeps its message, and has the status and type of each protocol',
    (status, message, expectations) => {
      const families = ['openai', 'messages', 'google'] as const;
      for (const from of families) {
        for (const to of families.filter((family) => family !== from)) {
          const [expected, error] = expectations[to];
          expect(
            encoders[to](decoders[from](status, JSON.stringify({ error: { message } }))),
            `${from} to ${to}`,
          ).toMatchObject({ status: expected, body: { error: { message, ...error } } });
        }
      }
    },
  );
});
