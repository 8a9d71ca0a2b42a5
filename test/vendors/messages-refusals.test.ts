import { describe, expect, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { messagesRefusals } from '../support/vendor/messages.ts';
import {
  model,
  user,
  good,
  type Change,
  vendor,
  call,
  useAnthropic,
  isRefused,
} from './messages-requests.ts';

useAnthropic();

const wrong: Readonly<Record<string, Change>> = {
  ...readCases<Record<string, Change>>('messages-refusals.json', import.meta.url),
  'no max_tokens': [{ max_tokens: undefined }, 'max_tokens: Field required'],
  'more than the model holds': [
    { messages: [{ role: 'user', content: 'a '.repeat(200_001) }] },
    /^prompt is too long: \d+ tokens > 200000 maximum/,
  ],
};

describe('the fake Anthropic, asked something wrong', () => {
  it.each(Object.entries(wrong))('refuses it as the real one does: %s', isRefused);

  it('refuses a model that it does not have', async () => {
    const reply = await call({ ...good, model: 'claude-sonet-4-5' });
    expect(reply).toMatchObject({ status: 404 });
    expect(reply.json()).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error', message: 'model: claude-sonet-4-5' },
    });
  });

  it.each([
    [{ 'x-api-key': 'sk-other' }, 'invalid x-api-key'],
    [{ 'x-api-key': '', authorization: 'Bearer sk-other' }, 'Invalid bearer token'],
    [{ 'x-api-key': '' }, 'x-api-key header is required'],
  ])('refuses the unknown key in %j', async (headers, message) => {
    const reply = await call(good, { headers });
    expect({ status: reply.status, body: reply.json() }).toMatchObject({
      status: 401,
      body: { error: { type: 'authentication_error', message } },
    });
  });

  it.each([
    ['', 'header is required'],
    ['2024-01-01', 'is not a valid version'],
  ])('refuses the version "%s"', async (version, message) => {
    const reply = await call(good, { headers: { 'anthropic-version': version } });
    expect({ status: reply.status, text: reply.text }).toMatchObject({
      status: 400,
      text: expect.stringContaining(message),
    });
  });

  it.each(['temperature', 'top_p', 'top_k'])(
    'refuses %s for the newest models, even at its default',
    async (field) => {
      const headers = { 'anthropic-version': '2026-10-21' };
      expect((await call({ ...good, [field]: 1 }, { headers })).json()).toMatchObject({
        error: { message: `${field}: Extra inputs are not permitted` },
      });
      expect(await call(good, { headers })).toMatchObject({ status: 200 });
    },
  );

  it('refuses an output limit in a token count', async () => {
    const path = '/v1/messages/count_tokens';
    expect((await call(good, { path })).json()).toMatchObject({
      error: { message: 'max_tokens: Extra inputs are not permitted' },
    });
    expect((await call({ model, messages: [user] }, { path })).json()).toEqual({ input_tokens: 3 });
  });

  it.each(['', '[]', '{"model":', '{"model":"a","model":"b"}'])(
    'refuses a body that is not one valid JSON object: %s',
    async (body) => {
      expect(await call(body)).toMatchObject({ status: 400 });
    },
  );

  it.each(Object.entries(messagesRefusals))('refuses with the scripted reply: %s', async (_, reply) => {
    vendor.script(model, { reply });
    const { status, headers, json } = await call(good);
    expect({ status, body: json() }).toEqual({ status: reply.status, body: reply.body });
    expect(Object.fromEntries(headers)).toMatchObject(reply.headers ?? {});
  });
});
