/** Arbitrary bodies and replies for property tests. */
import fc from 'fast-check';
import type { CanonicalEvent } from '../../core/index.ts';
import { optional, text, unknown, withUnknown, word } from '../support/arbitrary.ts';

const foreignMark = fc.record(
  { type: fc.constantFrom('ephemeral', 'later'), ttl: fc.constantFrom('5m', '1h', '12h') },
  { requiredKeys: ['type'] },
);
/** Anthropic's cache marks, for everything that can have one. */
const markedSo = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.record({ cache_control: foreignMark }),
);
const ownMark = fc.record(
  { mode: fc.constant('explicit'), ttl: fc.constantFrom('30m', '12h', '1h') },
  { requiredKeys: ['mode'] },
);
const mark = fc.record(
  { prompt_cache_breakpoint: ownMark, cache_control: foreignMark },
  { requiredKeys: [] },
);
const textPart = withUnknown(
  fc.tuple(mark, text).map(([cache, said]) => ({ type: 'text', text: said, ...cache })),
);
const base64 = fc.base64String({ minLength: 4, maxLength: 16 });
const url = fc.oneof(
  fc.constantFrom(
    'https://pictures.example/a.png',
    'data:text/plain,hello',
    'data:image/png;base64',
    'ftp://x',
  ),
  fc
    .tuple(
      fc.constantFrom(
        'data:image/png;base64,',
        'data:;base64,',
        'data:IMAGE/PNG;base64,',
        'data:image/svg+xml;charset=utf-8;base64,',
      ),
      base64,
    )
    .map(([prefix, data]) => prefix + data),
);
const imagePart = withUnknown(
  fc
    .tuple(
      mark,
      withUnknown(
        fc.record({ url, detail: fc.constantFrom('auto', 'low', 'high') }, { requiredKeys: ['url'] }),
      ),
    )
    .map(([cache, image]) => ({ type: 'image_url', image_url: image, ...cache })),
);
const audioPart = withUnknown(
  fc
    .record({ data: base64, format: fc.constantFrom('wav', 'mp3') })
    .map((audio) => ({ type: 'input_audio', input_audio: audio })),
);
const file = fc.oneof(
  fc.record(
    {
      file_data: fc.oneof(
        base64,
        base64.map((data) => `data:application/pdf;base64,${data}`),
      ),
      filename: word,
    },
    { requiredKeys: ['file_data'] },
  ),
  fc.record({ file_id: word, filename: word }, { requiredKeys: ['file_id'] }),
);
const filePart = withUnknown(file.map((content) => ({ type: 'file', file: content })));
const texts = fc.oneof(text, fc.array(textPart, { minLength: 1, maxLength: 3 }));
const userContent = fc.oneof(
  text,
  fc.array(fc.oneof(textPart, imagePart, audioPart, filePart), { minLength: 1, maxLength: 4 }),
);
const refusalPart = text.map((refusal) => ({ type: 'refusal', refusal }));
const assistantContent = fc.oneof(
  text,
  fc.array(fc.oneof(textPart, refusalPart), { minLength: 1, maxLength: 3 }),
);
const plainCall = withUnknown(
  fc.oneof(
    fc.tuple(word, word, text, fc.option(base64)).map(([id, name, said, signature]) => ({
      id,
      type: 'function',
      function: { name, arguments: said },
      ...(signature === null ? {} : { extra_content: { openai: { thought_signature: signature } } }),
    })),
    fc.tuple(word, word, text).map(([id, name, input]) => ({ id, type: 'custom', custom: { name, input } })),
  ),
);
const toolCall = fc.tuple(plainCall, markedSo).map(([call, marked]) => ({ ...call, ...marked }));
const detail = fc.oneof(
  fc.record(
    {
      type: fc.constant('reasoning.text'),
      text,
      signature: base64,
      format: fc.constantFrom('openai-responses-v1', null),
      index: fc.nat(3),
    },
    { requiredKeys: ['type'] },
  ),
  fc.record(
    { type: fc.constant('reasoning.summary'), summary: text, id: word },
    { requiredKeys: ['type', 'summary'] },
  ),
  fc.record({
    type: fc.constant('reasoning.encrypted'),
    data: base64,
    format: fc.constant('openai-responses-v1'),
  }),
  fc.record({ type: fc.constant('reasoning.later'), x_field: fc.jsonValue() }),
);
const name = { name: fc.option(word) };
const plainMessage = withUnknown(
  fc.oneof(
    fc.record(
      { role: fc.constantFrom('system', 'developer'), content: texts, ...name },
      { requiredKeys: ['role', 'content'] },
    ),
    fc.record(
      { role: fc.constant('user'), content: userContent, ...name },
      { requiredKeys: ['role', 'content'] },
    ),
    fc.record(
      {
        role: fc.constant('assistant'),
        content: assistantContent,
        refusal: fc.option(text),
        tool_calls: fc.option(fc.array(toolCall, { minLength: 1, maxLength: 2 })),
        reasoning_content: fc.option(text),
        reasoning: fc.option(text),
        reasoning_details: fc.option(fc.array(detail, { maxLength: 3 })),
        audio: fc.option(fc.record({ id: word })),
      },
      { requiredKeys: ['role', 'content'] },
    ),
    fc.record(
      {
        role: fc.constant('assistant'),
        content: fc.constant(null),
        tool_calls: fc.array(toolCall, { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: ['role', 'tool_calls'] },
    ),
    fc.record(
      { role: fc.constant('tool'), content: texts, tool_call_id: word, ...name },
      { requiredKeys: ['role', 'content', 'tool_call_id'] },
    ),
    fc.record({
      role: fc.constant('assistant'),
      content: fc.constant(null),
      function_call: fc.record({ name: word, arguments: text }),
    }),
    fc.record({ role: fc.constant('function'), content: fc.option(text), name: word }),
  ),
);

const message = fc.tuple(plainMessage, markedSo).map(([said, marked]) => ({ ...said, ...marked }));

const schema = fc.constantFrom(
  { type: 'object', properties: {} },
  { type: 'object', properties: { model: { type: 'string' } }, additionalProperties: false },
);
const functionTool = fc
  .tuple(
    fc.tuple(unknown, markedSo).map(([rest, marked]) => ({ ...rest, ...marked })),
    withUnknown(
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
const hostedTool = withUnknown(
  fc.record({ type: fc.constantFrom('openrouter:web_search', 'browser_search') }),
);
const format = fc.oneof(
  fc.constantFrom(
    { type: 'text' },
    { type: 'json_object' },
    { type: 'json_object', schema: { type: 'object' } },
    { type: 'json_object', schema: null },
  ),
  withUnknown(
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
export const requestBody = fc
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

type Said =
  | { kind: 'text' | 'reasoning' | 'refusal'; pieces: string[] }
  | { kind: 'tool-call'; id: string; name: string; pieces: string[]; custom: boolean };

const pieces = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 3,
});
const said: fc.Arbitrary<Said> = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'reasoning', 'refusal'), pieces }),
  fc.record({
    kind: fc.constant('tool-call' as const),
    id: fc.uuid(),
    name: word,
    pieces,
    custom: fc.boolean(),
  }),
);
const ending = fc.constantFrom('stop', 'length', 'content-filter' as const);
const usage = fc.record(
  { input: fc.nat(9999), output: fc.nat(9999), cacheRead: fc.nat(999), reasoning: fc.nat(999) },
  { requiredKeys: ['input', 'output'] },
);

/** The blocks of one candidate as events, numbered from `first`. */
function blockEvents(blocks: readonly Said[], candidate: number, first: number): CanonicalEvent[] {
  return blocks.flatMap((block, index): CanonicalEvent[] => {
    const place = { candidate, block: first + index };
    const facts =
      block.kind === 'tool-call'
        ? { id: block.id, name: block.name, ...(block.custom ? { custom: true } : {}) }
        : {};
    return [
      { type: 'block-start', ...place, kind: block.kind, ...facts },
      ...block.pieces.map((piece): CanonicalEvent => ({ type: 'block-delta', ...place, text: piece })),
      { type: 'block-end', ...place },
    ];
  });
}

/** Whole replies as any protocol's decoder may emit them. */
export const replyEvents = fc
  .tuple(
    fc.array(fc.tuple(fc.array(said, { maxLength: 4 }), ending), { minLength: 1, maxLength: 3 }),
    fc.option(usage, { nil: undefined }),
  )
  .map(([candidates, counted]): CanonicalEvent[] => {
    let blocks = 0;
    const bodies = candidates.map(([list, unified], candidate): CanonicalEvent[] => {
      const events = blockEvents(list, candidate, blocks);
      blocks += list.length;
      const calls = list.some(({ kind }) => kind === 'tool-call');
      return [
        ...events,
        {
          type: 'finish',
          candidate,
          reason: { unified: calls && unified === 'stop' ? 'tool-calls' : unified, raw: unified },
        },
      ];
    });
    return [
      { type: 'response-start' },
      ...bodies.flat(),
      ...(counted ? [{ type: 'usage' as const, usage: counted }] : []),
      { type: 'response-end' },
    ];
  });

/** Valid and invalid values for the fields of a chunk. */
const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), text, fc.constantFrom(null, '', 0, [], {}));
const some = (...values: fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> => fc.oneof(anything, ...values);
const fragment = fc.record(
  {
    index: some(fc.nat(2)),
    id: some(word),
    function: some(fc.record({ name: some(word), arguments: some(text) }, { requiredKeys: [] })),
    custom: anything,
    extra_content: anything,
  },
  { requiredKeys: [] },
);
const delta = fc.record(
  {
    content: some(text),
    refusal: some(text),
    reasoning: some(text),
    reasoning_details: some(fc.array(some(detail), { maxLength: 2 })),
    tool_calls: some(fc.array(some(fragment), { maxLength: 2 })),
    function_call: some(fragment),
    audio: some(fc.record({ id: anything, data: anything, transcript: text }, { requiredKeys: [] })),
    images: some(
      fc.array(some(fc.record({ image_url: some(fc.record({ url: some(url) })) })), { maxLength: 2 }),
    ),
    annotations: some(
      fc.array(some(fc.record({ type: anything, url_citation: anything })), { maxLength: 2 }),
    ),
  },
  { requiredKeys: [] },
);
const choice = fc.record(
  {
    index: some(fc.nat(2)),
    delta: some(delta),
    message: some(delta),
    finish_reason: some(fc.constantFrom('stop', 'length', 'tool_calls')),
    logprobs: some(fc.record({ content: some(fc.array(anything)), refusal: anything })),
  },
  { requiredKeys: [] },
);

/** Chunks of a provider that follows no rules. */
export const anyChunk = some(
  fc.record(
    {
      id: anything,
      created: anything,
      model: anything,
      choices: some(fc.array(some(choice), { maxLength: 2 })),
      usage: some(
        fc.record({
          prompt_tokens: anything,
          completion_tokens: some(fc.nat()),
          total_tokens: some(fc.nat()),
        }),
      ),
      x_new: anything,
    },
    { requiredKeys: [] },
  ),
);
