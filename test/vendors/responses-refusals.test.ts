/** The fake OpenAI accepts, refuses and replies as the real one does, with the same error messages. */
import { describe, expect, it } from 'vitest';
import { pixel } from '../support/vendor/improvise.ts';
import { user, good, tool, call, useOpenai } from './responses-requests.ts';

const callTool = (id: string, more: object = {}) => ({
  type: 'function_call',
  call_id: id,
  name: 'find',
  arguments: '{}',
  ...more,
});

const output = (id: string, more: object = {}) => ({
  type: 'function_call_output',
  call_id: id,
  output: 'x',
  ...more,
});

const say = (...items: object[]) => ({ input: [user, ...items] });
const show = (part: object) => say({ role: 'user', content: [part] });
const reasoner = { model: 'gpt-5' };
const thought = { type: 'reasoning', id: 'rs_1', summary: [] };
useOpenai();

/** Changes to a valid request, with the code and param of the 400. */
const bad: Record<string, [change: object, code: string | null, param: string | null, message?: RegExp]> = {
  'no input': [{ input: undefined }, 'missing_required_parameter', 'input'],
  'an unknown field': [{ provider: {} }, 'unknown_parameter', 'provider'],
  'a field of chat-completions': [{ stop: ['a'] }, 'unknown_parameter', 'stop'],
  'an unknown field of a message': [
    { input: [{ ...user, name: 'Ann' }] },
    'unknown_parameter',
    'input[0].name',
  ],
  'what a stream helper adds to a call': [
    say(callTool('a', { parsed_arguments: null }), output('a')),
    'unknown_parameter',
    'input[1].parsed_arguments',
  ],
  'an unknown field of a part': [
    show({ type: 'input_text', text: 'a', cache_control: {} }),
    'unknown_parameter',
    'input[1].content[0].cache_control',
  ],
  'temperature below zero': [{ temperature: -1, stream: true }, 'decimal_below_min_value', 'temperature'],
  'a limit below the least': [
    { max_output_tokens: 5 },
    'integer_below_min_value',
    'max_output_tokens',
    />= 16, but got 5/,
  ],
  'a limit beyond the model': [{ max_output_tokens: 16_385 }, 'integer_above_max_value', 'max_output_tokens'],
  'a temperature for a reasoning model': [
    { ...reasoner, temperature: 1 },
    'unsupported_parameter',
    'temperature',
  ],
  'an effort for a model without': [
    { reasoning: { effort: 'low' } },
    'unsupported_parameter',
    'reasoning.effort',
  ],
  'an effort the model does not have': [
    { ...reasoner, reasoning: { effort: 'xhigh' } },
    'unsupported_value',
    'reasoning.effort',
    /'minimal', 'low', 'medium', 'high'/,
  ],
  'encrypted reasoning of a model without any': [
    { include: ['reasoning.encrypted_content'] },
    null,
    'include',
  ],
  'an unknown value of include': [{ include: ['everything'] }, 'invalid_value', 'include[0]'],
  'stream options without a stream': [
    { stream_options: { include_obfuscation: false } },
    null,
    'stream_options',
  ],
  "text of an answer among the asker's": [
    show({ type: 'output_text', text: 'a' }),
    'invalid_value',
    'input[1].content[0].type',
  ],
  'text of an asker among the answers': [
    say({ role: 'assistant', content: [{ type: 'input_text', text: 'a' }] }),
    'invalid_value',
    'input[1].content[0].type',
  ],
  'an unknown item': [say({ type: 'thinking' }), 'invalid_value', 'input[1].type'],
  'a call without its output': [
    say(callTool('a'), callTool('b'), output('a')),
    null,
    'input',
    /^No tool output found for function call b\.$/,
  ],
  'tools that a user brings': [
    say({ type: 'additional_tools', role: 'user', tools: [] }),
    'invalid_value',
    'input[1].role',
  ],
  'an output without its call': [
    say(output('a')),
    null,
    'input',
    /^No tool call found for function call output with call_id a\.$/,
  ],
  'an output before its call': [say(output('a'), callTool('a')), null, 'input', /No tool call found/],
  'an output of the other kind': [
    say(callTool('a'), { type: 'custom_tool_call_output', call_id: 'a', output: 'x' }),
    null,
    'input',
  ],
  'two calls of one id': [say(callTool('a'), callTool('a'), output('a')), null, 'input', /Duplicate/],
  'a call id longer than 64': [
    say(callTool('x'.repeat(65)), output('x'.repeat(65))),
    'string_above_max_length',
    'input[1].call_id',
  ],
  'an empty call id': [say(callTool(''), output('')), 'empty_string', 'input[1].call_id'],
  'an item id of another family': [
    say(callTool('a', { id: 'call_1' }), output('a')),
    'invalid_value',
    'input[1].id',
  ],
  'arguments as an object': [
    say(callTool('a', { arguments: {} }), output('a')),
    'invalid_type',
    'input[1].arguments',
  ],
  'a thought that nothing follows': [
    say({ ...thought, encrypted_content: 'gAAAAAgiven' }),
    null,
    'input',
    /without its required following item/,
  ],
  'a thought before a question': [
    say({ ...thought, encrypted_content: 'gAAAAAgiven' }, user),
    null,
    'input',
    /without its required following item/,
  ],
  'a thought it never had': [
    say(thought, { role: 'assistant', content: 'a' }),
    null,
    'input',
    /^Item with id 'rs_1' not found/,
  ],
  'a forged thought': [
    say({ ...thought, encrypted_content: 'gAAAAABforged' }, { role: 'assistant', content: 'a' }),
    'invalid_encrypted_content',
    null,
    /could not be decrypted or parsed/,
  ],
  'a reference to an item it never had': [say({ type: 'item_reference', id: 'msg_1' }), null, 'input'],
  'a response it never gave': [
    { previous_response_id: 'resp_1' },
    'previous_response_not_found',
    'previous_response_id',
  ],
  'base64 of the other alphabet': [
    show({ type: 'input_image', image_url: 'data:image/png;base64,_-8=' }),
    'invalid_value',
    'input[1].content[0].image_url',
  ],
  'base64 without its prefix': [
    show({ type: 'input_image', image_url: pixel }),
    'invalid_value',
    'input[1].content[0].image_url',
  ],
  'a picture that is not there': [
    show({ type: 'input_image' }),
    'missing_required_parameter',
    'input[1].content[0].image_url',
  ],
  'a file without a name': [
    show({ type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' }),
    'missing_required_parameter',
    'input[1].content[0].filename',
  ],
  'a tool as chat-completions has them': [
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    'missing_required_parameter',
    'tools[0].name',
  ],
  'a tool name with a dot': [{ tools: [tool({ name: 'a.b' })] }, 'invalid_value', 'tools[0].name'],
  'two tools of one name': [{ tools: [tool(), tool()] }, null, 'tools'],
  'a tool whose schema is no object': [
    { tools: [tool({ parameters: {} })] },
    'invalid_function_parameters',
    'tools[0].parameters',
  ],
  'a strict schema left open': [
    { tools: [tool({ strict: true })] },
    'invalid_function_parameters',
    'tools[0].parameters',
  ],
  'a required call without tools': [{ tool_choice: 'required' }, null, 'tool_choice'],
  'a choice of a tool that is not there': [
    { tools: [tool()], tool_choice: { type: 'function', name: 'g' } },
    null,
    'tool_choice',
  ],
  'an answer schema left open': [
    {
      text: {
        format: { type: 'json_schema', name: 'a', strict: true, schema: { type: 'object', properties: {} } },
      },
    },
    'invalid_json_schema',
    'text.format.schema',
  ],
  'an answer schema without a name': [
    { text: { format: { type: 'json_schema', schema: {} } } },
    'missing_required_parameter',
    'text.format.name',
  ],
  'JSON mode that the prompt does not mention': [
    { text: { format: { type: 'json_object' } } },
    null,
    'input',
  ],
  'cache breakpoints for a model without': [
    show({ type: 'input_text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } }),
    'unsupported_parameter',
    'prompt_cache_options',
  ],
  'a search with hardly any thought': [
    { ...reasoner, tools: [{ type: 'web_search' }], reasoning: { effort: 'minimal' } },
    null,
    'tools',
  ],
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
