/** Pictures and sound that the model makes. */
import { has, holds, mentions, type Capability } from '../capability.ts';
import { png, sound, spoken } from './samples.ts';

/** What the model makes. */
export const repliedMedia: readonly Capability[] = [
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
