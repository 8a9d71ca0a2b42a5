/** Generates bodies and replies for the property tests. */
import fc from 'fast-check';
import type { CanonicalEvent } from '../../core/index.ts';
import { optional, text, unknown, withUnknown, word } from '../support/arbitrary.ts';

function some(
  members: Record<string, fc.Arbitrary<unknown>>,
  required: string[],
): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(members, { requiredKeys: required });
}

const mark = some(
  {
    prompt_cache_breakpoint: fc.option(
      some({ mode: fc.constant('explicit'), ttl: fc.constantFrom('30m', '12h', null) }, ['mode']),
    ),
  },
  [],
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
        'DATA:image/png;base64,',
        'data:image/svg+xml;charset=utf-8;base64,',
      ),
      base64,
    )
    .map(([prefix, data]) => prefix + data),
);
const inputText = some({ type: fc.constant('input_text'), text }, ['type', 'text']);
const image = fc.oneof(
  some(
    {
      type: fc.constant('input_image'),
      image_url: url,
      detail: fc.constantFrom('auto', 'low', 'high', 'original', null),
    },
    ['type', 'image_url'],
  ),
  some({ type: fc.constant('input_image'), image_url: url, file_id: fc.option(word) }, ['type', 'image_url']),
  some({ type: fc.constant('input_image'), file_id: word, image_url: fc.constant(null) }, [
    'type',
    'file_id',
  ]),
);
const file = fc.oneof(
  some(
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
  some({ type: fc.constant('input_file'), file_url: url, filename: word, detail: fc.constant('low') }, [
    'type',
    'file_url',
  ]),
  some({ type: fc.constant('input_file'), file_id: word, file_data: fc.constant(null) }, ['type', 'file_id']),
);
const audio = fc
  .record({ data: base64, format: fc.constantFrom('wav', 'mp3') })
  .map((input_audio) => ({ type: 'input_audio', input_audio }));
const inputPart = withUnknown(
  fc.tuple(mark, fc.oneof(inputText, image, file, audio)).map(([cache, part]) => ({ ...part, ...cache })),
);
const outputPart = withUnknown(
  fc.oneof(
    some(
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

const message = withUnknown(
  fc.oneof(
    some(
      {
        type: fc.constantFrom('message', null),
        role: fc.constantFrom('user', 'system', 'developer'),
        content: fc.oneof(text, inputs),
        id: fc.option(word),
        status,
      },
      ['role', 'content'],
    ),
    some(
      {
        type: fc.constantFrom('message', null),
        role: fc.constant('assistant'),
        content: text,
        phase: fc.constantFrom('commentary', null),
      },
      ['role', 'content'],
    ),
    some(
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
    some({ role: fc.constant('assistant'), content: fc.oneof(outputs, inputs) }, ['role', 'content']),
  ),
);
const call = withUnknown(
  fc.oneof(
    some(
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
    some(
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
const result = withUnknown(
  some(
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
  fc.array(withUnknown(fc.record({ type: fc.constant(type), text })), { maxLength: 3 });
const reasoning = withUnknown(
  some(
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
const hosted = withUnknown(
  fc.oneof(
    fc.record({
      type: fc.constant('web_search_call'),
      id: word,
      status: fc.constant('completed'),
      action: fc.constant({ type: 'search', query: 'x' }),
    }),
    fc.record({ type: fc.constant('local_shell_call_output'), id: word, output: text }),
    some(
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
const functionTool = withUnknown(
  some(
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
const customTool = withUnknown(
  some(
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
const space = withUnknown(
  some(
    {
      type: fc.constant('namespace'),
      name: word,
      description: fc.option(text),
      tools: fc.array(fc.oneof(functionTool, customTool), { maxLength: 3 }),
    },
    ['type', 'name', 'tools'],
  ),
);
const hostedTool = withUnknown(
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
  withUnknown(fc.constantFrom({ type: 'text' }, { type: 'json_object' })),
  withUnknown(
    some(
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
  stream_options: withUnknown(some({ include_obfuscation: fc.boolean() }, [])),
  max_output_tokens: fc.integer({ min: 1, max: 9999 }),
  max_tool_calls: fc.integer({ min: 1, max: 9 }),
  temperature: fc.double({ min: 0, max: 2, noNaN: true }).map((value) => value + 0),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
  top_logprobs: fc.integer({ min: 0, max: 20 }),
  parallel_tool_calls: fc.boolean(),
  reasoning: withUnknown(
    optional({
      effort: fc.constantFrom('low', 'high'),
      summary: fc.constantFrom('auto', 'concise', 'detailed'),
      mode: word,
    }),
  ),
  text: withUnknown(optional({ format, verbosity: fc.constantFrom('low', 'high') })),
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

type Said =
  | { kind: 'text' | 'reasoning' | 'refusal'; pieces: string[]; sealed: boolean }
  | { kind: 'tool-call'; id: string; name: string; pieces: string[]; custom: boolean; sealed: boolean };

const pieces = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 3,
});
const said: fc.Arbitrary<Said> = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'reasoning', 'refusal'), pieces, sealed: fc.boolean() }),
  fc.record({
    kind: fc.constant('tool-call' as const),
    id: fc.uuid(),
    name: word,
    pieces,
    custom: fc.boolean(),
    sealed: fc.boolean(),
  }),
);
const ending = fc.constantFrom('stop', 'length', 'content-filter' as const);
const usage = fc.record({
  input: fc.nat(9999),
  output: fc.nat(9999),
  cacheRead: fc.nat(999),
  cacheWrite5m: fc.nat(999),
  reasoning: fc.nat(999),
});

/** One vendor seals calls, another reasoning. Only calls in one piece have their sealed state in time. */
function sealOf(block: Said): { opaque: { vendor: string; kind: string; value: string }[] } | undefined {
  if (!block.sealed || block.kind === 'refusal' || block.kind === 'text') return undefined;
  if (block.kind === 'reasoning')
    return {
      opaque: [
        { vendor: block.pieces.length > 1 ? 'openai' : 'anthropic', kind: 'encrypted', value: 'c2VhbA==' },
      ],
    };
  return block.pieces.length > 1
    ? undefined
    : { opaque: [{ vendor: 'google', kind: 'signature', value: 'c2lnbg==' }] };
}

/** Whole replies that any decoder may emit, with one candidate: this protocol has no more. */
export const replyEvents = fc
  .tuple(fc.array(said, { maxLength: 5 }), ending, usage)
  .map(([blocks, unified, counted]): CanonicalEvent[] => {
    const calls = blocks.some(({ kind }) => kind === 'tool-call');
    const refused = blocks.some(({ kind }) => kind === 'refusal');
    const events = blocks.flatMap((block, index): CanonicalEvent[] => {
      const place = { candidate: 0, block: index };
      const facts =
        block.kind === 'tool-call'
          ? { id: block.id, name: block.name, ...(block.custom ? { custom: true } : {}) }
          : {};
      return [
        { type: 'block-start', ...place, kind: block.kind, ...facts },
        ...block.pieces.map((piece): CanonicalEvent => ({ type: 'block-delta', ...place, text: piece })),
        { type: 'block-end', ...place, ...sealOf(block) },
      ];
    });
    const reason = unified !== 'stop' ? unified : calls ? 'tool-calls' : refused ? 'refusal' : 'stop';
    return [
      { type: 'response-start' },
      ...events,
      { type: 'usage', usage: counted },
      { type: 'finish', candidate: 0, reason: { unified: reason, raw: unified } },
      { type: 'response-end' },
    ];
  });
