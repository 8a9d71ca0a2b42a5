/** The contract of protocols and its laws, for messages, with arbitrary bodies and replies. */
import fc from 'fast-check';
import type { CanonicalEvent } from '../../core/index.ts';
import { testProtocol } from '../contract/protocol.ts';
import { anything, call, buildEvents, hasCall, pieces, some } from '../support/arbitrary-replies.ts';
import { base64, text, word, character, optional, unknown, addUnknown } from '../support/arbitrary.ts';
import { chooseModel, protocol, applyEdits, version } from './bodies.ts';

/** Halves of a text: arguments arrive in pieces. */
function halve(whole: string): string[] {
  return [whole.slice(0, whole.length >> 1), whole.slice(whole.length >> 1)].filter((half) => half !== '');
}

const input = fc.dictionary(word, fc.oneof(text, fc.integer()), { maxKeys: 2 });
const signature = base64.map((value) => [{ vendor: 'anthropic', kind: 'signature', value }]);
const said = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), pieces }),
  fc.record(
    { kind: fc.constant('reasoning' as const), pieces, opaque: signature },
    { requiredKeys: ['kind', 'pieces'] },
  ),
  fc.record({ ...call, pieces: input.map((args) => halve(JSON.stringify(args))) }),
);

const ending = fc.constantFrom('stop' as const, 'length' as const, 'refusal' as const);

const usage = fc.record(
  {
    input: fc.integer({ min: 5000, max: 9999 }),
    output: fc.nat(9999),
    cacheRead: fc.nat(999),
    cacheWrite5m: fc.nat(99),
    cacheWrite1h: fc.nat(99),
    reasoning: fc.nat(999),
    webSearches: fc.nat(3),
  },
  { requiredKeys: ['input', 'output', 'cacheWrite5m'] },
);

/** Whole replies as any protocol's decoder may produce them; their calls may be interleaved. */
const replyEvents = fc
  .tuple(fc.array(said, { maxLength: 4 }), ending, usage)
  .map(([blocks, raw, counted]): CanonicalEvent[] => [
    { type: 'response-start' },
    ...blocks.flatMap((block, index) => buildEvents(block, index)),
    { type: 'usage', usage: counted },
    {
      type: 'finish',
      candidate: 0,
      reason: { unified: hasCall(blocks) && raw === 'stop' ? 'tool-calls' : raw, raw },
    },
    { type: 'response-end' },
  ]);

const types = [
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
  'error',
  'later',
];

const parts = [
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'text_delta',
  'thinking_delta',
  'input_json_delta',
  'signature_delta',
  'citations_delta',
];

const part = fc.record(
  {
    type: some(fc.constantFrom(...parts)),
    text: anything,
    thinking: anything,
    signature: anything,
    data: anything,
    id: anything,
    name: some(word),
    input: anything,
    partial_json: some(text),
    citation: some(fc.record({ url: anything, type: anything })),
    stop_reason: some(fc.constantFrom('end_turn', 'tool_use')),
  },
  { requiredKeys: [] },
);

/** What a provider that follows no rules may send. */
const anyEvent = some(
  fc.record(
    {
      type: some(fc.constantFrom(...types)),
      index: some(fc.nat(2)),
      message: some(
        fc.record({ id: anything, model: anything, usage: anything, x_new: anything }, { requiredKeys: [] }),
      ),
      content_block: some(part),
      delta: some(part),
      usage: some(
        fc.record({ input_tokens: some(fc.nat()), output_tokens: some(fc.nat()), cache_creation: anything }),
      ),
      error: anything,
    },
    { requiredKeys: [] },
  ),
);

/** Text that the provider accepts: more than white space. */
const words = fc
  .string({ unit: character, minLength: 1, maxLength: 12 })
  .filter((said) => said.trim() !== '');

function block(
  type: string,
  fields: Record<string, fc.Arbitrary<unknown>>,
  more: Record<string, fc.Arbitrary<unknown>> = {},
): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .tuple(addUnknown(fc.record(fields)), optional(more))
    .map(([known, loose]) => ({ ...known, ...loose, type }));
}

const mark = {
  cache_control: addUnknown(
    fc.record(
      { type: fc.constant('ephemeral'), ttl: fc.constantFrom('5m', '1h') },
      { requiredKeys: ['type'] },
    ),
  ),
};

const textBlock = block('text', { text: words });
const markedText = block('text', { text: words }, mark);

const url = addUnknown(
  fc.record({ type: fc.constant('url'), url: fc.constantFrom('https://a.example/x', 'http://b.example') }),
);

const file = addUnknown(fc.record({ type: fc.constant('file'), file_id: word }));

const image = block('image', {
  source: fc.oneof(
    url,
    file,
    addUnknown(
      fc.record({
        type: fc.constant('base64'),
        media_type: fc.constantFrom('image/png', 'image/webp'),
        data: base64,
      }),
    ),
  ),
});

const document = block(
  'document',
  {
    source: fc.oneof(
      url,
      file,
      addUnknown(
        fc.record({ type: fc.constant('base64'), media_type: fc.constant('application/pdf'), data: base64 }),
      ),
      addUnknown(fc.record({ type: fc.constant('text'), media_type: fc.constant('text/plain'), data: text })),
      addUnknown(
        fc.record({
          type: fc.constant('content'),
          content: fc.oneof(text, fc.array(textBlock, { maxLength: 2 })),
        }),
      ),
    ),
  },
  { title: text, context: text, citations: fc.record({ enabled: fc.boolean() }) },
);

const searchResult = block('search_result', {
  source: word,
  title: text,
  content: fc.array(
    fc.oneof(
      textBlock,
      text.map((said) => ({ type: 'text', text: said })),
    ),
    { maxLength: 2 },
  ),
});

const vendorBlock = block('server_tool_use', {
  id: word,
  name: word,
  input: fc.dictionary(word, fc.jsonValue({ maxDepth: 1 })),
});

const toolUse = block(
  'tool_use',
  { id: word, name: word, input: fc.dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }) },
  { caller: fc.record({ type: fc.constant('direct') }) },
);

const resultPart = fc.oneof(
  textBlock,
  image,
  document,
  searchResult,
  block('tool_reference', { tool_name: word }),
);

const toolResult = block(
  'tool_result',
  { tool_use_id: fc.uuid() },
  { content: fc.oneof(words, fc.array(resultPart, { maxLength: 3 })), is_error: fc.boolean() },
);

const thinking = fc.oneof(
  block('thinking', { thinking: text, signature: base64 }),
  block('redacted_thinking', { data: base64 }),
);

const message = addUnknown(
  fc.oneof(
    fc.record({
      role: fc.constantFrom('user', 'system'),
      content: fc.oneof(words, fc.array(textBlock, { minLength: 1, maxLength: 3 })),
    }),
    fc.record({
      role: fc.constant('user'),
      content: fc.array(fc.oneof(textBlock, image, document, searchResult, toolResult, vendorBlock), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
    fc.record({
      role: fc.constant('assistant'),
      content: fc.oneof(
        words,
        fc.array(fc.oneof(textBlock, thinking, toolUse, vendorBlock), { minLength: 1, maxLength: 4 }),
      ),
    }),
  ),
);

const tool = fc.oneof(
  fc
    .tuple(
      unknown,
      word,
      optional({
        type: fc.constant('custom'),
        description: text,
        strict: fc.boolean(),
        defer_loading: fc.boolean(),
      }),
      fc.constantFrom({ type: 'object' }, { type: 'object', properties: { x: {} } }),
    )
    .map(([rest, name, loose, schema]) => ({ ...rest, ...loose, name, input_schema: schema })),
  fc.record({ type: fc.constantFrom('bash_20250124', 'web_search_20250305'), name: word }),
);

const off = optional({ disable_parallel_tool_use: fc.boolean() });

const calling = fc.oneof(
  fc.constant({}),
  fc.record({ tools: fc.array(tool, { maxLength: 3 }) }),
  fc
    .tuple(tool, off, fc.constantFrom('auto', 'any'))
    .map(([one, flag, type]) => ({ tools: [one], tool_choice: { ...flag, type } })),
  tool.map((one) => ({ tools: [one], tool_choice: { type: 'tool', name: one.name, x_why: 1 } })),
  tool.map((one) => ({ tools: [one], tool_choice: { type: 'none' } })),
);

const reasoning = fc.oneof(
  fc.constant({}),
  fc.record({
    thinking: addUnknown(
      fc.record(
        { type: fc.constant('adaptive'), display: fc.constantFrom('summarized', 'omitted') },
        { requiredKeys: ['type'] },
      ),
    ),
  }),
  fc.record({ thinking: fc.constantFrom({ type: 'disabled' }, { type: 'between_tools', x_how: 1 }) }),
);

const output = optional({
  output_config: addUnknown(
    optional({
      effort: fc.constantFrom('low', 'high', 'max'),
      format: addUnknown(
        fc.record({
          type: fc.constant('json_schema'),
          schema: fc.constant({ type: 'object', properties: {} }),
        }),
      ),
    }),
  ),
});

const olderFormat = fc.oneof(
  fc.constant({}),
  fc.constant({ output_format: { type: 'json_schema', schema: { type: 'object' } } }),
);

const scalars = optional({
  system: fc.oneof(words, fc.array(markedText, { minLength: 1, maxLength: 2 })),
  stream: fc.boolean(),
  temperature: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
  top_k: fc.nat(100),
  stop_sequences: fc.array(text, { maxLength: 3 }),
  metadata: addUnknown(optional({ user_id: text })),
  service_tier: fc.constantFrom('auto', 'standard_only'),
  cache_control: fc.constant({ type: 'ephemeral' }),
  context_management: fc.constant({ edits: [] }),
});

/** Bodies as clients may write them. */
const requestBody = fc
  .tuple(
    unknown,
    fc.array(message, { minLength: 1, maxLength: 5 }),
    fc.integer({ min: 1, max: 9999 }),
    scalars,
    calling,
    reasoning,
    output,
    olderFormat,
  )
  .map(([rest, messages, limit, ...parts]): Record<string, unknown> =>
    Object.assign({ ...rest, model: 'anthropic/claude-test', max_tokens: limit, messages }, ...parts),
  );

testProtocol({
  protocol,
  cases: new URL('../golden/messages/', import.meta.url),
  headers: version,
  model: chooseModel,
  sent: applyEdits,
  arbitrary: { request: requestBody, reply: replyEvents, event: anyEvent },
});
