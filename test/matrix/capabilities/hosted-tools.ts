/** Tools that the provider runs. */
import { isObject } from '../../support/json.ts';
import { fillWires, holds, type Capability } from '../capability.ts';

/** Tools that the provider runs. */
export const hostedTools: readonly Capability[] = [
  {
    name: 'web search',
    model: 'searching',
    ask: {
      'chat-completions': { web_search_options: {} },
      responses: { tools: [{ type: 'web_search' }] },
      messages: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      'generate-content': { tools: [{ googleSearch: {} }] },
    },
    got: {
      'chat-completions': (body) => isObject(body.web_search_options),
      responses: holds({ type: 'web_search' }),
      messages: holds({ name: 'web_search', type: /^web_search_/ }),
      'generate-content': (body) => JSON.stringify(body).includes('"googleSearch":{'),
    },
  },
  {
    name: 'code execution',
    model: 'thinking',
    ask: {
      responses: { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
      messages: { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] },
      'generate-content': { tools: [{ codeExecution: {} }] },
    },
    got: {
      responses: holds({ type: 'code_interpreter' }),
      messages: holds({ name: 'code_execution', type: /^code_execution_/ }),
      'generate-content': (body) => JSON.stringify(body).includes('"codeExecution":{'),
    },
  },
  {
    name: "Anthropic's shell tool",
    ask: { messages: { tools: [{ type: 'bash_20250124', name: 'bash' }] } },
    got: { messages: holds({ type: 'bash_20250124', name: 'bash' }) },
    instead: {
      'chat-completions': holds({
        function: { name: 'bash', parameters: { properties: { command: { type: 'string' } } } },
      }),
      responses: holds({ type: 'function', name: 'bash' }),
      'generate-content': holds({ name: 'bash', parametersJsonSchema: { type: 'object' } }),
    },
    does: fillWires({ toolCalls: [{ name: 'bash', arguments: '{"command":"ls"}' }] }),
    shown: { messages: holds({ type: 'tool_use', name: 'bash', input: { command: 'ls' } }) },
  },
  {
    name: 'tools that one vendor has',
    model: 'thinking',
    ask: {
      responses: { tools: [{ type: 'mcp', server_label: 'charts', server_url: 'https://charts.example' }] },
    },
    got: { responses: holds({ type: 'mcp' }) },
  },
  {
    name: 'file search',
    model: 'thinking',
    ask: {
      responses: { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
      'generate-content': { tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/a'] } }] },
    },
    got: { responses: holds({ type: 'file_search' }), 'generate-content': holds({ fileSearch: {} }) },
    possible: (client, wire) => client === wire,
  },
];
