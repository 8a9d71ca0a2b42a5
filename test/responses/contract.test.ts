/** The contract of protocols and its laws, for responses, with arbitrary bodies and replies. */
import fc from 'fast-check';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { testProtocol } from '../contract/protocol.ts';
import { base64, text, addUnknown, word, url as anyUrl, optional, unknown } from '../support/arbitrary.ts';
import { replyEvents } from './arbitrary-replies.ts';
import { chooseModel, applyEdits } from './bodies.ts';

function makeRecord(
  members: Record<string, fc.Arbitrary<unknown>>,
  required: string[],
): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(members, { requiredKeys: required });
}

const mark = makeRecord(
  {
    prompt_cache_breakpoint: fc.option(
      makeRecord({ mode: fc.constant('explicit'), ttl: fc.constantFrom('30m', '12h', null) }, ['mode']),
    ),
  },
  [],
);

const url = fc.oneof(
  anyUrl,
  base64.map((data) => `DATA:image/png;base64,${data}`),
);

const inputText = makeRecord({ type: fc.constant('input_text'), text }, ['type', 'text']);

const image = fc.oneof(
  makeRecord(
    {
      type: fc.constant('input_image'),
      image_url: url,
      detail: fc.constantFrom('auto', 'low', 'high', 'original', null),
    },
    ['type', 'image_url'],
  ),
  makeRecord({ type: fc.constant('input_image'), image_url: url, file_id: fc.option(word) }, [
    'type',
    'image_url',
  ]),
  makeRecord({ type: fc.constant('input_image'), file_id: word, image_url: fc.constant(null) }, [
    'type',
    'file_id',
  ]),
);

const file = fc.oneof(
  makeRecord(
    {
      type: fc.constant('input_file'),
      file_data: fc.oneof(
        base64,
        base64.map((data) => `data:application/pdf;base64,${data}`),
        base64.map((data) => `data:text/plain;base64,${data}`),
      ),
      filename: fc.option(word),
    },
    ['type', 'file_data'],
  ),
  makeRecord({ type: fc.constant('input_file'), file_url: url, filename: word, detail: fc.constant('low') }, [
    'type',
    'file_url',
  ]),
  makeRecord({ type: fc.constant('input_file'), file_id: word, file_data: fc.constant(null) }, [
    'type',
    'file_id',
  ]),
);

const audio = fc
  .record({ data: base64, format: fc.constantFrom('wav', 'mp3') })
  .map((input_audio) => ({ type: 'input_audio', input_audio }));

const inputPart = addUnknown(
  fc.tuple(mark, fc.oneof(inputText, image, file, audio)).map(([cache, part]) => ({ ...part, ...cache })),
);

const outputPart = addUnknown(
  fc.oneof(
    makeRecord(
      {
        type: fc.constant('output_text'),
        text,
        annotations: fc.oneof(
          fc.constant([]),
          fc.constant(null),
          fc.constant([{ type: 'file_path', file_id: 'f', index: 1 }]),
        ),
        logprobs: fc.constant([]),
      },
      ['type', 'text'],
    ),
    fc.record({ type: fc.constant('refusal'), refusal: text }),
  ),
);

const inputs = fc.array(inputPart, { maxLength: 3 });
const outputs = fc.array(outputPart, { maxLength: 3 });
const status = fc.constantFrom('completed', 'in_progress', 'incomplete', null);

const message = addUnknown(
  fc.oneof(
    makeRecord(
      {
        type: fc.constantFrom('message', null),
        role: fc.constantFrom('user', 'system', 'developer'),
        content: fc.oneof(text, inputs),
        id: fc.option(word),
        status,
      },
      ['role', 'content'],
    ),
    makeRecord(
      {
        type: fc.constantFrom('message', null),
        role: fc.constant('assistant'),
        content: text,
        phase: fc.constantFrom('commentary', null),
      },
      ['role', 'content'],
    ),
    makeRecord(
      {
        type: fc.constant('message'),
        role: fc.constant('assistant'),
        content: outputs,
        id: word,
        status: fc.constant('completed'),
        phase: fc.constantFrom('commentary', null),
      },
      ['type', 'id', 'status', 'role', 'content'],
    ),
    makeRecord({ role: fc.constant('assistant'), content: fc.oneof(outputs, inputs) }, ['role', 'content']),
  ),
);

const call = addUnknown(
  fc.oneof(
    makeRecord(
      {
        type: fc.constant('function_call'),
        call_id: word,
        name: word,
        arguments: text,
        id: fc.option(word),
        status,
        namespace: fc.option(word),
      },
      ['type', 'call_id', 'name', 'arguments'],
    ),
    makeRecord(
      {
        type: fc.constant('custom_tool_call'),
        call_id: word,
        name: word,
        input: text,
        id: word,
        namespace: fc.option(word),
      },
      ['type', 'call_id', 'name', 'input'],
    ),
  ),
);

const result = addUnknown(
  makeRecord(
    {
      type: fc.constantFrom('function_call_output', 'custom_tool_call_output'),
      call_id: word,
      output: fc.oneof(text, inputs),
      id: fc.option(word),
      status,
    },
    ['type', 'call_id', 'output'],
  ),
);

const thought = (type: string): fc.Arbitrary<unknown[]> =>
  fc.array(addUnknown(fc.record({ type: fc.constant(type), text })), { maxLength: 3 });

const reasoning = addUnknown(
  makeRecord(
    {
      type: fc.constant('reasoning'),
      id: word,
      summary: thought('summary_text'),
      content: fc.option(thought('reasoning_text')),
      encrypted_content: fc.option(base64),
      status,
    },
    ['type'],
  ),
);

const hosted = addUnknown(
  fc.oneof(
    fc.record({
      type: fc.constant('web_search_call'),
      id: word,
      status: fc.constant('completed'),
      action: fc.constant({ type: 'search', query: 'x' }),
    }),
    fc.record({ type: fc.constant('local_shell_call_output'), id: word, output: text }),
    makeRecord(
      {
        type: fc.constant('image_generation_call'),
        id: fc.option(word),
        status: fc.constantFrom('completed', 'generating'),
        result: fc.option(base64),
        output_format: fc.constantFrom('png', 'webp', null),
        size: fc.constant('1024x1024'),
      },
      ['type'],
    ),
    fc.record({ type: word.map((name) => `later_${name}`), x: fc.jsonValue({ maxDepth: 1 }) }),
  ),
);

const items = fc.array(fc.oneof(message, message, call, result, reasoning, hosted), {
  minLength: 1,
  maxLength: 8,
});

const schema = fc.constantFrom(
  { type: 'object', properties: {} },
  { type: 'object', properties: { model: { type: 'string' } }, additionalProperties: false },
);

const functionTool = addUnknown(
  makeRecord(
    {
      type: fc.constant('function'),
      name: word,
      description: fc.option(text),
      parameters: fc.option(schema),
      strict: fc.option(fc.boolean()),
    },
    ['type', 'name'],
  ),
);

const customTool = addUnknown(
  makeRecord(
    {
      type: fc.constant('custom'),
      name: word,
      description: text,
      format: fc.constantFrom(
        { type: 'text' },
        { type: 'grammar', syntax: 'lark', definition: 'x', x_more: 1 },
        null,
      ),
    },
    ['type', 'name'],
  ),
);

const space = addUnknown(
  makeRecord(
    {
      type: fc.constant('namespace'),
      name: word,
      description: fc.option(text),
      tools: fc.array(fc.oneof(functionTool, customTool), { maxLength: 3 }),
    },
    ['type', 'name', 'tools'],
  ),
);

const hostedTool = addUnknown(
  fc.record({ type: fc.constantFrom('web_search', 'mcp', 'local_shell', 'later_tool') }),
);

const tools = fc.array(fc.oneof(functionTool, customTool, hostedTool, space), { maxLength: 4 });

const calling = fc.oneof(
  fc.constant({}),
  fc
    .tuple(tools, fc.constantFrom('auto', 'none', null))
    .map(([list, choice]) => ({ tools: list, tool_choice: choice })),
  fc
    .tuple(functionTool, unknown)
    .map(([tool, rest]) => ({ tools: [tool], tool_choice: { ...rest, type: 'function', name: tool.name } })),
  customTool.map((tool) => ({
    tools: [tool],
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'custom', name: tool.name }] },
  })),
  hostedTool.map((tool) => ({ tools: [tool], tool_choice: { type: tool.type } })),
);

const format = fc.oneof(
  addUnknown(fc.constantFrom({ type: 'text' }, { type: 'json_object' })),
  addUnknown(
    makeRecord(
      {
        type: fc.constant('json_schema'),
        name: word,
        description: fc.option(text),
        schema,
        strict: fc.option(fc.boolean()),
      },
      ['type', 'name', 'schema'],
    ),
  ),
);

const scalars = optional({
  instructions: text,
  stream: fc.boolean(),
  stream_options: addUnknown(makeRecord({ include_obfuscation: fc.boolean() }, [])),
  max_output_tokens: fc.integer({ min: 1, max: 9999 }),
  max_tool_calls: fc.integer({ min: 1, max: 9 }),
  temperature: fc.double({ min: 0, max: 2, noNaN: true }).map((value) => value + 0),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
  top_logprobs: fc.integer({ min: 0, max: 20 }),
  parallel_tool_calls: fc.boolean(),
  reasoning: addUnknown(
    optional({
      effort: fc.constantFrom('low', 'high'),
      summary: fc.constantFrom('auto', 'concise', 'detailed'),
      mode: word,
    }),
  ),
  text: addUnknown(optional({ format, verbosity: fc.constantFrom('low', 'high') })),
  include: fc.subarray(
    ['reasoning.encrypted_content', 'message.output_text.logprobs', 'web_search_call.results', 'later'],
    { minLength: 0 },
  ),
  truncation: fc.constantFrom('auto', 'disabled'),
  store: fc.boolean(),
  metadata: fc.dictionary(word, text, { maxKeys: 2 }),
  user: text,
  safety_identifier: text,
  service_tier: word,
  prompt_cache_key: word,
  prompt_cache_options: fc.record({ mode: fc.constant('explicit') }),
  background: fc.constant(false),
  previous_response_id: fc.constant(null),
});

/** Bodies that a client may send. */
const requestBody = fc
  .tuple(unknown, fc.oneof(text, items), scalars, calling)
  .map(([rest, input, ...parts]): Record<string, unknown> =>
    Object.assign({ ...rest, model: 'openai/gpt-5.5', input }, ...parts),
  );

testProtocol({
  protocol,
  cases: new URL('../golden/responses/', import.meta.url),
  model: chooseModel,
  sent: applyEdits,
  arbitrary: { request: requestBody, reply: replyEvents },
});
