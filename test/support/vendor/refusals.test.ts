/** The vendor refuses what the real one was recorded refusing, in the same shapes. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ask, question } from './ask.ts';
import { refusals, startVendor, type Vendor } from './chat-completions.ts';
import { listTopLevelNames } from './json-body.ts';

const user = { role: 'user', content: 'Hello!' };
const calls = (...ids: string[]) => ({
  role: 'assistant',
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
});
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' });
const tool = (facts: object) => ({ type: 'function', function: { name: 'f', ...facts } });
const say = (...messages: object[]) => ({ messages: [user, ...messages] });

/** What is put over a good request, and the code and param of the 400 that follows. */
const bad: Record<string, [object, string | null, string | null]> = {
  'a field meant for a gateway': [{ provider: { order: ['openai'] } }, 'unknown_parameter', 'provider'],
  'an unknown field of a message': [
    say({ role: 'assistant', content: 'x', reasoning_content: 'y' }),
    'unknown_parameter',
    'messages[1].reasoning_content',
  ],
  'an unknown field of a part': [
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', cache_control: {} }] }] },
    'unknown_parameter',
    'messages[0].content[0].cache_control',
  ],
  'no messages': [{ messages: undefined }, 'missing_required_parameter', 'messages'],
  'an empty list of messages': [{ messages: [] }, 'empty_array', 'messages'],
  'no model': [{ model: undefined }, 'missing_required_parameter', 'model'],
  'an unknown role': [say({ role: 'bot', content: 'x' }), 'invalid_value', 'messages[1].role'],
  'content that is null': [
    { messages: [{ role: 'user', content: null }] },
    'invalid_type',
    'messages[0].content',
  ],
  'temperature below zero': [{ temperature: -0.5 }, 'decimal_below_min_value', 'temperature'],
  'temperature above two': [{ temperature: 2.1 }, 'decimal_above_max_value', 'temperature'],
  'temperature as text': [{ temperature: '1' }, 'invalid_type', 'temperature'],
  'no candidate': [{ n: 0 }, 'integer_below_min_value', 'n'],
  'five stops': [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'array_above_max_length', 'stop'],
  'stream options without a stream': [{ stream_options: { include_usage: true } }, null, 'stream_options'],
  'top_logprobs alone': [{ top_logprobs: 2 }, null, 'top_logprobs'],
  'both limits': [{ max_tokens: 5, max_completion_tokens: 5 }, 'invalid_parameter_combination', null],
  'a limit beyond the model': [{ max_tokens: 16_385 }, 'invalid_value', 'max_tokens'],
  'a reasoning effort for a model without': [
    { reasoning_effort: 'low' },
    'unsupported_parameter',
    'reasoning_effort',
  ],
  'the old limit for a reasoning model': [
    { model: 'gpt-5-nano', max_tokens: 0, temperature: -0.5 },
    'unsupported_parameter',
    'max_tokens',
  ],
  'a temperature for a reasoning model': [
    { model: 'gpt-5-nano', temperature: 0.5 },
    'unsupported_value',
    'temperature',
  ],
  'an effort the model does not have': [
    { model: 'gpt-5-nano', reasoning_effort: 'xhigh' },
    'unsupported_value',
    'reasoning_effort',
  ],
  'a schema for a model that has JSON mode alone': [
    {
      model: 'gpt-4-turbo',
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
    },
    null,
    'response_format',
  ],
  'tools beside an effort': [
    { model: 'gpt-5.4', reasoning_effort: 'low', tools: [tool({})] },
    null,
    'reasoning_effort',
  ],
  'tools of a model that reasons unasked': [
    { model: 'gpt-5.5', tools: [tool({})] },
    null,
    'reasoning_effort',
  ],
  'base64 of the other alphabet': [
    {
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,_-8=' } }] },
      ],
    },
    'invalid_value',
    'messages[0].content[0].image_url.url',
  ],
  'a tool message out of place': [say(calls('a'), user, result('a')), null, 'messages.[2].role'],
  'a tool choice without tools': [{ tool_choice: 'auto' }, null, 'tool_choice'],
  'a choice of a tool that is not there': [
    { tools: [tool({})], tool_choice: { type: 'function', function: { name: 'g' } } },
    null,
    'tool_choice',
  ],
  'a tool name with a dot': [{ tools: [tool({ name: 'a.b' })] }, 'invalid_value', 'tools[0].function.name'],
  'a tool whose schema is no object': [
    { tools: [tool({ parameters: { type: 'string' } })] },
    'invalid_function_parameters',
    'tools[0].function.parameters',
  ],
  'a strict schema left open': [
    { tools: [tool({ strict: true, parameters: { type: 'object', properties: {} } })] },
    'invalid_function_parameters',
    'tools[0].function.parameters',
  ],
  'arguments as an object': [
    say({
      role: 'assistant',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: {} } }],
    }),
    'invalid_type',
    'messages[1].tool_calls[0].function.arguments',
  ],
  'a call without a result': [say(calls('a', 'b'), result('a'), user), null, 'messages.[3].role'],
  'a call without a result at the end': [say(calls('a')), null, 'messages.[1].role'],
  'a result without a call': [say(result('a')), null, 'messages.[1].role'],
  'a result given twice': [say(calls('a'), result('a'), result('a')), null, 'messages.[3].role'],
  'two calls of one id': [say(calls('a', 'a'), result('a')), 'invalid_value', 'messages.[1].tool_calls'],
  'an id longer than 64': [
    say(calls('x'.repeat(65)), result('x'.repeat(65))),
    'string_above_max_length',
    'messages[1].tool_calls[0].id',
  ],
  'an empty id': [say(calls(''), result('')), 'empty_string', 'messages[1].tool_calls[0].id'],
  'an assistant turn that says nothing': [
    say({ role: 'assistant', content: null }),
    null,
    'messages.[1].content',
  ],
  'a picture that is no picture': [
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'AAAA' } }] }] },
    'invalid_value',
    'messages[0].content[0].image_url.url',
  ],
  'JSON mode that the prompt does not mention': [
    { response_format: { type: 'json_object' } },
    null,
    'messages',
  ],
  'more than the model holds': [
    { messages: [{ role: 'user', content: 'a '.repeat(128_001) }] },
    'context_length_exceeded',
    'messages',
  ],
};

describe('the vendor', () => {
  let vendor: Vendor;
  beforeAll(async () => {
    vendor = await startVendor();
  });
  afterEach(() => vendor.unscript());
  afterAll(() => vendor.close());

  it.each(Object.entries(bad))('refuses %s by its field', async (_, [change, code, param]) => {
    const { status, text } = await ask(vendor, { ...question, ...change });
    expect({ status, ...JSON.parse(text) }).toEqual({
      status: 400,
      error: { message: expect.any(String), type: 'invalid_request_error', code, param },
    });
  });

  it('refuses a model it does not have, as recorded', async () => {
    const { status, text } = await ask(vendor, { ...question, model: 'gpt-4o-wrong' });
    const message = 'The model `gpt-4o-wrong` does not exist or you do not have access to it.';
    expect({ status, ...JSON.parse(text) }).toEqual({
      status: 404,
      error: { message, type: 'invalid_request_error', param: null, code: 'model_not_found' },
    });
  });

  it('refuses a key that is not its own, without repeating it', async () => {
    const { status, text } = await ask(vendor, question, { authorization: 'Bearer sk-tollgate-secret' });
    expect({ status, ...JSON.parse(text) }).toMatchObject({
      status: 401,
      error: { type: 'invalid_request_error', param: null, code: 'invalid_api_key' },
    });
    expect(text).not.toContain('secret');
    expect(await ask(vendor, question, { authorization: 'Basic x' })).toMatchObject({ status: 401 });
  });

  it('refuses another content type, another path, another method', async () => {
    expect(await ask(vendor, question, { 'content-type': 'text/plain' })).toMatchObject({ status: 400 });
    const headers = { authorization: `Bearer ${vendor.key}` };
    expect(await fetch(`${vendor.url}/responses`, { method: 'POST', headers })).toMatchObject({
      status: 404,
    });
    expect(await fetch(`${vendor.url}/chat/completions`, { headers })).toMatchObject({ status: 405 });
  });

  it.each(['', '[]', '{"model":', '{"model":"gpt-4o-mini","messages":[]}x'])(
    'refuses a body that is no JSON object: %s',
    async (body) => {
      expect(await ask(vendor, body)).toMatchObject({ status: 400 });
    },
  );

  it('refuses a field that occurs twice, as a bad splice leaves it', async () => {
    const { status, text } = await ask(
      vendor,
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

  it.each(Object.entries(refusals))('refuses with the scripted reply: %s', async (_, reply) => {
    vendor.script('gpt-4o-mini', { reply });
    const { status, text, headers } = await ask(vendor, question);
    expect(status).toBe(reply.status);
    expect(text).toBe(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
    if ('headers' in reply) expect(Object.fromEntries(headers)).toMatchObject(reply.headers);
  });
});
