import { describe, expect, it } from 'vitest';
import { fold, type Folded } from '../contract/replies.ts';
import { makeCall } from './bodies.ts';
import { complete, created, decode, delta, read, upstream } from './upstream-events.ts';

it.each([
  [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length'],
  [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'content-filter'],
  [{ status: 'incomplete', incomplete_details: { reason: 'steered' } }, 'other'],
  [{ status: 'incomplete', incomplete_details: null }, 'other'],
])('the end of a stream reads %j as a complete reply with the finish reason %s', (fields, reason) => {
  expect(
    read(created, delta('a'), { type: 'response.incomplete', response: { output: [], ...fields } }),
  ).toMatchObject({ complete: true, candidates: { 0: { reason } } });
});

it.each([
  [
    { type: 'error', error: { code: 'server_error', message: 'Broke.' } },
    { message: 'Broke.', code: 'server_error' },
  ],
  [
    { type: 'error', code: 'rate_limit_exceeded', message: 'Too much.', param: null },
    { message: 'Too much.', code: 'rate_limit_exceeded', status: 429 },
  ],
  [
    {
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'invalid_prompt', message: 'Not that.' } },
    },
    { message: 'Not that.', code: 'invalid_prompt', status: 400 },
  ],
  [
    { error: { message: 'Bare.', code: 'context_length_exceeded' } },
    { message: 'Bare.', code: 'context_length_exceeded', status: 400 },
  ],
  [
    { type: 'response.cancelled', response: { status: 'cancelled' } },
    { message: 'The provider broke off its reply and gave no reason.' },
  ],
])('the end of a stream reads %j as an error', (event, error) => {
  expect(decode(created, delta('a'), event, complete()).at(-1)).toMatchObject({ type: 'error', ...error });
});

describe('the decoder of a whole reply', () => {
  const decodeWhole = (body: unknown): Folded => fold(upstream.decodeReply(body, makeCall()));

  it('does not treat a reply that has not ended as complete', () => {
    expect(decodeWhole({ status: 'queued', output: [] }).complete).toBe(false);
    expect(decodeWhole({ status: 'in_progress', output: [] }).complete).toBe(false);
  });

  it('reads a failed reply as an error', () => {
    expect(
      decodeWhole({ status: 'failed', error: { code: 'server_error', message: 'Broke.' }, output: [] }),
    ).toMatchObject({ complete: false, error: 'Broke.' });
    expect(decodeWhole({ error: { message: 'Broke.' } }).error).toBe('Broke.');
  });

  it.each([[null], ['text'], [{}], [[]], [{ choices: [] }]])('rejects %j, which is not a reply', (body) => {
    expect(() => decodeWhole(body)).toThrow(/not a response object/);
  });
});
