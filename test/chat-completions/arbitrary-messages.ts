/** Any messages of a request of this protocol. */
import fc from 'fast-check';
import { base64, text, addUnknown, word, url } from '../support/arbitrary.ts';

const foreignMark = fc.record(
  { type: fc.constantFrom('ephemeral', 'later'), ttl: fc.constantFrom('5m', '1h', '12h') },
  { requiredKeys: ['type'] },
);

/** Anthropic's cache marks, for everything that can have one. */
export const markedSo = fc.oneof(
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

const textPart = addUnknown(
  fc.tuple(mark, text).map(([cache, said]) => ({ type: 'text', text: said, ...cache })),
);

const imagePart = addUnknown(
  fc
    .tuple(
      mark,
      addUnknown(
        fc.record({ url, detail: fc.constantFrom('auto', 'low', 'high') }, { requiredKeys: ['url'] }),
      ),
    )
    .map(([cache, image]) => ({ type: 'image_url', image_url: image, ...cache })),
);

const audioPart = addUnknown(
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

const filePart = addUnknown(file.map((content) => ({ type: 'file', file: content })));
export const texts = fc.oneof(text, fc.array(textPart, { minLength: 1, maxLength: 3 }));

const userContent = fc.oneof(
  text,
  fc.array(fc.oneof(textPart, imagePart, audioPart, filePart), { minLength: 1, maxLength: 4 }),
);

const refusalPart = text.map((refusal) => ({ type: 'refusal', refusal }));

const assistantContent = fc.oneof(
  text,
  fc.array(fc.oneof(textPart, refusalPart), { minLength: 1, maxLength: 3 }),
);

const plainCall = addUnknown(
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

export const detail = fc.oneof(
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

const plainMessage = addUnknown(
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

export const message = fc.tuple(plainMessage, markedSo).map(([said, marked]) => ({ ...said, ...marked }));
