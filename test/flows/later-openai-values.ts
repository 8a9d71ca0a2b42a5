/** Values that OpenAI may add tomorrow to chat-completions and responses. */

export type Fields = Readonly<Record<string, unknown>>;

/**
 * The field that holds the new value, a body with it (without what every call needs), and what other
 * protocols receive where they can express it.
 */
export type Later = readonly [field: string, body: Fields, said?: string | undefined];

export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const answered: readonly Fields[] = [{ role: 'user', content: 'Hi' }];

const chatTool = {
  type: 'function',
  function: { name: 'look', parameters: { type: 'object', properties: {} } },
};

const sayToChat = (...content: Fields[]): Fields => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, ...content] }],
});

const answerAsChat = (message: Fields, ...more: Fields[]): Fields => ({
  messages: [
    ...answered,
    { role: 'assistant', content: 'Yes.', ...message },
    ...more,
    { role: 'user', content: 'Go on.' },
  ],
});

const chatCall = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };

export const chat: readonly Later[] = [
  ['messages[0].content[1]', sayToChat({ type: 'video', video: { url: 'https://example.com/a.mp4' } })],
  [
    'messages[0].content[1]',
    sayToChat({ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }),
    'https://example.com/a.mp4',
  ],
  ['messages[0].content[1]', sayToChat({ type: 'input_text', text: 'x' })],
  ['messages[0].content[1]', sayToChat({ type: 'model_3d', model_3d: { data: 'AAAA' } })],
  ['messages[0].content[1]', sayToChat({ type: 'refusal', refusal: 'No.' }), 'No.'],
  ['messages[0].content[1]', sayToChat({ type: 'thinking_budget', tokens: 5 })],
  [
    'messages[0].content[1].image_url.detail',
    sayToChat({ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}`, detail: 'ultra' } }),
  ],
  [
    'messages[0].content[1]',
    sayToChat({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'opus' } }),
    'audio/opus',
  ],
  [
    'messages[0].content[1]',
    sayToChat({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'flac' } }),
    'audio/flac',
  ],
  [
    'messages[0].content[1].prompt_cache_breakpoint',
    sayToChat({ type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'implicit' } }),
  ],
  [
    'messages[0].content[1].prompt_cache_breakpoint',
    sayToChat({ type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit', ttl: '7d' } }),
  ],
  ['messages[1].content[0]', answerAsChat({ content: [{ type: 'audio_transcript', text: 'x' }] })],
  ['messages[1].content[0]', answerAsChat({ content: [{ type: 'reference', reference_ids: [1] }] })],
  [
    'messages[1].tool_calls[0]',
    answerAsChat(
      { content: null, tool_calls: [{ id: 'call_1', type: 'mcp', mcp: { name: 'look', input: {} } }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'x' },
    ),
  ],
  [
    'messages[2].content',
    answerAsChat(
      { content: null, tool_calls: [chatCall] },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: [
          { type: 'text', text: 'x' },
          { type: 'json', json: {} },
        ],
      },
    ),
  ],
  [
    'messages[0]',
    { messages: [{ role: 'system', content: [{ type: 'guideline', text: 'x' }] }, ...answered] },
  ],
  ['messages[0].role', { messages: [{ role: 'critic', content: 'x' }, ...answered] }],
  ['messages[0].role', { messages: [{ role: 'ipython', content: 'x' }, ...answered] }],
  ['tool_choice', { tools: [chatTool], tool_choice: 'validated' }],
  ['tool_choice', { tools: [chatTool], tool_choice: { type: 'hosted', name: 'x' } }],
  [
    'tool_choice',
    {
      tools: [chatTool],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'validated', tools: [{ type: 'function', function: { name: 'look' } }] },
      },
    },
  ],
  ['tool_choice', { tools: [chatTool], tool_choice: { type: 'mcp', server_label: 'x' } }],
  ['tools[1]', { tools: [chatTool, { type: 'grammar', grammar: {} }] }],
  ['response_format', { response_format: { type: 'grammar', grammar: 'root ::= "x"' } }],
  ['response_format', { response_format: { type: 'python' } }],
  ['response_format', { response_format: { type: 'structural_tag', structures: [] } }],
  ['reasoning_effort', { reasoning_effort: 'ultra' }],
  ['reasoning.effort', { reasoning: { effort: 'ultra' } }],
  ['verbosity', { verbosity: 'exhaustive' }],
  ['modalities', { modalities: ['text', 'video'] }],
  ['modalities', { modalities: ['text', 'haptics'] }],
  ['audio', { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'ogg' } }],
  ['web_search_options', { web_search_options: { search_context_size: 'xhigh' } }],
  ['prompt_cache_options', { prompt_cache_options: { mode: 'adaptive' } }],
  ['prompt_cache_retention', { prompt_cache_retention: '7d' }],
  ['prediction', { prediction: { type: 'edit', edits: [] } }],
  [
    'function_call',
    {
      functions: [{ name: 'look', parameters: { type: 'object', properties: {} } }],
      function_call: 'validated',
    },
  ],
];

const addItems = (...items: Fields[]): Fields => ({ input: [{ role: 'user', content: 'Hi' }, ...items] });

const sayToResponses = (...content: Fields[]): Fields => ({
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }, ...content] }],
});

const responsesTool = {
  type: 'function',
  name: 'look',
  parameters: { type: 'object', properties: {} },
  strict: false,
};

export const responsesRows: readonly Later[] = [
  ['input[0].content[1]', sayToResponses({ type: 'input_video', video_url: 'https://example.com/a.mp4' })],
  [
    'input[0].content[1]',
    sayToResponses({ type: 'computer_screenshot', image_url: 'https://example.com/a.png' }),
  ],
  ['input[0].content[1]', sayToResponses({ type: 'summary_text', text: 'x' })],
  ['input[0].content[1]', sayToResponses({ type: 'input_model', data: 'AAAA' })],
  [
    'input[0].content[1].detail',
    sayToResponses({ type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'ultra' }),
  ],
  [
    'input[0].content[1]',
    sayToResponses({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'opus' } }),
    'audio/opus',
  ],
  [
    'input[0].content[1].prompt_cache_breakpoint',
    sayToResponses({ type: 'input_text', text: 'x', prompt_cache_breakpoint: { mode: 'implicit' } }),
  ],
  [
    'input[0].content[1].prompt_cache_breakpoint',
    sayToResponses({
      type: 'input_text',
      text: 'x',
      prompt_cache_breakpoint: { mode: 'explicit', ttl: '7d' },
    }),
  ],
  ['input[1]', addItems({ type: 'deep_research_call', id: 'dr_1' }, { role: 'user', content: 'Go on.' })],
  [
    'input[1]',
    addItems({ type: 'simulation_call', id: 'sim_1', steps: [] }, { role: 'user', content: 'Go on.' }),
  ],
  ['input[1].role', addItems({ role: 'critic', content: 'x' })],
  ['input[1].role', addItems({ type: 'message', role: 'observer', content: 'x' })],
  [
    'input[1].status',
    addItems(
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        status: 'paused',
        content: [{ type: 'output_text', text: 'Yes.' }],
      },
      { role: 'user', content: 'Go on.' },
    ),
  ],
  [
    'input[1].content[0]',
    addItems(
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        status: 'completed',
        content: [{ type: 'output_audio', data: 'AAAA' }],
      },
      { role: 'user', content: 'Go on.' },
    ),
  ],
  [
    'input[2]',
    addItems(
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'output_json', json: {} }] },
    ),
  ],
  [
    'input[1]',
    addItems(
      { type: 'reasoning', summary: [{ type: 'summary_image', text: 'x' }] },
      { role: 'user', content: 'Go on.' },
    ),
  ],
  [
    'input[1]',
    addItems(
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_image', text: 'x' }] },
      { role: 'user', content: 'Go on.' },
    ),
  ],
  ['tools[1]', { tools: [responsesTool, { type: 'simulator' }] }],
  [
    'tools[1]',
    { tools: [responsesTool, { type: 'namespace', name: 'space', tools: [{ type: 'remote', name: 'x' }] }] },
  ],
  ['tool_choice', { tools: [responsesTool], tool_choice: 'validated' }],
  ['tool_choice', { tools: [responsesTool], tool_choice: { type: 'simulator' } }],
  [
    'tool_choice',
    {
      tools: [responsesTool],
      tool_choice: { type: 'allowed_tools', mode: 'validated', tools: [{ type: 'function', name: 'look' }] },
    },
  ],
  ['text.format', { text: { format: { type: 'grammar', syntax: 'lark', definition: 'x' } } }],
  ['text.format', { text: { format: { type: 'xml' } } }],
  ['text.verbosity', { text: { verbosity: 'exhaustive' } }],
  ['reasoning.effort', { reasoning: { effort: 'ultra' } }],
  ['reasoning.summary', { reasoning: { summary: 'verbose' } }],
  ['reasoning.mode', { reasoning: { mode: 'parallel' } }],
  ['include', { include: ['simulator.results'] }],
  ['include', { include: ['reasoning.plain_content'] }],
  ['truncation', { truncation: 'summarize' }],
  ['prompt_cache_retention', { prompt_cache_retention: '7d' }],
  ['stream_options', { stream_options: { include_timing: true } }],
];
