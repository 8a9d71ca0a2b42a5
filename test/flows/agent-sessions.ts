/** Claude Code, Codex and Gemini CLI with their headers, tools and settings, and a session of two calls. */
import { beforeAll, expect } from 'vitest';
import { buildConversation, type Entry } from '../support/continue-conversation.ts';
import { getModel, openFourWires, type Crossing, type FourWires, type Wire } from '../support/four-wires.ts';

export let harness: FourWires;
const draft = 'http://json-schema.org/draft-07/schema#';

export const shellSchema = {
  $schema: draft,
  type: 'object',
  properties: {
    command: { type: 'string', description: 'What to run.', minLength: 1 },
    timeout: { type: 'number', exclusiveMinimum: 0, maximum: 600_000, default: 120_000 },
    mode: { enum: ['sync', 'background'], type: 'string' },
    environment: {
      type: 'object',
      additionalProperties: { type: 'string' },
      propertyNames: { type: 'string' },
    },
    edits: { type: 'array', minItems: 1, items: { $ref: '#/$defs/edit' } },
    at: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
  },
  $defs: {
    edit: {
      type: 'object',
      properties: { old: { type: 'string' }, new: { type: 'string' } },
      required: ['old', 'new'],
      additionalProperties: false,
    },
  },
  required: ['command'],
  additionalProperties: false,
};

export const command = { command: 'ls harbour' };

export interface Agent {
  readonly client: Wire;
  /** The agent's name for its call of the first tool. */
  readonly tool: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Its whole body except the model and the stream flag, with the conversation so far. */
  body(entries: readonly Entry[]): object;
  /** The entries it starts with. */
  readonly opening: readonly Entry[];
}

export const claudeCode: Agent = {
  client: 'messages',
  tool: 'Bash',
  headers: {
    'anthropic-beta':
      'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,' +
      'thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24,' +
      'never-heard-of-2027-01-01',
    'anthropic-dangerous-direct-browser-access': 'true',
    'anthropic-version': '2023-06-01',
    'user-agent': 'claude-cli/2.1.330 (external, sdk-cli)',
    'x-app': 'cli',
    'x-claude-code-session-id': '0b1c2d3e-session',
    'x-stainless-retry-count': '0',
  },
  opening: [
    {
      role: 'user',
      content: [
        { type: 'text', text: '<system-reminder>\nIt is Monday.\n</system-reminder>' },
        { type: 'text', text: 'List the harbour.' },
      ],
    },
    {
      role: 'system',
      content: [{ type: 'text', text: 'The folder is /harbour.', cache_control: { type: 'ephemeral' } }],
    },
  ],
  body: (entries) => ({
    max_tokens: 12_000,
    system: [
      { type: 'text', text: 'You are an agent in a terminal.' },
      { type: 'text', text: 'The rules of the house. '.repeat(40), cache_control: { type: 'ephemeral' } },
    ],
    tools: [
      { name: 'Bash', description: 'Runs a command.', input_schema: shellSchema },
      {
        name: 'TodoRead',
        description: '',
        input_schema: { $schema: draft, type: 'object', properties: {}, additionalProperties: false },
      },
      {
        name: 'FoundLater',
        description: 'Stands for tools that are looked up.',
        input_schema: { type: 'object', properties: {} },
        defer_loading: true,
      },
    ],
    thinking: { type: 'adaptive', display: 'omitted' },
    output_config: { effort: 'high' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    metadata: { user_id: '{"device_id":"d1","session_id":"s1"}' },
    ...buildConversation('messages', entries),
  }),
};

export const codex: Agent = {
  client: 'responses',
  tool: 'shell',
  headers: {
    accept: 'text/event-stream',
    originator: 'codex_exec',
    'session-id': '0199',
    'thread-id': '0199',
    'user-agent': 'codex_exec/0.169.0',
    'x-codex-beta-features': 'remote_compaction_v2',
    'x-codex-turn-metadata': '{"request_kind":"turn"}',
  },
  opening: [
    {
      type: 'message',
      id: 'msg_0199a',
      role: 'developer',
      content: [{ type: 'input_text', text: 'You are an agent on a shared machine.' }],
    },
    {
      type: 'message',
      id: 'msg_0199b',
      role: 'user',
      content: [
        { type: 'input_text', text: '<environment_context>\n  <cwd>/harbour</cwd>\n</environment_context>' },
      ],
    },
    {
      type: 'message',
      id: 'msg_0199c',
      role: 'user',
      content: [{ type: 'input_text', text: 'List the harbour.' }],
    },
  ],
  body: (entries) => ({
    tools: [
      {
        type: 'function',
        name: 'shell',
        description: 'Runs a command.',
        strict: false,
        parameters: shellSchema,
      },
      {
        type: 'namespace',
        name: 'multi_agent',
        description: 'Other agents.',
        tools: [
          {
            type: 'function',
            name: 'spawn_agent',
            description: 'Starts one.',
            strict: false,
            parameters: { type: 'object', properties: {} },
          },
        ],
      },
      {
        type: 'custom',
        name: 'apply_patch',
        description: 'Edits files.',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
      },
      { type: 'web_search', external_web_access: true },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { summary: 'auto' },
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: '0199',
    client_metadata: {
      session_id: '0199',
      turn_id: '0199',
      'x-codex-turn-metadata': '{"request_kind":"turn"}',
    },
    ...buildConversation('responses', entries),
  }),
};

export const geminiCli: Agent = {
  client: 'generate-content',
  tool: 'run_shell_command',
  headers: {
    'x-goog-api-key': 'any-key',
    'user-agent': 'GeminiCLI-tui/0.61.0/gemini (linux; x64; terminal)',
    'x-goog-api-client': 'google-genai-sdk/1.30.0 gl-node/v26',
    'x-gemini-api-privileged-user-id': 'd1',
  },
  opening: [{ role: 'user', parts: [{ text: 'This is the workspace.\n' }, { text: 'List the harbour.' }] }],
  body: (entries) => ({
    systemInstruction: { role: 'user', parts: [{ text: 'You are an agent in a terminal.' }] },
    tools: [
      {
        functionDeclarations: [
          { name: 'run_shell_command', description: 'Runs a command.', parametersJsonSchema: shellSchema },
          {
            name: 'save_memory',
            description: 'Keeps a fact.',
            parametersJsonSchema: {
              type: 'object',
              properties: { fact: { type: 'string' } },
              required: ['fact'],
              additionalProperties: false,
            },
          },
        ],
      },
    ],
    generationConfig: { temperature: 1, topP: 0.95, topK: 64, thinkingConfig: { includeThoughts: true } },
    ...buildConversation('generate-content', entries),
  }),
};

export async function ask(agent: Agent, wire: Wire, entries: readonly Entry[]): Promise<Crossing> {
  const crossing = await harness.ask(
    agent.client,
    getModel(wire, 'thinking').id,
    agent.body(entries),
    true,
    agent.headers,
  );
  expect(
    [crossing.status, crossing.end.type === 'answered' && crossing.end.outcome],
    `${crossing.text}\nsent: ${JSON.stringify(crossing.sent)}`,
  ).toEqual([200, 'completed']);
  return crossing;
}

export function openAgents(): void {
  beforeAll(async () => {
    harness = await openFourWires();
  });
}
