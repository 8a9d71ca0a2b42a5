/** Whole replies of providers, as short as each protocol allows: a text, three tokens in and two out. */
type Fields = Readonly<Record<string, unknown>>;

/** `usage` is given as its input and output; `more` fields go over the usual ones. */
export const chatReply = (
  content: string,
  more: Fields = {},
  [input, output]: readonly [number, number] = [3, 2],
): Fields => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  ...more,
});

export const textItem = (text: string): Fields => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

export const responsesReply = (
  text: string,
  more: Fields = {},
  [input, output]: readonly [number, number] = [3, 2],
): Fields => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'm',
  output: [textItem(text)],
  usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
  ...more,
});

export const messagesReply = (
  text: string,
  more: Fields = {},
  [input, output]: readonly [number, number] = [3, 2],
): Fields => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: input, output_tokens: output },
  ...more,
});

export const generateReply = (
  text: string,
  more: Fields = {},
  [input, output]: readonly [number, number] = [3, 2],
): Fields => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
  usageMetadata: {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  },
  ...more,
});
