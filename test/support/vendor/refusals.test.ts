/** The vendor refuses what the real one was recorded refusing, in the same shapes. */
import { afterEach, beforeAll, expect, it } from 'vitest';
import { readCases } from '../cases.ts';
import { createChatCaller, question, type Caller } from './call.ts';
import { refusals, startVendor, type Vendor } from './chat-completions.ts';
import { listTopLevelNames } from './json-body.ts';

/** What is put over a good request, and the code and param of the 400 that follows. */
type Change = [change: object, code: string | null, param: string | null];

const bad: Readonly<Record<string, Change>> = {
  ...readCases<Record<string, Change>>('refusals.json', import.meta.url),
  'no messages': [{ messages: undefined }, 'missing_required_parameter', 'messages'],
  'no model': [{ model: undefined }, 'missing_required_parameter', 'model'],
  'more than the model holds': [
    { messages: [{ role: 'user', content: 'a '.repeat(128_001) }] },
    'context_length_exceeded',
    'messages',
  ],
};

let vendor: Vendor;
let ask: Caller;
beforeAll(async () => {
  vendor = await startVendor();
  ask = createChatCaller(vendor);
});
afterEach(() => vendor.unscript());

it.each(Object.entries(bad))('the vendor refuses %s by its field', async (_, [change, code, param]) => {
  const { status, text } = await ask({ ...question, ...change });
  expect({ status, ...JSON.parse(text) }).toEqual({
    status: 400,
    error: { message: expect.any(String), type: 'invalid_request_error', code, param },
  });
});

it('the vendor refuses a model it does not have, as recorded', async () => {
  const { status, text } = await ask({ ...question, model: 'gpt-4o-wrong' });
  const message = 'The model `gpt-4o-wrong` does not exist or you do not have access to it.';
  expect({ status, ...JSON.parse(text) }).toEqual({
    status: 404,
    error: { message, type: 'invalid_request_error', param: null, code: 'model_not_found' },
  });
});

it('the vendor refuses a key that is not its own, without repeating it', async () => {
  const { status, text } = await ask(question, { headers: { authorization: 'Bearer sk-tollgate-secret' } });
  expect({ status, ...JSON.parse(text) }).toMatchObject({
    status: 401,
    error: { type: 'invalid_request_error', param: null, code: 'invalid_api_key' },
  });
  expect(text).not.toContain('secret');
  expect(await ask(question, { headers: { authorization: 'Basic x' } })).toMatchObject({ status: 401 });
});

it('the vendor refuses another content type, another path, another method', async () => {
  expect(await ask(question, { headers: { 'content-type': 'text/plain' } })).toMatchObject({ status: 400 });
  const headers = { authorization: `Bearer ${vendor.key}` };
  expect(await fetch(`${vendor.url}/responses`, { method: 'POST', headers })).toMatchObject({
    status: 404,
  });
  expect(await fetch(`${vendor.url}/chat/completions`, { headers })).toMatchObject({ status: 405 });
});

it.each(['', '[]', '{"model":', '{"model":"gpt-4o-mini","messages":[]}x'])(
  'the vendor refuses a body that is no JSON object: %s',
  async (body) => {
    expect(await ask(body)).toMatchObject({ status: 400 });
  },
);

it('the vendor refuses a field that occurs twice, as a bad splice leaves it', async () => {
  const { status, text } = await ask(
    '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"model"}],"model":"gpt-4o"}',
  );
  expect({ status, ...JSON.parse(text) }).toMatchObject({
    status: 400,
    error: { code: 'duplicate_parameter', param: 'model' },
  });
  expect(listTopLevelNames('{"a":{"b":1,"c":["{\\"d\\":1}"]},"e\\"" : "f:", "a":[{"a":2}]}')).toEqual([
    'a',
    'e"',
    'a',
  ]);
});

it.each(Object.entries(refusals))('the vendor refuses with the scripted reply: %s', async (_, reply) => {
  vendor.script('gpt-4o-mini', { reply });
  const { status, text, headers } = await ask(question);
  expect(status).toBe(reply.status);
  expect(text).toBe(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
  if ('headers' in reply) expect(Object.fromEntries(headers)).toMatchObject(reply.headers);
});
