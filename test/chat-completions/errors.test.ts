import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../core/index.ts';
import { decodeError, encodeError } from '../../plugins/shared/openai/errors.ts';
import { readCases } from '../support/cases.ts';

const cases = readCases<readonly (readonly [string, string, object])[]>('errors.json', import.meta.url);

describe('an error of the gateway', () => {
  it.each([
    ['invalid_request', 400, 'invalid_request_error', null],
    ['context_length_exceeded', 400, 'invalid_request_error', 'context_length_exceeded'],
    ['unsupported_parameter', 400, 'invalid_request_error', 'unsupported_parameter'],
    ['invalid_api_key', 401, 'invalid_request_error', 'invalid_api_key'],
    ['out_of_balance', 402, 'insufficient_quota', 'insufficient_quota'],
    ['model_not_found', 404, 'invalid_request_error', 'model_not_found'],
    ['body_too_large', 413, 'invalid_request_error', 'request_too_large'],
    ['rate_limited', 429, 'requests', 'rate_limit_exceeded'],
    ['internal', 500, 'server_error', 'internal_error'],
    ['upstream_failed', 502, 'server_error', 'upstream_error'],
    ['upstream_overloaded', 503, 'server_error', 'server_is_overloaded'],
    ['timeout', 504, 'server_error', 'timeout'],
  ] as const)('has the status, type and code of its kind: %s', (code, status, type, word) => {
    expect(encodeError(new GatewayError(code, 'Why.'))).toEqual({
      status,
      body: { error: { message: 'Why.', type, param: null, code: word } },
    });
  });

  it('names the field', () => {
    expect(encodeError(new GatewayError('invalid_request', 'Why.', { param: 'n' })).body).toMatchObject({
      error: { param: 'n' },
    });
  });
});

describe("a provider's error about the client's content", () => {
  it.each(cases)('keeps what helps the client: %s', (_, text, error) => {
    expect(encodeError(decodeError(400, text)).body).toEqual({ error });
    expect(encodeError(decodeError(422, text)).body).toEqual({ error });
  });

  it.each([
    ['a page', '<html>This is not a good request</html>'],
    ['the name of the status', 'Bad Request'],
    ['JSON that was cut', '{ "error": { "message": "Not a goo'],
    ['nothing', ''],
  ])('says that there is no reason if the provider sent %s', (_, text) => {
    expect(decodeError(400, text).message).toBe('The provider refused this request and gave no reason.');
  });

  it.each([
    ['{"error":{"message":"too long","code":"context_length_exceeded"}}', 'context_length_exceeded'],
    [
      `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":400}}`,
      'context_length_exceeded',
    ],
    ["This model's maximum context length is 8192 tokens.", 'context_length_exceeded'],
    ['{"error":{"message":"no","code":"content_policy_violation"}}', 'content_policy_violation'],
    ['{"error":{"message":"no","code":"content_filter"}}', 'content_policy_violation'],
  ])('gets the code of its kind: %s', (text, code) => {
    expect(decodeError(400, text).code).toBe(code);
  });

  it('is cut if its message is too long', () => {
    expect(decodeError(400, JSON.stringify({ error: { message: 'x'.repeat(1e6) } })).message.length).toBe(
      1000,
    );
  });
});

describe("a provider's error about the gateway", () => {
  it.each([
    [401, '{"error":{"message":"Incorrect API key provided: sk-secret","code":"invalid_api_key"}}'],
    [402, '{"error":{"message":"Insufficient Balance of sk-secret"}}'],
    [403, '{"error":{"message":"sk-secret may not"}}'],
    [
      400,
      '[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key sk-secret.",' +
        '"status":"INVALID_ARGUMENT"}}]',
    ],
    [
      429,
      '{"error":{"message":"You exceeded your current quota, sk-secret","type":"insufficient_quota",' +
        '"code":"insufficient_quota"}}',
    ],
  ])('with status %i is not blamed on the client, and does not quote the provider', (status, text) => {
    const error = decodeError(status, text);
    expect(error.code).toBe('upstream_failed');
    expect(JSON.stringify(encodeError(error))).not.toMatch(/secret|key|quota|balance/i);
  });

  it('about rate limits stays one, in our own words', () => {
    const error = decodeError(
      429,
      '{"error":{"message":"Rate limit reached for organization org-secret","code":"rate_limit_exceeded"}}',
    );
    expect(error.code).toBe('rate_limited');
    expect(JSON.stringify(encodeError(error))).not.toContain('secret');
  });
});
