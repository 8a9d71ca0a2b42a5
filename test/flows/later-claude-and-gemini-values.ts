/** Values that Anthropic and Google may add tomorrow to messages and generate-content. */
import { answered, pixel, type Fields, type Later } from './later-openai-values.ts';

const claudeTool = { name: 'look', input_schema: { type: 'object', properties: {} } };

const sayToClaude = (...content: Fields[]): Fields => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, ...content] }],
});

const answerAsClaude = (...content: Fields[]): Fields => ({
  messages: [
    ...answered,
    { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }, ...content] },
    { role: 'user', content: 'Go on.' },
  ],
});

const giveClaudeResult = (...content: Fields[]): Fields => ({
  tools: [claudeTool],
  messages: [
    ...answered,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'x' }, ...content] },
      ],
    },
  ],
});

const setMidway = (settings: Fields): Fields => ({
  messages: [...answered, { role: 'system', ...settings }, { role: 'user', content: 'Go on.' }],
});

export const claude: readonly Later[] = [
  ['messages[1].output_config', setMidway({ output_config: { effort: 'low' } })],
  ['messages[1].clear_at', setMidway({ content: 'x', clear_at: 'next_user_message' })],
  [
    'messages[0].content[1]',
    sayToClaude({ type: 'audio', source: { type: 'base64', media_type: 'audio/wav', data: 'AAAA' } }),
  ],
  [
    'messages[0].content[1]',
    sayToClaude({ type: 'video', source: { type: 'url', url: 'https://example.com/a.mp4' } }),
  ],
  [
    'messages[0].content[1]',
    sayToClaude({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
  ],
  ['messages[0].content[1]', sayToClaude({ type: 'mid_conv_system', text: 'x' })],
  [
    'messages[0].content[1].source',
    sayToClaude({ type: 'image', source: { type: 'base64', media_type: 'image/avif', data: 'AAAA' } }),
  ],
  ['messages[0].content[1].source', sayToClaude({ type: 'image', source: { type: 's3', uri: 's3://a/b' } })],
  ['messages[0].content[1].source', sayToClaude({ type: 'image', source: { type: 'content', content: [] } })],
  [
    'messages[0].content[1].source',
    sayToClaude({
      type: 'document',
      source: { type: 'base64', media_type: 'application/epub+zip', data: 'AAAA' },
    }),
  ],
  [
    'messages[0].content[1].source',
    sayToClaude({ type: 'document', source: { type: 'text', media_type: 'text/markdown', data: '# x' } }),
  ],
  ['messages[0].content[1].source', sayToClaude({ type: 'document', source: { type: 'drive', id: 'x' } })],
  [
    'messages[0].content[1].cache_control',
    sayToClaude({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '24h' } }),
  ],
  [
    'messages[0].content[1].cache_control',
    sayToClaude({ type: 'text', text: 'x', cache_control: { type: 'persistent' } }),
  ],
  [
    'messages[0].content[1].cache_control',
    sayToClaude({ type: 'text', text: 'x', cache_control: { type: 'persistent', ttl: '1h' } }),
  ],
  ['messages[1].content[1]', answerAsClaude({ type: 'plan', steps: [] })],
  ['messages[1].content[1]', answerAsClaude({ type: 'compaction', content: null })],
  ['messages[2].content[0]', giveClaudeResult({ type: 'audio', source: {} })],
  ['messages[2].content[0]', giveClaudeResult({ type: 'resource', uri: 'x' })],
  ['messages[0].role', { messages: [{ role: 'developer', content: 'x' }, ...answered] }],
  [
    'messages[0].role',
    { messages: [{ role: 'critic', content: [{ type: 'text', text: 'x' }] }, ...answered] },
  ],
  [
    'system[1]',
    {
      system: [
        { type: 'text', text: 'x' },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      ],
    },
  ],
  ['cache_control', { cache_control: { type: 'persistent' } }],
  ['tools[1]', { tools: [claudeTool, { type: 'tool_search_tool_regex', name: 'tool_search_tool_regex' }] }],
  ['tools[1]', { tools: [claudeTool, { type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' }] }],
  ['tools[1]', { tools: [claudeTool, { type: 'simulator_20270101', name: 'simulator' }] }],
  ['tools[1]', { tools: [claudeTool, { type: 'agent_toolset' }] }],
  [
    'tools[0].cache_control',
    { tools: [{ ...claudeTool, cache_control: { type: 'ephemeral', ttl: '24h' } }] },
  ],
  ['tool_choice', { tools: [claudeTool], tool_choice: { type: 'validated' } }],
  ['tool_choice', { tools: [claudeTool], tool_choice: { type: 'tools', names: ['look'] } }],
  ['thinking.display', { thinking: { type: 'adaptive', display: 'updates' } }],
  [
    'thinking.display',
    { thinking: { type: 'enabled', budget_tokens: 1024, display: 'full' }, max_tokens: 2000 },
  ],
  ['thinking', { thinking: { type: 'between_tools' } }],
  ['thinking', { thinking: { type: 'auto', level: 3 } }],
  ['output_config.effort', { output_config: { effort: 'ultra' } }],
  ['output_config.format', { output_config: { format: { type: 'grammar', grammar: 'x' } } }],
  ['output_config.format', { output_config: { format: { type: 'json_object' } } }],
  ['context_management', { context_management: { edits: [{ type: 'clear_images_20270101' }] } }],
];

const sayToGemini = (...parts: Fields[]): Fields => ({
  contents: [{ role: 'user', parts: [{ text: 'Hi' }, ...parts] }],
});

const geminiTool = {
  functionDeclarations: [{ name: 'look', parametersJsonSchema: { type: 'object', properties: {} } }],
};

const setGeneration = (generationConfig: Fields): Fields => ({ generationConfig });

export const gemini: readonly Later[] = [
  ['contents[0].parts[1]', sayToGemini({ mesh: { data: 'AAAA' } })],
  ['contents[0].parts[1]', sayToGemini({ liveData: { uri: 'x' } })],
  ['contents[0].parts[1]', sayToGemini({ inlineData: { mimeType: 'model/gltf-binary', data: 'AAAA' } })],
  [
    'contents[0].parts[1].mediaResolution',
    sayToGemini({
      inlineData: { mimeType: 'image/png', data: pixel },
      mediaResolution: { level: 'MEDIA_RESOLUTION_GIGA' },
    }),
  ],
  [
    'contents[0].role',
    {
      contents: [
        { role: 'critic', parts: [{ text: 'x' }] },
        { role: 'user', parts: [{ text: 'Hi' }] },
      ],
    },
  ],
  [
    'contents[0].role',
    {
      contents: [
        { role: 'system', parts: [{ text: 'x' }] },
        { role: 'user', parts: [{ text: 'Hi' }] },
      ],
    },
  ],
  ['toolConfig', { tools: [geminiTool], toolConfig: { functionCallingConfig: { mode: 'PARALLEL' } } }],
  [
    'toolConfig',
    {
      tools: [geminiTool],
      toolConfig: { functionCallingConfig: { mode: 'SEQUENCE', allowedFunctionNames: ['look'] } },
    },
  ],
  ['tools[1]', { tools: [geminiTool, { simulator: {} }] }],
  [
    'tools[0].functionDeclarations[0].behavior',
    { tools: [{ functionDeclarations: [{ name: 'look', behavior: 'SPECULATIVE' }] }] },
  ],
  ['generationConfig.responseMimeType', setGeneration({ responseMimeType: 'text/x.enum' })],
  ['generationConfig.responseMimeType', setGeneration({ responseMimeType: 'application/yaml' })],
  ['generationConfig.responseModalities', setGeneration({ responseModalities: ['TEXT', 'VIDEO'] })],
  [
    'generationConfig.thinkingConfig.thinkingLevel',
    setGeneration({ thinkingConfig: { thinkingLevel: 'ULTRA' } }),
  ],
  ['generationConfig.mediaResolution', setGeneration({ mediaResolution: 'MEDIA_RESOLUTION_GIGA' })],
  ['generationConfig.speechConfig', setGeneration({ speechConfig: { voiceConfig: { newVoice: {} } } })],
  ['generationConfig.imageConfig', setGeneration({ imageConfig: { aspectRatio: '32:9' } })],
  ['safetySettings', { safetySettings: [{ category: 'HARM_CATEGORY_NEW', threshold: 'BLOCK_SOME' }] }],
  [
    'contents[1].parts[0]',
    {
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ executableCode: { language: 'RUST', code: 'x' } }] },
        { role: 'user', parts: [{ text: 'Go on.' }] },
      ],
    },
  ],
];
