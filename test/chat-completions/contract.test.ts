/** The contract of protocols and its laws, for chat completions, with arbitrary bodies and replies. */
import fc from 'fast-check';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { testProtocol } from '../contract/protocol.ts';
import { optional, text, unknown, addUnknown, word } from '../support/arbitrary.ts';
import { markedSo, message, texts } from './arbitrary-messages.ts';
import { anyChunk, replyEvents } from './arbitrary-replies.ts';
import { chooseModel, applyEdits, smallest } from './bodies.ts';

const schema = fc.constantFrom(
  { type: 'object', properties: {} },
  { type: 'object', properties: { model: { type: 'string' } }, additionalProperties: false },
);

const functionTool = fc
  .tuple(
    fc.tuple(unknown, markedSo).map(([rest, marked]) => ({ ...rest, ...marked })),
    addUnknown(
      fc.record(
        {
          name: word,
          description: fc.option(text),
          parameters: fc.option(schema),
          strict: fc.option(fc.boolean()),
        },
        { requiredKeys: ['name'] },
      ),
    ),
  )
  .map(([rest, definition]) => ({ ...rest, type: 'function', function: definition }));

const customTool = fc
  .record(
    { name: word, description: text, format: fc.constant({ type: 'text' }) },
    { requiredKeys: ['name'] },
  )
  .map((custom) => ({ type: 'custom', custom }));

const hostedTool = addUnknown(
  fc.record({ type: fc.constantFrom('openrouter:web_search', 'browser_search') }),
);

const format = fc.oneof(
  fc.constantFrom(
    { type: 'text' },
    { type: 'json_object' },
    { type: 'json_object', schema: { type: 'object' } },
    { type: 'json_object', schema: null },
  ),
  addUnknown(
    fc.record(
      { name: word, description: text, schema, strict: fc.option(fc.boolean()) },
      { requiredKeys: ['name'] },
    ),
  ).map((definition) => ({ type: 'json_schema', json_schema: definition })),
);

const streaming = fc.oneof(
  fc.record({ stream: fc.constant(false) }, { requiredKeys: [] }),
  fc.record(
    {
      stream: fc.constant(true),
      stream_options: fc.record(
        { include_usage: fc.boolean(), include_obfuscation: fc.boolean() },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['stream'] },
  ),
);

const limit = fc.oneof(
  fc.constant({}),
  fc
    .constantFrom('max_tokens', 'max_completion_tokens')
    .chain((field) => fc.integer({ min: 1, max: 9999 }).map((count) => ({ [field]: count }))),
);

const scalars = optional({
  temperature: fc.double({ min: 0, max: 2, noNaN: true }).map((value) => value + 0),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
  frequency_penalty: fc.integer({ min: -2, max: 2 }),
  presence_penalty: fc.integer({ min: -2, max: 2 }),
  n: fc.integer({ min: 1, max: 128 }),
  stop: fc.oneof(text, fc.array(text, { maxLength: 4 })),
  parallel_tool_calls: fc.boolean(),
  response_format: format,
  seed: fc.maxSafeInteger(),
  logit_bias: fc.dictionary(word, fc.integer({ min: -100, max: 100 }), { maxKeys: 2 }),
  metadata: fc.dictionary(word, text, { maxKeys: 2 }),
  user: text,
  safety_identifier: text,
  reasoning_effort: fc.constantFrom('low', 'high'),
  reasoning: fc.record(
    {
      effort: fc.constantFrom('low', 'high'),
      max_tokens: fc.nat(),
      exclude: fc.boolean(),
      enabled: fc.boolean(),
    },
    { requiredKeys: [] },
  ),
  verbosity: fc.constantFrom('low', 'medium', 'high'),
  modalities: fc.constant(['text', 'audio']),
  service_tier: word,
  store: fc.boolean(),
  prompt_cache_key: word,
  prediction: fc.record({ type: fc.constant('content'), content: texts }),
  web_search_options: fc.record(
    { search_context_size: fc.constantFrom('low', 'high') },
    { requiredKeys: [] },
  ),
});

const logprobs = fc.constantFrom(
  {},
  { logprobs: false },
  { logprobs: true },
  { logprobs: true, top_logprobs: 5 },
  { logprobs: null, top_logprobs: 0 },
);

const calling = fc.oneof(
  fc.constant({}),
  fc
    .tuple(
      fc.array(fc.oneof(functionTool, customTool, hostedTool), { maxLength: 3 }),
      fc.constantFrom('auto', 'none'),
    )
    .map(([tools, choice]) => ({ tools, tool_choice: choice })),
  functionTool.map((tool) => ({
    tools: [tool],
    tool_choice: { type: 'function', function: { name: tool.function.name } },
  })),
  functionTool.map((tool) => ({
    tools: [tool],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: {
        mode: 'required',
        tools: [{ type: 'function', function: { name: tool.function.name } }],
      },
    },
  })),
  fc
    .record({ name: word, parameters: schema })
    .map((definition) => ({ functions: [definition], function_call: { name: definition.name } })),
);

/** Bodies as clients may write them. */
const requestBody = fc
  .tuple(
    unknown,
    fc.array(message, { minLength: 1, maxLength: 5 }),
    streaming,
    limit,
    scalars,
    logprobs,
    calling,
  )
  .map(([rest, messages, ...parts]): Record<string, unknown> =>
    Object.assign({ ...rest, model: 'openai/gpt-5.5', messages }, ...parts),
  );

testProtocol({
  protocol,
  cases: new URL('../golden/chat-completions/', import.meta.url),
  model: chooseModel,
  sent: applyEdits,
  arbitrary: {
    request: requestBody,
    reply: replyEvents,
    asking: (reply) => ({
      ...smallest,
      n: Math.max(1, reply.filter(({ type }) => type === 'finish').length),
      stream: true,
    }),
    event: anyChunk,
  },
});
