/** The fake OpenAI accepts, refuses and replies as the real one does, with the same error messages. */
import { describe, expect, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { good, call, useOpenai } from './responses-requests.ts';

useOpenai();

/** Changes to a valid request, with the code and param of the 400. */
type Change = [change: object, code: string | null, param: string | null, message?: RegExp];

const bad: Readonly<Record<string, Change>> = {
  ...readCases<Record<string, Change>>('responses-refusals.json', import.meta.url),
  'no input': [{ input: undefined }, 'missing_required_parameter', 'input'],
  'more than the model holds': [{ input: 'a '.repeat(128_001) }, 'context_length_exceeded', 'messages'],
};

describe('the fake OpenAI, asked something wrong', () => {
  it.each(Object.entries(bad))(
    'refuses it as the real one does: %s',
    async (_, [change, code, param, message = /./]) => {
      const reply = await call({ ...good, ...change });
      expect({ status: reply.status, body: reply.json() }).toEqual({
        status: 400,
        body: {
          error: { message: expect.stringMatching(message), type: 'invalid_request_error', code, param },
        },
      });
      expect(reply.headers.get('content-type')).toBe('application/json');
    },
  );

  it('refuses an unknown model, an unknown key and an unknown path', async () => {
    expect((await call({ ...good, model: 'gpt-4o-wrong' })).json()).toMatchObject({
      error: { code: 'model_not_found' },
    });
    expect(await call(good, { headers: { authorization: 'Bearer sk-tollgate-secret' } })).toMatchObject({
      status: 401,
    });
    expect(await call(good, { headers: { authorization: '' } })).toMatchObject({ status: 401 });
    expect(await call(good, { path: '/v1/chat/completions' })).toMatchObject({ status: 404 });
  });

  it('refuses fields that a token count does not have', async () => {
    const path = '/v1/responses/input_tokens';
    expect((await call({ ...good, max_output_tokens: 50 }, { path })).json()).toMatchObject({
      error: { code: 'unknown_parameter' },
    });
    expect((await call(good, { path })).json()).toEqual({ object: 'response.input_tokens', input_tokens: 3 });
  });
});
