/** What is not text, in and out. */
import type { Wire } from '../../support/replaying-vendor.ts';
import { has, holds, mentions, type Capability, meetsAll } from '../capability.ts';
import { spellTurns, offerTools, tide, mergeParts } from '../spelling.ts';
import { png, sound, spoken, mp4, pdf, pdfUrl, pictureUrl, wav } from './samples.ts';

/** What the model makes. */
const repliedMedia: readonly Capability[] = [
  {
    name: 'image in a reply',
    model: 'drawing',
    got: {
      responses: holds({ type: 'image_generation' }),
      'generate-content': holds({ responseModalities: ['TEXT', 'IMAGE'] }),
    },
    // One is a tool that draws, the other a model that does.
    possible: (client, wire) => client === wire,
    ask: {
      responses: { tools: [{ type: 'image_generation' }] },
      'generate-content': { generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } },
    },
    does: {
      responses: { pictures: [{ mimeType: 'image/png', data: png }], text: 'Here.' },
      'generate-content': { pictures: [{ mimeType: 'image/png', data: png }], text: 'Here.' },
    },
    shown: {
      responses: holds({ type: 'image_generation_call', result: png }),
      'generate-content': holds({ inlineData: { mimeType: 'image/png', data: png } }),
    },
    shownInstead: { 'chat-completions': mentions(png) },
  },
  {
    name: "the model's own image in later turns",
    model: 'drawing',
    ask: {
      'chat-completions': {
        messages: [
          { role: 'user', content: 'Ahoy' },
          {
            role: 'assistant',
            content: 'Here.',
            images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }],
          },
          { role: 'user', content: 'Larger.' },
        ],
      },
      'generate-content': {
        contents: [
          { role: 'user', parts: [{ text: 'Ahoy' }] },
          { role: 'model', parts: [{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: png } }] },
          { role: 'user', parts: [{ text: 'Larger.' }] },
        ],
      },
    },
    got: {
      'generate-content': holds({
        role: 'model',
        parts: [{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: png } }],
      }),
    },
    // OpenAI's own chat has no field for it, though others who speak it have.
    instead: { 'chat-completions': mentions(png), responses: mentions(png), messages: mentions(png) },
  },
  {
    name: 'audio in a reply',
    model: 'speaking',
    ask: {
      'chat-completions': { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } },
      'generate-content': { generationConfig: { responseModalities: ['AUDIO'] } },
    },
    got: {
      'chat-completions': has({ modalities: ['text', 'audio'], audio: { format: 'pcm16' } }),
      'generate-content': holds({ responseModalities: ['AUDIO'] }),
    },
    // Its voice does not cross.
    regardless: true,
    does: { 'chat-completions': spoken, 'generate-content': spoken },
    shown: {
      'chat-completions': holds({ data: sound }),
      'generate-content': holds({ inlineData: { mimeType: /^audio\//, data: sound } }),
    },
  },
];

/** A question about a part, in the words of each protocol that has the part. */
function askAbout(parts: Partial<Record<Wire, object>>): Partial<Record<Wire, object>> {
  const asked: Record<Wire, (part: object) => object> = {
    'chat-completions': (part) => ({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, part] }],
    }),
    responses: (part) => ({
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'What is this?' }, part] }],
    }),
    messages: (part) => ({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, part] }],
    }),
    'generate-content': (part) => ({
      contents: [{ role: 'user', parts: [{ text: 'What is this?' }, part] }],
    }),
  };
  const entries = Object.entries(parts).map(([wire, part]) => {
    const write = Object.entries(asked).find(([name]) => name === wire)?.[1];
    return [wire, write?.(part)];
  });
  return Object.fromEntries(entries);
}

const call = { id: 'call_1', name: 'tide_at', input: { harbour: 'Hull' } };

const seen = mergeParts(
  spellTurns({ user: 'Ahoy' }, { calls: [call] }, { results: [{ call, text: 'unused' }] }),
  offerTools(tide),
);

export const media: readonly Capability[] = [
  {
    name: 'image by URL',
    ask: askAbout({
      'chat-completions': { type: 'image_url', image_url: { url: pictureUrl } },
      responses: { type: 'input_image', image_url: pictureUrl },
      messages: { type: 'image', source: { type: 'url', url: pictureUrl } },
      'generate-content': { fileData: { mimeType: 'image/png', fileUri: pictureUrl } },
    }),
    got: {
      'chat-completions': holds({ type: 'image_url', image_url: { url: pictureUrl } }),
      responses: holds({ type: 'input_image', image_url: pictureUrl }),
      messages: holds({ type: 'image', source: { type: 'url', url: pictureUrl } }),
      'generate-content': holds({ fileData: { fileUri: pictureUrl } }),
    },
  },
  {
    name: 'image inline',
    ask: askAbout({
      'chat-completions': { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
      responses: { type: 'input_image', image_url: `data:image/png;base64,${png}` },
      messages: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
      'generate-content': { inlineData: { mimeType: 'image/png', data: png } },
    }),
    got: {
      'chat-completions': holds({ image_url: { url: `data:image/png;base64,${png}` } }),
      responses: holds({ type: 'input_image', image_url: `data:image/png;base64,${png}` }),
      messages: holds({ source: { type: 'base64', media_type: 'image/png', data: png } }),
      'generate-content': holds({ inlineData: { mimeType: 'image/png', data: png } }),
    },
  },
  {
    name: 'image detail',
    model: 'thinking',
    ask: askAbout({
      'chat-completions': { type: 'image_url', image_url: { url: pictureUrl, detail: 'low' } },
      responses: { type: 'input_image', image_url: pictureUrl, detail: 'low' },
      'generate-content': {
        fileData: { mimeType: 'image/png', fileUri: pictureUrl },
        mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' },
      },
    }),
    got: {
      'chat-completions': holds({ image_url: { url: pictureUrl, detail: 'low' } }),
      responses: holds({ image_url: pictureUrl, detail: 'low' }),
      'generate-content': holds({ mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' } }),
    },
    instead: { messages: mentions(pictureUrl) },
  },
  {
    name: 'PDF inline',
    ask: askAbout({
      'chat-completions': {
        type: 'file',
        file: { file_data: `data:application/pdf;base64,${pdf}`, filename: 'chart.pdf' },
      },
      responses: {
        type: 'input_file',
        file_data: `data:application/pdf;base64,${pdf}`,
        filename: 'chart.pdf',
      },
      messages: {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: pdf },
        title: 'chart.pdf',
      },
      'generate-content': { inlineData: { mimeType: 'application/pdf', data: pdf } },
    }),
    got: {
      'chat-completions': holds({ type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } }),
      responses: holds({ type: 'input_file', file_data: `data:application/pdf;base64,${pdf}` }),
      messages: holds({
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: pdf },
      }),
      'generate-content': holds({ inlineData: { mimeType: 'application/pdf', data: pdf } }),
    },
  },
  {
    name: 'PDF by URL',
    ask: askAbout({
      responses: { type: 'input_file', file_url: pdfUrl },
      messages: { type: 'document', source: { type: 'url', url: pdfUrl } },
      'generate-content': { fileData: { mimeType: 'application/pdf', fileUri: pdfUrl } },
    }),
    got: {
      responses: holds({ type: 'input_file', file_url: pdfUrl }),
      messages: holds({ type: 'document', source: { type: 'url', url: pdfUrl } }),
      'generate-content': holds({ fileData: { fileUri: pdfUrl } }),
    },
  },
  {
    name: 'document title and context',
    ask: askAbout({
      messages: {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: pdf },
        context: 'Of May.',
      },
    }),
    got: { messages: holds({ type: 'document', context: 'Of May.' }) },
    instead: {
      'chat-completions': mentions('Of May.'),
      responses: mentions('Of May.'),
      'generate-content': mentions('Of May.'),
    },
  },
  {
    name: 'plain-text document',
    ask: askAbout({
      messages: {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'Depth 4 m' },
        title: 'Depths',
      },
      'generate-content': {
        inlineData: { mimeType: 'text/plain', data: Buffer.from('Depth 4 m').toString('base64') },
      },
    }),
    got: {
      messages: mentions('Depth 4 m'),
      'generate-content': (body) =>
        mentions('Depth 4 m')(body) || mentions(Buffer.from('Depth 4 m').toString('base64'))(body),
    },
    instead: {
      'chat-completions': (body) =>
        mentions('Depth 4 m')(body) || mentions(Buffer.from('Depth 4 m').toString('base64'))(body),
      responses: (body) =>
        mentions('Depth 4 m')(body) || mentions(Buffer.from('Depth 4 m').toString('base64'))(body),
    },
  },
  {
    name: 'audio',
    ask: askAbout({
      'chat-completions': { type: 'input_audio', input_audio: { data: wav, format: 'wav' } },
      responses: { type: 'input_audio', input_audio: { data: wav, format: 'wav' } },
      'generate-content': { inlineData: { mimeType: 'audio/wav', data: wav } },
    }),
    got: {
      'chat-completions': holds({ input_audio: { data: wav, format: 'wav' } }),
      responses: holds({ input_audio: { data: wav, format: 'wav' } }),
      'generate-content': holds({ inlineData: { data: wav } }),
    },
  },
  {
    name: 'video',
    ask: askAbout({ 'generate-content': { inlineData: { mimeType: 'video/mp4', data: mp4 } } }),
    got: { 'generate-content': holds({ inlineData: { mimeType: 'video/mp4', data: mp4 } }) },
  },
  {
    name: 'uploaded file by its id',
    ask: askAbout({
      'chat-completions': { type: 'file', file: { file_id: 'file-abc' } },
      responses: { type: 'input_file', file_id: 'file-abc' },
      messages: { type: 'document', source: { type: 'file', file_id: 'file_011' } },
      'generate-content': {
        fileData: {
          mimeType: 'application/pdf',
          fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc',
        },
      },
    }),
    got: {
      'chat-completions': mentions('file-abc'),
      responses: mentions('file-abc'),
      messages: mentions('file_011'),
      'generate-content': mentions('/files/abc'),
    },
    // A file is its vendor's alone: the first two are one vendor's.
    possible: (client, wire) =>
      client === wire || ![client, wire].some((name) => name === 'messages' || name === 'generate-content'),
  },
  {
    name: 'image in a tool result',
    model: 'thinking',
    ask: {
      responses: {
        ...seen.responses,
        input: [
          { role: 'user', content: 'Ahoy' },
          { type: 'function_call', call_id: 'call_1', name: 'tide_at', arguments: '{}' },
          {
            type: 'function_call_output',
            call_id: 'call_1',
            output: [
              { type: 'input_text', text: 'See:' },
              { type: 'input_image', image_url: `data:image/png;base64,${png}` },
            ],
          },
        ],
      },
      messages: {
        ...seen.messages,
        messages: [
          { role: 'user', content: 'Ahoy' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'tide_at', input: {} }] },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'call_1',
                content: [
                  { type: 'text', text: 'See:' },
                  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
                ],
              },
            ],
          },
        ],
      },
      'generate-content': {
        ...seen['generate-content'],
        contents: [
          { role: 'user', parts: [{ text: 'Ahoy' }] },
          {
            role: 'model',
            parts: [
              {
                functionCall: { id: 'call_1', name: 'tide_at', args: {} },
                thoughtSignature: 'skip_thought_signature_validator',
              },
            ],
          },
          {
            role: 'user',
            parts: [
              {
                functionResponse: {
                  id: 'call_1',
                  name: 'tide_at',
                  response: { output: 'See:' },
                  parts: [{ inlineData: { mimeType: 'image/png', data: png } }],
                },
              },
            ],
          },
        ],
      },
    },
    got: {
      responses: holds({
        type: 'function_call_output',
        output: [{ text: 'See:' }, { type: 'input_image', image_url: `data:image/png;base64,${png}` }],
      }),
      messages: holds({
        type: 'tool_result',
        content: [{ text: 'See:' }, { type: 'image', source: { data: png } }],
      }),
      'generate-content': holds({ functionResponse: { parts: [{ inlineData: { data: png } }] } }),
    },
    instead: { 'chat-completions': meetsAll(holds({ role: 'tool', tool_call_id: 'call_1' }), mentions(png)) },
  },
  ...repliedMedia,
];
