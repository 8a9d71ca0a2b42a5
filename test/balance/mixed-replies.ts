/** What providers of three wires answer the mixed calls, with the figures of each. */
import { chunk, ending } from '../support/chat-stream.ts';
import { chatReply } from '../support/replies.ts';
import { sumInput, type Figures } from './mixed-figures.ts';

function joinEvents(frames: readonly (readonly [type: string, data: object])[]): string {
  return frames
    .map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    .join('');
}

function buildChatReply(figures: Figures, stream: boolean): string {
  const usage = {
    prompt_tokens: sumInput(figures),
    completion_tokens: figures.output,
    total_tokens: sumInput(figures) + figures.output,
    prompt_tokens_details: { cached_tokens: figures.cached, audio_tokens: figures.audioIn },
    completion_tokens_details: { reasoning_tokens: figures.reasoning, audio_tokens: figures.audioOut },
  };
  if (!stream) return JSON.stringify(chatReply('Yes.', { usage }));
  return chunk({ role: 'assistant', content: 'Yes.' }) + chunk({}, 'stop') + ending(usage);
}

function buildMessagesReply(
  { fresh, cached, written5m, written1h, output, searches }: Figures,
  stream: boolean,
): string {
  const cache = {
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written5m + written1h,
    cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
  };
  const usage = {
    input_tokens: fresh,
    ...cache,
    output_tokens: output,
    server_tool_use: { web_search_requests: searches },
  };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: null,
    stop_sequence: null,
  };
  if (!stream)
    return JSON.stringify({
      ...message,
      content: [{ type: 'text', text: 'Yes.' }],
      stop_reason: 'end_turn',
      usage,
    });
  return joinEvents([
    ['message_start', { message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } } }],
    ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
    ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Yes.' } }],
    ['content_block_stop', { index: 0 }],
    [
      'message_delta',
      {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: output, server_tool_use: { web_search_requests: searches } },
      },
    ],
    ['message_stop', {}],
  ]);
}

/** A picture of one pixel. */
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function buildImagesReply(figures: Figures): string {
  const { cached, imageIn, output, imageOut, pictures } = figures;
  const usage = {
    input_tokens: sumInput(figures),
    input_tokens_details: {
      text_tokens: sumInput(figures) - imageIn,
      image_tokens: imageIn,
      cached_tokens: cached,
    },
    output_tokens: output,
    output_tokens_details: { image_tokens: imageOut, text_tokens: output - imageOut },
    total_tokens: sumInput(figures) + output,
  };
  return JSON.stringify({
    created: 1,
    data: Array.from({ length: pictures }, () => ({ b64_json: pixel })),
    usage,
  });
}

export const replies: Readonly<Record<string, (figures: Figures, stream: boolean) => string>> = {
  'chat-completions': buildChatReply,
  messages: buildMessagesReply,
  images: buildImagesReply,
};
