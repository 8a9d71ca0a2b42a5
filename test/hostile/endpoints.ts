/** A sound request of each endpoint, for hostile inputs to change. */

export const echo = 'demo/echo';
export const painter = 'demo/painter';

export type Words = 'openai' | 'anthropic' | 'google';

export interface Endpoint {
  readonly path: string;
  readonly words: Words;
  /** A valid body. */
  readonly body: Readonly<Record<string, unknown>>;
}

const tool = {
  type: 'function',
  function: {
    name: 'find',
    description: 'Finds.',
    parameters: {
      type: 'object',
      properties: { what: { type: 'string', enum: ['a', 'b'] } },
      required: ['what'],
    },
  },
};

const chat = {
  model: echo,
  stream: false,
  max_tokens: 20,
  temperature: 0.5,
  top_p: 0.9,
  stop: ['x'],
  seed: 1,
  n: 1,
  user: 'u',
  tools: [tool],
  tool_choice: 'auto',
  response_format: { type: 'text' },
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hello!' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"what":"a"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'found' },
  ],
  provider: { order: ['demo'], allow_fallbacks: true },
};

const message = {
  model: echo,
  max_tokens: 20,
  stream: false,
  system: [{ type: 'text', text: 'Be brief.' }],
  stop_sequences: ['x'],
  metadata: { user_id: 'u' },
  temperature: 0.5,
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Hello!', cache_control: { type: 'ephemeral' } }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'find', input: { what: 'a' } }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'found' }] }],
    },
  ],
  tools: [{ name: 'find', description: 'Finds.', input_schema: tool.function.parameters }],
  tool_choice: { type: 'auto' },
};

const response = {
  model: echo,
  stream: false,
  max_output_tokens: 20,
  instructions: 'Be brief.',
  temperature: 0.5,
  text: { format: { type: 'text' } },
  reasoning: { effort: 'low' },
  metadata: { a: 'b' },
  truncation: 'auto',
  input: [
    { role: 'user', content: [{ type: 'input_text', text: 'Hello!' }] },
    { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{"what":"a"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'found' },
  ],
  tools: [{ type: 'function', name: 'find', parameters: tool.function.parameters, strict: false }],
};

const generation = {
  contents: [
    { role: 'user', parts: [{ text: 'Hello!' }] },
    { role: 'model', parts: [{ functionCall: { name: 'find', args: { what: 'a' } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'find', response: { found: true } } }] },
  ],
  systemInstruction: { parts: [{ text: 'Be brief.' }] },
  generationConfig: {
    maxOutputTokens: 20,
    temperature: 0.5,
    stopSequences: ['x'],
    candidateCount: 1,
    thinkingConfig: { thinkingBudget: 0 },
  },
  tools: [
    {
      functionDeclarations: [
        {
          name: 'find',
          description: 'Finds.',
          parameters: { type: 'OBJECT', properties: { what: { type: 'STRING' } } },
        },
      ],
    },
  ],
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
};

const picture = {
  model: painter,
  prompt: 'A cat.',
  n: 1,
  size: '1024x1024',
  quality: 'low',
  response_format: 'b64_json',
  user: 'u',
};

export const endpoints: readonly Endpoint[] = [
  { path: '/v1/chat/completions', words: 'openai', body: chat },
  { path: '/v1/responses', words: 'openai', body: response },
  { path: '/v1/responses/input_tokens', words: 'openai', body: response },
  { path: '/alpha/v1/messages', words: 'anthropic', body: message },
  { path: '/alpha/v1/messages/count_tokens', words: 'anthropic', body: message },
  { path: `/beta/v1beta/models/${echo}:generateContent`, words: 'google', body: generation },
  { path: `/beta/v1beta/models/${echo}:streamGenerateContent?alt=sse`, words: 'google', body: generation },
  { path: `/beta/v1beta/models/${echo}:countTokens`, words: 'google', body: generation },
  { path: '/v1/images/generations', words: 'openai', body: picture },
  { path: '/v1/images/edits', words: 'openai', body: { ...picture, image: 'aGVsbG8=' } },
];
