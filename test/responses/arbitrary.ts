/** Generates bodies and replies for the property tests. */
import fc from 'fast-check';
import { optional, text, unknown, addUnknown, word } from '../support/arbitrary.ts';
import { items, makeRecord } from './arbitrary-items.ts';

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
export const requestBody = fc
  .tuple(unknown, fc.oneof(text, items), scalars, calling)
  .map(([rest, input, ...parts]): Record<string, unknown> =>
    Object.assign({ ...rest, model: 'openai/gpt-5.5', input }, ...parts),
  );
