/** Base64 of requests: what is accepted as such, and what each protocol refuses by the name of its field. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Match } from '../../core/index.ts';
import { isBase64 } from '../../plugins/shared/wire-kit/media.ts';
import { textProtocols } from '../support/front.ts';
import { createHost } from '../support/host.ts';

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 50 }),
  fc.integer({ min: 24_570, max: 24_580 }).map((length) => new Uint8Array(length).fill(255)),
);

it('base64 in either alphabet, with padding or without, in lines or in one is accepted', () => {
  fc.assert(
    fc.property(bytes, (data) => {
      const text = Buffer.from(data).toString('base64');
      const spellings = [
        text,
        text.replace(/=+$/, ''),
        Buffer.from(data).toString('base64url'),
        text.replaceAll(/.{1,76}/g, '$&\r\n'),
      ];
      expect(spellings.filter((each) => !isBase64(each))).toEqual([]);
    }),
  );
});

it.each([
  '%',
  'QUJD!',
  'QQ===',
  'QQ=Q',
  'Q',
  'QUJDQ',
  '=',
  'é',
  'QUJD\0',
  `${'A'.repeat(40_000)}*`,
  `${'A'.repeat(65_537)}`,
])('other text is refused (%#)', (text) => {
  expect(isBase64(text)).toBe(false);
});

const bad = 'not*base64';
const badUrl = `data:image/png;base64,${bad}`;
const protocols = createHost(textProtocols()).protocols;

const ask = (parts: readonly object[]): object => ({
  model: 'a/b',
  messages: [{ role: 'user', content: parts }],
});
const respond = (item: object): object => ({ model: 'a/b', input: [item] });
const respondTo = (part: object): object => respond({ role: 'user', content: [part] });
const message = (block: object): object => ({ ...ask([block]), max_tokens: 9 });
const generate = (part: object): object => ({ contents: [{ role: 'user', parts: [part] }] });
const source = { type: 'base64', media_type: 'image/png', data: bad };
const image = { type: 'image', source };
const inlineData = { mimeType: 'image/png', data: bad };

const cases: readonly (readonly [string, object, string])[] = [
  [
    'chat-completions',
    ask([{ type: 'image_url', image_url: { url: badUrl } }]),
    'messages[0].content[0].image_url.url',
  ],
  ['chat-completions', ask([{ type: 'image_url', image_url: badUrl }]), 'messages[0].content[0].image_url'],
  [
    'chat-completions',
    ask([{ type: 'input_audio', input_audio: { data: bad, format: 'wav' } }]),
    'messages[0].content[0].input_audio.data',
  ],
  [
    'chat-completions',
    ask([{ type: 'input_audio', input_audio: bad }]),
    'messages[0].content[0].input_audio',
  ],
  [
    'chat-completions',
    ask([{ type: 'file', file: { file_data: bad } }]),
    'messages[0].content[0].file.file_data',
  ],
  [
    'chat-completions',
    ask([{ type: 'file', file: { file_data: badUrl } }]),
    'messages[0].content[0].file.file_data',
  ],
  [
    'chat-completions',
    ask([{ type: 'video_url', video_url: { url: badUrl } }]),
    'messages[0].content[0].video_url.url',
  ],
  [
    'chat-completions',
    ask([{ type: 'document_url', document_url: badUrl }]),
    'messages[0].content[0].document_url',
  ],
  ['responses', respondTo({ type: 'input_image', image_url: badUrl }), 'input[0].content[0].image_url'],
  ['responses', respondTo({ type: 'input_file', file_data: bad }), 'input[0].content[0].file_data'],
  ['responses', respondTo({ type: 'input_file', file_data: badUrl }), 'input[0].content[0].file_data'],
  [
    'responses',
    respondTo({ type: 'input_audio', input_audio: { data: bad, format: 'wav' } }),
    'input[0].content[0].input_audio.data',
  ],
  [
    'responses',
    respond({
      type: 'function_call_output',
      call_id: 'c',
      output: [{ type: 'input_image', image_url: badUrl }],
    }),
    'input[0].output[0].image_url',
  ],
  [
    'responses',
    respond({ type: 'image_generation_call', id: 'ig', status: 'completed', result: bad }),
    'input[0].result',
  ],
  [
    'responses',
    respond({
      type: 'computer_call_output',
      call_id: 'c',
      output: { type: 'computer_screenshot', image_url: badUrl },
    }),
    'input[0].output.image_url',
  ],
  ['messages', message(image), 'messages[0].content[0].source.data'],
  [
    'messages',
    message({ type: 'document', source: { ...source, media_type: 'application/pdf' } }),
    'messages[0].content[0].source.data',
  ],
  [
    'messages',
    message({ type: 'document', source: { type: 'content', content: [image] } }),
    'messages[0].content[0].source.content[0].source.data',
  ],
  [
    'messages',
    message({ type: 'tool_result', tool_use_id: 't', content: [image] }),
    'messages[0].content[0].content[0].source.data',
  ],
  ['generate-content', generate({ inlineData }), 'contents[0].parts[0].inlineData.data'],
  [
    'generate-content',
    generate({ inline_data: { mime_type: 'image/png', data: bad } }),
    'contents[0].parts[0].inline_data.data',
  ],
  [
    'generate-content',
    generate({ functionResponse: { name: 'f', response: {}, parts: [{ inlineData }] } }),
    'contents[0].parts[0].functionResponse.parts[0].inlineData.data',
  ],
];

const paths: Readonly<Record<string, string>> = {
  'chat-completions': '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  'generate-content': '/v1/models/a/b:generateContent',
};
const read = (name: string, body: object): unknown => {
  const { client } = protocols.get(name);
  const match: Match | undefined = client.match('POST', paths[name] ?? '', '');
  if (!match) throw new Error(`${name} is not at ${paths[name]}`);
  return client.read(body, JSON.stringify(body), match, { 'anthropic-version': '2023-06-01' });
};

it.each(cases)(
  'bad base64 is refused by %s (%#), and good base64 at the same place is accepted',
  (name, body, param) => {
    expect(() => read(name, body)).toThrow(
      expect.objectContaining({ code: 'invalid_request', details: expect.objectContaining({ param }) }),
    );
    const mended: object = JSON.parse(JSON.stringify(body).replaceAll(bad, 'iVBORw0KGgo='));
    expect(() => read(name, mended)).not.toThrow();
  },
);
