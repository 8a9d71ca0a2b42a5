/** Requests of the other wires that a provider elsewhere would refuse unchanged, and what is lost. */
import { hi, longId, say, tool, type Body, type Case } from './adapted-chats.ts';

/** Items only their own provider knows, as a conversation sends them back. */
const everyItem: readonly Body[] = [
  { role: 'user', content: 'Hi' },
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'herbs' } },
  { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['herbs'], results: null },
  {
    type: 'code_interpreter_call',
    id: 'ci_1',
    status: 'completed',
    code: '1',
    container_id: 'cntr_1',
    outputs: [],
  },
  {
    type: 'local_shell_call',
    id: 'ls_1',
    call_id: 'c1',
    status: 'completed',
    action: { type: 'exec', command: ['ls'], env: {} },
  },
  { type: 'local_shell_call_output', id: 'lo_1', output: 'a' },
  { type: 'mcp_call', id: 'mc_1', server_label: 'a', name: 'b', arguments: '{}', output: 'c' },
  { type: 'compaction', id: 'cm_1', encrypted_content: 'gAAAAABc' },
];

export const fromOthers: Readonly<Record<string, Case>> = {
  'marks on a call and on its result': {
    client: 'messages',
    body: {
      max_tokens: 100,
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages: [
        say('Go'),
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'a', name: 'look', input: {}, cache_control: { type: 'ephemeral' } },
          ],
        },
        say([
          { type: 'tool_result', tool_use_id: 'a', content: 'seen', cache_control: { type: 'ephemeral' } },
        ]),
      ],
    },
    lost: {
      'chat-completions': 'messages[1].content[0].cache_control',
      responses: 'messages[1].content[0].cache_control',
      'generate-content': 'messages[2].content[0].cache_control',
    },
  },
  'the long name of a user, as Claude Code writes it': {
    client: 'messages',
    body: {
      ...hi,
      max_tokens: 100,
      metadata: { user_id: `user_${'0f'.repeat(32)}_account__session_${longId}` },
    },
    lost: { 'generate-content': 'metadata.user_id' },
  },
  'a mark on what the assistant said': {
    client: 'messages',
    body: {
      max_tokens: 100,
      messages: [
        say('Hi'),
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'Hello.', cache_control: { type: 'ephemeral' } }],
        },
        say('And?'),
      ],
    },
    lost: { responses: 'messages[1].content[0].cache_control' },
  },
  'a tool that has the name of one in a namespace': {
    client: 'responses',
    body: {
      input: 'Hi',
      tools: [
        { type: 'namespace', name: 'crm', description: '', tools: [{ type: 'function', name: 'look' }] },
        { type: 'function', name: 'look' },
      ],
    },
    lost: 'tools[0].name',
  },
  'a shell that the vendor defines': {
    client: 'messages',
    body: {
      ...hi,
      max_tokens: 100,
      tools: [{ type: 'bash_20250124', name: 'bash' }],
      tool_choice: { type: 'tool', name: 'bash' },
    },
    lost: 'tools[0].type',
  },
  'a choice of a tool that only one vendor has': {
    client: 'messages',
    body: {
      ...hi,
      max_tokens: 100,
      tools: [
        { name: 'look', input_schema: { type: 'object' } },
        { type: 'computer_20250124', name: 'computer', display_width_px: 800, display_height_px: 600 },
      ],
      tool_choice: { type: 'tool', name: 'computer' },
    },
    lost: 'tool_choice',
  },
  'a schema that says nothing': { client: 'chat-completions', body: { ...hi, ...tool({}) } },
  'a strict schema that leaves something open': {
    client: 'messages',
    body: {
      max_tokens: 100,
      ...hi,
      tools: [
        {
          name: 'look',
          strict: true,
          input_schema: {
            type: 'object',
            properties: { town: { type: 'string' } },
            additionalProperties: false,
          },
        },
      ],
    },
    lost: 'tools[0].strict',
  },
  'JSON that no message speaks of': {
    client: 'generate-content',
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Two herbs.' }] }],
      generationConfig: { responseMimeType: 'application/json' },
    },
    lost: 'generationConfig.responseMimeType',
  },
  'a limit of nothing': {
    client: 'messages',
    body: { ...hi, max_tokens: 0 },
    lost: 'max_tokens',
  },
  'an effort alone': {
    client: 'messages',
    body: { ...hi, max_tokens: 100, output_config: { effort: 'high' } },
  },
  'items of every kind': {
    client: 'responses',
    body: { input: [...everyItem, { role: 'user', content: 'And then?' }] },
    lost: 'input[1]',
  },
  'what a message says of itself': {
    client: 'responses',
    body: {
      input: [
        { role: 'user', content: 'Hi' },
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'assistant',
          phase: 'commentary',
          content: [{ type: 'output_text', text: 'Hello.' }],
        },
        { role: 'user', content: 'Well?' },
      ],
    },
    lost: 'input[1].phase',
  },
  'a PDF that does not say it is one': {
    client: 'responses',
    body: {
      input: [
        {
          role: 'user',
          content: [{ type: 'input_file', file_data: 'JVBERi0xLjQKJSBhIGNoYXJ0Cg==', filename: 'a.pdf' }],
        },
      ],
    },
  },
  'a choice of a tool the vendor runs': {
    client: 'responses',
    body: {
      input: 'Hi',
      tools: [
        { type: 'function', name: 'look' },
        { type: 'mcp', server_label: 'a', server_url: 'https://a.example' },
      ],
      tool_choice: { type: 'mcp', server_label: 'a' },
    },
    lost: 'tool_choice',
  },
  'an answer that is a list': {
    client: 'generate-content',
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Two herbs.' }] }],
      generationConfig: {
        responseMimeType: 'application/json',
        responseSchema: { type: 'ARRAY', items: { type: 'STRING' } },
      },
    },
  },
  'calls that keep to their schemas': {
    client: 'generate-content',
    body: {
      contents: [{ parts: [{ text: 'Hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'look' }] }],
      toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } },
    },
    lost: 'toolConfig.functionCallingConfig.mode',
  },
  'a choice among nothing but tools the vendor runs': {
    client: 'responses',
    body: { input: 'Hi', tools: [{ type: 'web_search' }], tool_choice: 'required' },
    lost: { 'chat-completions': 'tool_choice', 'generate-content': 'tool_choice' },
  },
  'a fraction of a token': {
    client: 'generate-content',
    body: { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { topK: 3.5 } },
    lost: { messages: 'generationConfig.topK' },
  },
  'thoughts that are left to the model': {
    client: 'generate-content',
    body: {
      contents: [{ parts: [{ text: 'Hi' }] }],
      generationConfig: { thinkingConfig: { thinkingBudget: -1 } },
    },
  },
  'code the model ran before': {
    client: 'generate-content',
    body: {
      contents: [
        { parts: [{ text: 'Add.' }] },
        {
          role: 'model',
          parts: [
            { executableCode: { language: 'PYTHON', code: '1' } },
            { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
            { text: 'One.' },
          ],
        },
        { role: 'user', parts: [{ text: 'And?' }] },
      ],
    },
    lost: 'contents[1].parts[0]',
  },
};
