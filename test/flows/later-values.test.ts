/**
 * Values that providers may add tomorrow, in every place where a wire lists values or kinds today. A provider
 * of the client's own protocol receives the client's bytes; another is not asked, or the client learns what
 * was lost.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkModel, definePlugin, type Endpoint, type UpstreamRequest } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { families, readCall } from '../support/families.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { addressOf } from '../support/quartet.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { openDoors } from '../support/station.ts';

type Fields = Readonly<Record<string, unknown>>;
/**
 * The field that holds the new value, a body with it (without what every call needs), and what other
 * protocols receive where they can express it.
 */
type Later = readonly [field: string, body: Fields, said?: string | undefined];

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const answered: readonly Fields[] = [{ role: 'user', content: 'Hi' }];

const chatTool = {
  type: 'function',
  function: { name: 'look', parameters: { type: 'object', properties: {} } },
};
const chatSaid = (...content: Fields[]): Fields => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, ...content] }],
});
const chatAnswer = (message: Fields, ...more: Fields[]): Fields => ({
  messages: [
    ...answered,
    { role: 'assistant', content: 'Yes.', ...message },
    ...more,
    { role: 'user', content: 'Go on.' },
  ],
});
const chatCall = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };

const chat: readonly Later[] = [
  ['messages[0].content[1]', chatSaid({ type: 'video', video: { url: 'https://example.com/a.mp4' } })],
  [
    'messages[0].content[1]',
    chatSaid({ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }),
    'https://example.com/a.mp4',
  ],
  ['messages[0].content[1]', chatSaid({ type: 'input_text', text: 'x' })],
  ['messages[0].content[1]', chatSaid({ type: 'model_3d', model_3d: { data: 'AAAA' } })],
  ['messages[0].content[1]', chatSaid({ type: 'refusal', refusal: 'No.' }), 'No.'],
  ['messages[0].content[1]', chatSaid({ type: 'thinking_budget', tokens: 5 })],
  [
    'messages[0].content[1].image_url.detail',
    chatSaid({ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}`, detail: 'ultra' } }),
  ],
  [
    'messages[0].content[1]',
    chatSaid({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'opus' } }),
    'audio/opus',
  ],
  [
    'messages[0].content[1]',
    chatSaid({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'flac' } }),
    'audio/flac',
  ],
  [
    'messages[0].content[1].prompt_cache_breakpoint',
    chatSaid({ type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'implicit' } }),
  ],
  [
    'messages[0].content[1].prompt_cache_breakpoint',
    chatSaid({ type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit', ttl: '7d' } }),
  ],
  ['messages[1].content[0]', chatAnswer({ content: [{ type: 'audio_transcript', text: 'x' }] })],
  ['messages[1].content[0]', chatAnswer({ content: [{ type: 'reference', reference_ids: [1] }] })],
  [
    'messages[1].tool_calls[0]',
    chatAnswer(
      { content: null, tool_calls: [{ id: 'call_1', type: 'mcp', mcp: { name: 'look', input: {} } }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'x' },
    ),
  ],
  [
    'messages[2].content',
    chatAnswer(
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

const itemsOf = (...items: Fields[]): Fields => ({ input: [{ role: 'user', content: 'Hi' }, ...items] });
const responsesSaid = (...content: Fields[]): Fields => ({
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }, ...content] }],
});
const responsesTool = {
  type: 'function',
  name: 'look',
  parameters: { type: 'object', properties: {} },
  strict: false,
};

const responsesRows: readonly Later[] = [
  ['input[0].content[1]', responsesSaid({ type: 'input_video', video_url: 'https://example.com/a.mp4' })],
  [
    'input[0].content[1]',
    responsesSaid({ type: 'computer_screenshot', image_url: 'https://example.com/a.png' }),
  ],
  ['input[0].content[1]', responsesSaid({ type: 'summary_text', text: 'x' })],
  ['input[0].content[1]', responsesSaid({ type: 'input_model', data: 'AAAA' })],
  [
    'input[0].content[1].detail',
    responsesSaid({ type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'ultra' }),
  ],
  [
    'input[0].content[1]',
    responsesSaid({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'opus' } }),
    'audio/opus',
  ],
  [
    'input[0].content[1].prompt_cache_breakpoint',
    responsesSaid({ type: 'input_text', text: 'x', prompt_cache_breakpoint: { mode: 'implicit' } }),
  ],
  [
    'input[0].content[1].prompt_cache_breakpoint',
    responsesSaid({
      type: 'input_text',
      text: 'x',
      prompt_cache_breakpoint: { mode: 'explicit', ttl: '7d' },
    }),
  ],
  ['input[1]', itemsOf({ type: 'deep_research_call', id: 'dr_1' }, { role: 'user', content: 'Go on.' })],
  [
    'input[1]',
    itemsOf({ type: 'simulation_call', id: 'sim_1', steps: [] }, { role: 'user', content: 'Go on.' }),
  ],
  ['input[1].role', itemsOf({ role: 'critic', content: 'x' })],
  ['input[1].role', itemsOf({ type: 'message', role: 'observer', content: 'x' })],
  [
    'input[1].status',
    itemsOf(
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
    itemsOf(
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
    itemsOf(
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'output_json', json: {} }] },
    ),
  ],
  [
    'input[1]',
    itemsOf(
      { type: 'reasoning', summary: [{ type: 'summary_image', text: 'x' }] },
      { role: 'user', content: 'Go on.' },
    ),
  ],
  [
    'input[1]',
    itemsOf(
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

const claudeTool = { name: 'look', input_schema: { type: 'object', properties: {} } };
const claudeSaid = (...content: Fields[]): Fields => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, ...content] }],
});
const claudeAnswer = (...content: Fields[]): Fields => ({
  messages: [
    ...answered,
    { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }, ...content] },
    { role: 'user', content: 'Go on.' },
  ],
});
const claudeResult = (...content: Fields[]): Fields => ({
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

const claude: readonly Later[] = [
  [
    'messages[0].content[1]',
    claudeSaid({ type: 'audio', source: { type: 'base64', media_type: 'audio/wav', data: 'AAAA' } }),
  ],
  [
    'messages[0].content[1]',
    claudeSaid({ type: 'video', source: { type: 'url', url: 'https://example.com/a.mp4' } }),
  ],
  [
    'messages[0].content[1]',
    claudeSaid({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
  ],
  ['messages[0].content[1]', claudeSaid({ type: 'mid_conv_system', text: 'x' })],
  [
    'messages[0].content[1].source',
    claudeSaid({ type: 'image', source: { type: 'base64', media_type: 'image/avif', data: 'AAAA' } }),
  ],
  ['messages[0].content[1].source', claudeSaid({ type: 'image', source: { type: 's3', uri: 's3://a/b' } })],
  ['messages[0].content[1].source', claudeSaid({ type: 'image', source: { type: 'content', content: [] } })],
  [
    'messages[0].content[1].source',
    claudeSaid({
      type: 'document',
      source: { type: 'base64', media_type: 'application/epub+zip', data: 'AAAA' },
    }),
  ],
  [
    'messages[0].content[1].source',
    claudeSaid({ type: 'document', source: { type: 'text', media_type: 'text/markdown', data: '# x' } }),
  ],
  ['messages[0].content[1].source', claudeSaid({ type: 'document', source: { type: 'drive', id: 'x' } })],
  [
    'messages[0].content[1].cache_control',
    claudeSaid({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '24h' } }),
  ],
  [
    'messages[0].content[1].cache_control',
    claudeSaid({ type: 'text', text: 'x', cache_control: { type: 'persistent' } }),
  ],
  [
    'messages[0].content[1].cache_control',
    claudeSaid({ type: 'text', text: 'x', cache_control: { type: 'persistent', ttl: '1h' } }),
  ],
  ['messages[1].content[1]', claudeAnswer({ type: 'plan', steps: [] })],
  ['messages[1].content[1]', claudeAnswer({ type: 'compaction', content: 'x' })],
  ['messages[2].content[0]', claudeResult({ type: 'audio', source: {} })],
  ['messages[2].content[0]', claudeResult({ type: 'resource', uri: 'x' })],
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

const geminiSaid = (...parts: Fields[]): Fields => ({
  contents: [{ role: 'user', parts: [{ text: 'Hi' }, ...parts] }],
});
const geminiTool = {
  functionDeclarations: [{ name: 'look', parametersJsonSchema: { type: 'object', properties: {} } }],
};
const generation = (generationConfig: Fields): Fields => ({ generationConfig });

const gemini: readonly Later[] = [
  ['contents[0].parts[1]', geminiSaid({ mesh: { data: 'AAAA' } })],
  ['contents[0].parts[1]', geminiSaid({ liveData: { uri: 'x' } })],
  ['contents[0].parts[1]', geminiSaid({ inlineData: { mimeType: 'model/gltf-binary', data: 'AAAA' } })],
  [
    'contents[0].parts[1].mediaResolution',
    geminiSaid({
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
  ['generationConfig.responseMimeType', generation({ responseMimeType: 'text/x.enum' })],
  ['generationConfig.responseMimeType', generation({ responseMimeType: 'application/yaml' })],
  ['generationConfig.responseModalities', generation({ responseModalities: ['TEXT', 'VIDEO'] })],
  [
    'generationConfig.thinkingConfig.thinkingLevel',
    generation({ thinkingConfig: { thinkingLevel: 'ULTRA' } }),
  ],
  ['generationConfig.mediaResolution', generation({ mediaResolution: 'MEDIA_RESOLUTION_GIGA' })],
  ['generationConfig.speechConfig', generation({ speechConfig: { voiceConfig: { newVoice: {} } } })],
  ['generationConfig.imageConfig', generation({ imageConfig: { aspectRatio: '32:9' } })],
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

const rows: Readonly<Record<Wire, readonly Later[]>> = {
  'chat-completions': chat,
  responses: responsesRows,
  messages: claude,
  'generate-content': gemini,
};

/** What every call has as well. */
const least: Readonly<Record<Wire, Fields>> = {
  'chat-completions': { messages: answered },
  responses: { input: 'Hi' },
  messages: { max_tokens: 100, messages: answered },
  'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

const replies: Readonly<Record<Wire, Fields>> = {
  'chat-completions': {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Ahoy' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: [
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Ahoy', annotations: [] }],
      },
    ],
    usage: { input_tokens: 12, output_tokens: 3, total_tokens: 15 },
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Ahoy' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 12, output_tokens: 3 },
  },
  'generate-content': {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Ahoy' }] }, finishReason: 'STOP' }],
    modelVersion: 'm',
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 3, totalTokenCount: 15 },
  },
};

const reasoning = {
  style: 'adaptive' as const,
  efforts: ['low', 'medium', 'high', 'ultra'],
  canDisable: true,
  budget: { min: 1024 },
};

let gateway: TestGateway;
let sent: string[] = [];

const house = definePlugin({
  name: 'house',
  options: z.strictObject({}),
  apply(host) {
    for (const wire of wires) {
      const endpoint: Endpoint = () => `https://${wire}.example/call`;
      const provider = {
        name: `${wire}-house`,
        endpoints: { [wire]: endpoint },
        sign: (request: UpstreamRequest) => request,
      };
      host.providers.add(provider);
      host.catalog.offer(provider, [
        checkModel({
          id: `house/${wire}`,
          upstream: 'inner',
          name: wire,
          description: 'For tests.',
          created: '2026-01-01',
          contextLength: 200_000,
          outputLimit: 16_000,
          input: ['text', 'image', 'audio', 'video', 'pdf'],
          output: ['text', 'audio'],
          free: true,
          capabilities: {
            reasoning: { style: 'effort', efforts: ['low', 'medium', 'high'], canDisable: true },
            hosted: ['web-search', 'code-execution'],
            wire: { 'chat-completions': { extras: true } },
          },
        }),
      ]);
      host.hooks.dispatch.tapPromise(wire, async ({ body }, exchange) => {
        if (exchange.attempt.target.provider !== provider) return undefined;
        sent.push(String(body));
        exchange.attempt.sent = true;
        return {
          status: 200,
          headers: { 'content-type': 'application/json' },
          body: (async function* () {
            yield Buffer.from(JSON.stringify(replies[wire]));
          })(),
        };
      });
    }
  },
});

beforeAll(async () => {
  gateway = await startGateway({
    plugins: [openDoors(), chatCompletions(), responses(), messages(), generateContent(), house()],
  });
});
afterAll(() => gateway.close());

interface Crossed {
  readonly status: number;
  readonly text: string;
  readonly asked: string;
  readonly sent: string | undefined;
  /** The fields that were reported as lost, or the one that the call was refused for. */
  readonly told: readonly string[];
}

async function cross(client: Wire, to: Wire, body: Fields): Promise<Crossed> {
  sent = [];
  const model = `house/${to}`;
  const asked = JSON.stringify({
    ...(client === 'generate-content' ? {} : { model }),
    ...least[client],
    ...body,
  });
  const ended = gateway.ends.length;
  const response = await fetch(gateway.url + addressOf(client, model, false), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: asked,
  });
  const text = await response.text();
  const end = (await gateway.ended(ended + 1))[ended];
  const refused = end && 'error' in end ? end.error?.details.param : undefined;
  return {
    status: response.status,
    text,
    asked,
    sent: sent[0],
    told: refused === undefined ? (end?.losses.map(({ path }) => path) ?? []) : [refused],
  };
}

/** Whether one path is part of the other, or of its parent. */
function concerns(path: string, field: string): boolean {
  const [short, long] = path.length < field.length ? [path, field] : [field, path];
  return long === short || long.startsWith(`${short}.`) || long.startsWith(`${short}[`);
}

function valueAt(body: unknown, field: string): unknown {
  return field
    .split(/[.[\]]+/)
    .filter(Boolean)
    .reduce<unknown>(
      (value, name) => (typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined),
      body,
    );
}

/** Whether the other protocol has a place for all of a value. */
function carries(received: string, value: unknown): boolean {
  if (typeof value === 'object' && value !== null)
    return Object.values(value).length > 0 && Object.values(value).every((each) => carries(received, each));
  // Other protocols take base64 without its name.
  return typeof value === 'string' && (value === 'base64' || received.includes(value));
}

type Row = readonly [title: string, field: string, body: Fields, said: string | undefined];
const named = (client: Wire): readonly Row[] =>
  rows[client].map(([field, body, said]) => [
    `${field} of ${JSON.stringify(body).slice(0, 120)}`,
    field,
    body,
    said,
  ]);

it('this file lists more than a hundred values', () => {
  expect(wires.flatMap((wire) => rows[wire]).length).toBeGreaterThan(100);
});

describe.each(wires)('a later value in %s', (client) => {
  it.each(named(client))(
    'passes byte for byte to a provider of the same protocol: %s',
    async (_, _field, body) => {
      const crossed = await cross(client, client, body);
      expect([crossed.status, crossed.text]).toEqual([200, expect.stringContaining('Ahoy')]);
      expect(crossed.sent).toBe(crossed.asked.replace(`"house/${client}"`, '"inner"'));
      expect(crossed.told).toEqual([]);
    },
  );

  it.each(named(client))(
    'is restored where the gateway rewrites a request for a provider of the same protocol: %s',
    (_, _field, body) => {
      const { protocol, model } = families[client];
      const whole = {
        ...(client === 'generate-content' ? {} : { model: model.id }),
        ...least[client],
        ...body,
      };
      const { body: written, losses } = protocol.upstream.encodeRequest(
        readCall(client, whole).decode(),
        { ...model, capabilities: { ...model.capabilities, reasoning } },
        undefined,
      );
      expect(JSON.parse(JSON.stringify(written))).toEqual({
        ...whole,
        ...(client === 'generate-content' ? {} : { model: model.upstream }),
      });
      expect(losses).toEqual([]);
    },
  );

  it.each(named(client))(
    'is reported as lost, or refused by its path, at a provider of another protocol: %s',
    async (_, field, body, said) => {
      for (const other of wires.filter((wire) => wire !== client)) {
        const { status, sent: received, told, text } = await cross(client, other, body);
        const isTold =
          told.some((path) => concerns(path, field)) ||
          (received !== undefined && carries(received, said ?? valueAt(body, field)));
        expect({ other, status, told, isTold, text }).toEqual({
          other,
          status: expect.toBeOneOf([200, 400]),
          told: expect.anything(),
          isTold: true,
          text: expect.any(String),
        });
      }
    },
  );
});

it('a role that no other protocol knows is refused with a message that says where it is', async () => {
  const contents = [
    { role: 'assistant', parts: [{ text: 'x' }] },
    ...[least['generate-content'].contents].flat(),
  ];
  const { status, text } = await cross('generate-content', 'messages', { contents });
  expect([status, text]).toEqual([
    400,
    expect.stringContaining(String.raw`\"contents[0].role\" means nothing outside generate-content`),
  ]);
});
