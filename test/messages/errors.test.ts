import { describe, expect, it } from 'vitest';
import { GatewayError, type ErrorCode } from '../../core/index.ts';
import { decodeError } from '../../plugins/shared/openai/errors.ts';
import { protocol } from './bodies.ts';

const { client, upstream } = protocol;

describe('an error in the format of messages', () => {
  it.each<[ErrorCode, number, string]>([
    ['invalid_request', 400, 'invalid_request_error'],
    ['unsupported_parameter', 400, 'invalid_request_error'],
    ['invalid_api_key', 401, 'authentication_error'],
    ['out_of_balance', 402, 'billing_error'],
    ['forbidden', 403, 'permission_error'],
    ['model_not_found', 404, 'not_found_error'],
    ['body_too_large', 413, 'request_too_large'],
    ['rate_limited', 429, 'rate_limit_error'],
    ['internal', 500, 'api_error'],
    ['upstream_failed', 502, 'api_error'],
    ['upstream_overloaded', 529, 'overloaded_error'],
    ['ledger_unavailable', 529, 'overloaded_error'],
    ['timeout', 504, 'timeout_error'],
  ])('%s is %i %s', (code, status, type) => {
    expect(client.encodeError(new GatewayError(code, 'Why.'), 'id-1')).toEqual({
      status,
      body: { type: 'error', error: { type, message: 'Why.' }, request_id: 'id-1' },
    });
  });

  it('names the field at fault, once', () => {
    const encodeError = (message: string): unknown =>
      client.encodeError(new GatewayError('unsupported_parameter', message, { param: 'tools[0]' }), 'id-1')
        .body;
    expect(encodeError('This model has no such tool.')).toMatchObject({
      error: { message: 'tools[0]: This model has no such tool.' },
    });
    expect(encodeError('"tools[0]" is not for this model.')).toMatchObject({
      error: { message: '"tools[0]" is not for this model.' },
    });
  });

  it('reports a prompt that is too long once, with the text its clients look for', () => {
    const encodeError = (message: string): unknown =>
      client.encodeError(new GatewayError('context_length_exceeded', message), 'id-1').body;
    expect(encodeError('300 tokens.')).toMatchObject({
      error: { message: 'prompt is too long: 300 tokens.' },
    });
    expect(encodeError('Prompt is too long.')).toMatchObject({ error: { message: 'Prompt is too long.' } });
  });
});

const decodeRefusal = (status: number, type: string, message: string): GatewayError =>
  upstream.decodeError(
    status,
    JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_1' }),
  );

it.each([
  [
    400,
    'invalid_request_error',
    'prompt is too long: 205000 tokens > 200000 maximum',
    'context_length_exceeded',
  ],
  [400, 'invalid_request_error', 'Output blocked by content filtering policy', 'content_policy_violation'],
  [400, 'invalid_request_error', 'messages.0: text content blocks must be non-empty', 'invalid_request'],
])('an error of a provider %i %s "%s" reaches the client as %s', (status, type, message, code) => {
  expect(decodeRefusal(status, type, message)).toMatchObject({ code, message });
});

it('an error of a provider keeps the code that tells its clients what to do', () => {
  const vendors = {
    type: 'invalid_request_error',
    message: 'Too many tools.',
    details: { error_code: 'available_tools_limit_exceeded' },
  };
  const error = upstream.decodeError(
    400,
    JSON.stringify({ type: 'error', error: vendors, request_id: 'req_1' }),
  );
  expect(client.encodeError(error, 'id-1').body).toEqual({
    type: 'error',
    error: vendors,
    request_id: 'id-1',
  });
});

it('an error of a provider of another wire contains its code, if that is a plain word', () => {
  const crossError = (code: unknown): unknown =>
    client.encodeError(decodeError(400, JSON.stringify({ error: { message: 'Why.', code } })), 'id-1').body;
  expect(crossError('invalid_function_parameters')).toMatchObject({
    error: { details: { error_code: 'invalid_function_parameters' } },
  });
  expect(crossError(400)).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message: 'Why.' },
    request_id: 'id-1',
  });
});

it.each([
  [
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
  ],
  [
    400,
    'invalid_request_error',
    'You have reached your specified API usage limits. You will regain access on 2026-12-01.',
  ],
  [401, 'authentication_error', 'invalid x-api-key'],
  [402, 'billing_error', 'secret-org has no credit'],
  [403, 'permission_error', 'This organization has been disabled.'],
])('an error of a provider %i %s "%s" concerns our account and is never shown', (status, type, message) => {
  const error = decodeRefusal(status, type, message);
  expect(error.code).toBe('upstream_failed');
  expect(JSON.stringify(client.encodeError(error, 'id-1').body)).not.toMatch(
    /credit|limit|key|secret|disabled/i,
  );
});
