/** Any items of a request's input. */
import fc from 'fast-check';
import { base64, text, addUnknown, word, url as anyUrl } from '../support/arbitrary.ts';

export function makeRecord(
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

export const items = fc.array(fc.oneof(message, message, call, result, reasoning, hosted), {
  minLength: 1,
  maxLength: 8,
});
