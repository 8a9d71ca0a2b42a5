/**
 * Coding agents as they really call: Claude Code (messages), Codex (responses) and Gemini CLI
 * (generate-content), with their headers, tools and settings, on every wire. Each receives a call, runs it
 * and continues, and each receives its stream framed as it needs it.
 */
import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { answered, kept, said, told, type Entry } from '../support/continuing.ts';
import { startGateway } from '../support/gateway.ts';
import { isObject, type Json } from '../support/json.ts';
import { dataOf, hear, objects, wholeOf } from '../support/listen.ts';
import { modelOf, openQuartet, wires, type Crossing, type Quartet, type Wire } from '../support/quartet.ts';
import { openDoors } from '../support/station.ts';

let quartet: Quartet;
beforeAll(async () => {
  quartet = await openQuartet();
});
afterAll(() => quartet.close());

const draft = 'http://json-schema.org/draft-07/schema#';
const shellSchema = {
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
const command = { command: 'ls harbour' };

interface Agent {
  readonly client: Wire;
  /** The agent's name for its call of the first tool. */
  readonly tool: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Its whole body except the model and the stream flag, with the conversation so far. */
  body(entries: readonly Entry[]): object;
  /** The entries it starts with. */
  readonly opening: readonly Entry[];
}

const claudeCode: Agent = {
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
    ...told('messages', entries),
  }),
};

const codex: Agent = {
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
    ...told('responses', entries),
  }),
};

const geminiCli: Agent = {
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
    ...told('generate-content', entries),
  }),
};

async function ask(agent: Agent, wire: Wire, entries: readonly Entry[]): Promise<Crossing> {
  const crossing = await quartet.ask(
    agent.client,
    modelOf(wire, 'thinking').id,
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

/**
 * An entry as the agent sends it back: Codex unchanged except for an empty content of reasoning, Claude Code
 * with its calls after everything else.
 */
function resent(client: Wire, entry: Entry): Entry {
  if (client === 'responses' && 'summary' in entry) return { ...entry, content: null };
  if (client !== 'messages' || !('content' in entry)) return entry;
  const isCall = ({ type }: Json): boolean => type === 'tool_use';
  const blocks = objects(entry.content);
  return { ...entry, content: [...blocks.filter((block) => !isCall(block)), ...blocks.filter(isCall)] };
}

/** The agent asks, receives a call, runs it, and receives an answer; returns both replies as received. */
async function session(agent: Agent, wire: Wire): Promise<readonly [Crossing, Crossing]> {
  const { client, tool, opening } = agent;
  quartet.vendors[wire].script(
    modelOf(wire, 'thinking').upstream,
    {
      reasoning: 'I look.',
      text: 'I run it. ',
      toolCalls: [{ name: tool, arguments: JSON.stringify(command) }],
    },
    { reasoning: 'I count.', text: 'Three boats.' },
  );
  const first = await ask(agent, wire, opening);
  const reply = wholeOf(client, first.text);
  expect(hear(client, reply).calls.map(({ name, input }) => ({ name, input }))).toEqual([
    { name: tool, input: command },
  ]);
  const again = kept(client, reply).map((entry) => resent(client, entry));
  const second = await ask(agent, wire, [
    ...opening,
    ...again,
    ...answered(client, reply, () => 'boats.txt'),
  ]);
  expect(hear(client, wholeOf(client, second.text)).text).toBe('Three boats.');
  return [first, second];
}

function sentOf({ sent }: Crossing): Record<string, unknown> {
  return isObject(sent) ? sent : {};
}

describe.each(wires)('on %s', (wire) => {
  it('understands Claude Code, and streams named events, usage at the start and one end', async () => {
    for (const { text } of await session(claudeCode, wire)) {
      const frames = text.split('\n\n').filter((frame) => frame.trim() !== '');
      for (const frame of frames) expect(frame).toMatch(/^event: [a-z_]+\ndata: \{/);
      const events = dataOf(text);
      expect(events[0]).toMatchObject({
        type: 'message_start',
        message: { usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) } },
      });
      expect(events.filter(({ type }) => type === 'message_delta')).toHaveLength(1);
      expect(events.at(-1)).toEqual({ type: 'message_stop' });
    }
  });

  it('gives Claude Code a reply whose last block, which it prints, is the text', async () => {
    const [, { text }] = await session(claudeCode, wire);
    const blocks = objects(wholeOf('messages', text).content);
    expect(blocks.at(-1)).toMatchObject({ type: 'text', text: 'Three boats.' });
  });

  it('understands Codex, and ends the stream with a completed response that has usage', async () => {
    for (const { text } of await session(codex, wire)) {
      const events = dataOf(text);
      expect(events.slice(0, 2).map(({ type }) => type)).toEqual([
        'response.created',
        'response.in_progress',
      ]);
      expect(events.at(-1)).toMatchObject({
        type: 'response.completed',
        response: {
          status: 'completed',
          usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
        },
      });
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
      expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
    }
  });

  it('gives Codex a patch as free text, whatever its provider calls it', async () => {
    const patch = '*** Begin Patch\n+ "boat"\n*** End Patch';
    const freeform = wire === 'chat-completions' || wire === 'responses';
    quartet.vendors[wire].script(
      modelOf(wire, 'thinking').upstream,
      {
        toolCalls: [
          { name: 'apply_patch', freeform, arguments: freeform ? patch : JSON.stringify({ input: patch }) },
        ],
      },
      { text: 'Done.' },
    );
    const first = await ask(codex, wire, codex.opening);
    const reply = wholeOf('responses', first.text);
    expect(objects(reply.output).filter(({ type }) => type === 'custom_tool_call')).toMatchObject([
      { name: 'apply_patch', input: patch },
    ]);
    const second = await ask(codex, wire, [
      ...codex.opening,
      ...kept('responses', reply),
      ...answered('responses', reply, () => 'Done!'),
    ]);
    expect(hear('responses', wholeOf('responses', second.text)).text).toBe('Done.');
  });

  it('understands Gemini CLI, and streams bare data with one finish reason, in the last chunk', async () => {
    for (const { text } of await session(geminiCli, wire)) {
      for (const line of text.split(/\r?\n/)) expect(line).toMatch(/^(data: \{.*\})?$/);
      const chunks = dataOf(text);
      const finished = chunks.map(({ candidates }) =>
        objects(candidates).some(({ finishReason }) => finishReason !== undefined),
      );
      expect(finished.filter(Boolean)).toEqual([true]);
      expect(finished.at(-1)).toBe(true);
      expect(isObject(chunks.at(-1)?.usageMetadata)).toBe(true);
    }
  });
});

describe('an agent on its own wire', () => {
  it.each([
    ['Claude Code', claudeCode],
    ['Codex', codex],
    ['Gemini CLI', geminiCli],
  ])('passes the body of %s unchanged except for the name of the model', async (_, agent) => {
    const { client, opening } = agent;
    const { upstream } = modelOf(client, 'thinking');
    quartet.vendors[client].script(upstream, { text: 'Aye.' });
    const crossing = await ask(agent, client, opening);
    const expected = {
      ...agent.body(opening),
      ...(client === 'generate-content' ? {} : { model: upstream, stream: true }),
    };
    expect(sentOf(crossing)).toEqual(JSON.parse(JSON.stringify(expected)));
    expect(crossing.end.losses).toEqual([]);
  });

  it.each<[string, Agent, IncomingHttpHeaders]>([
    [
      'Claude Code keeps its betas, known or not, its version, and what else it tells its vendor',
      claudeCode,
      {
        'anthropic-beta': claudeCode.headers['anthropic-beta'],
        'anthropic-version': '2023-06-01',
        'anthropic-dangerous-direct-browser-access': 'true',
      },
    ],
    ['Codex has none for its vendor', codex, {}],
    [
      'what a client asks of OpenAI goes to it',
      { ...codex, headers: { ...codex.headers, 'openai-beta': 'responses=experimental' } },
      { 'openai-beta': 'responses=experimental' },
    ],
    ['Gemini CLI has none', geminiCli, {}],
  ])('%s; no other header of it reaches the provider', async (_, agent, kept) => {
    const { client } = agent;
    const headersFor = async (wire: Wire): Promise<IncomingHttpHeaders> => {
      quartet.vendors[wire].script(modelOf(wire, 'thinking').upstream, { text: 'Aye.' });
      await ask(agent, wire, agent.opening);
      return quartet.vendors[wire].requests.at(-1)?.headers ?? {};
    };
    const ownWords = new Set([
      'host',
      'connection',
      'content-length',
      'content-type',
      'accept',
      'accept-encoding',
      'user-agent',
      'authorization',
      'x-api-key',
      'x-goog-api-key',
      'transfer-encoding',
      'accept-language',
      'sec-fetch-mode',
    ]);
    const headers = await headersFor(client);
    expect(Object.fromEntries(Object.entries(headers).filter(([name]) => !ownWords.has(name)))).toEqual(kept);
    expect([headers['user-agent'], headers['accept-encoding']]).toEqual(['tollgate', 'identity']);
    // On another wire no provider would understand them.
    const elsewhere = await headersFor(client === 'messages' ? 'responses' : 'messages');
    expect(elsewhere).not.toHaveProperty('openai-beta');
    expect(elsewhere).not.toHaveProperty('anthropic-beta');
  });

  it.each(wires)('passes a field of %s that only a later provider knows', async (wire) => {
    const { id } = modelOf(wire);
    const { text, end } = await quartet.ask(wire, id, {
      ...(wire === 'messages' ? { max_tokens: 100 } : {}),
      x_later: { deep: [1] },
      ...told(wire, [said(wire, 'Ahoy')]),
    });
    // The strict provider does not know the field, and its error shows that the field was sent.
    expect(text).toMatch(/x_later/);
    expect(end.type === 'failed' && end.exchange.attempt.status).toBe(400);
    expect(end.losses).toEqual([]);
  });

  it('a strict configuration requires what older Codex versions omit from a message sent back', async () => {
    const { id } = modelOf('responses');
    const again = {
      input: [
        ...codex.opening,
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I run it.' }] },
        { role: 'user', content: 'Well?' },
      ],
    };
    const strict = await startGateway({ plugins: [openDoors(), responses()] });
    const response = await fetch(`${strict.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: 'Bearer any-key', 'content-type': 'application/json' },
      body: JSON.stringify({ model: id, ...again }),
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { param: 'input[3].id' } },
    ]);
    await strict.close();
    expect((await quartet.ask('responses', id, again)).status).toBe(200);
  });
});

/** opencode by chat-completions: cache marks are on messages, parts and calls, as on Claude's own wire. */
describe('the cache marks of opencode', () => {
  const mark = { cache_control: { type: 'ephemeral' } };
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'bash', arguments: JSON.stringify(command) },
  };
  const body = {
    tools: [
      {
        type: 'function',
        function: { name: 'bash', description: 'Runs a command.', parameters: shellSchema },
      },
    ],
    messages: [
      { role: 'system', content: 'You are an agent in a terminal.', ...mark },
      { role: 'user', content: [{ type: 'text', text: 'List the harbour.', ...mark }] },
      { role: 'assistant', content: 'I run it.', tool_calls: [{ ...call, ...mark }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'boats.txt', ...mark },
    ],
  };

  it('reach Claude where the client put them', async () => {
    const { id, upstream } = modelOf('messages', 'thinking');
    quartet.vendors.messages.script(upstream, { text: 'Three boats.' });
    const { status, sent, end } = await quartet.ask('chat-completions', id, body, true);
    expect([status, end.losses]).toEqual([200, []]);
    expect(sent).toMatchObject({
      system: [{ text: 'You are an agent in a terminal.', ...mark }],
      messages: [
        { role: 'user', content: [{ text: 'List the harbour.', ...mark }] },
        { role: 'assistant', content: [{ type: 'text' }, { type: 'tool_use', ...mark }] },
        { role: 'user', content: [{ type: 'tool_result', ...mark }] },
      ],
    });
  });

  it('reach Claude on tools too, and are reported as lost elsewhere', async () => {
    const marked = {
      tools: body.tools.map((tool) => ({ ...tool, ...mark })),
      messages: [{ role: 'user', content: 'List the harbour.' }],
    };
    const claude = modelOf('messages', 'thinking');
    const gemini = modelOf('generate-content');
    quartet.vendors.messages.script(claude.upstream, { text: 'Three boats.' });
    quartet.vendors['generate-content'].script(gemini.upstream, { text: 'Three boats.' });
    const reached = await quartet.ask('chat-completions', claude.id, marked, true);
    expect(reached.sent).toMatchObject({ tools: [{ name: 'bash', ...mark }] });
    const missed = await quartet.ask('chat-completions', gemini.id, marked);
    expect([reached, missed].map(({ end }) => end.losses.map(({ path }) => path))).toEqual([
      [],
      ['tools[0].cache_control'],
    ]);
  });

  it('are reported as lost, by their path, where the model caches by itself', async () => {
    const { id, upstream } = modelOf('generate-content');
    quartet.vendors['generate-content'].script(upstream, { text: 'Three boats.' });
    const { end } = await quartet.ask('chat-completions', id, body);
    expect(end.losses.map(({ path }) => path)).toEqual([
      'messages[0].cache_control',
      'messages[1].content[0].cache_control',
      'messages[2].tool_calls[0].cache_control',
      'messages[3].cache_control',
    ]);
  });
});

describe('what Gemini signs', () => {
  const signatureOf = (sent: unknown): unknown =>
    /"thoughtSignature":"([^"]*)"/.exec(JSON.stringify(sent))?.[1];

  it.each([
    ['Claude Code', claudeCode],
    ['Codex', codex],
    ['Gemini CLI', geminiCli],
  ])('returns to Gemini from %s', async (_, agent) => {
    const [first, second] = await session(agent, 'generate-content');
    const sealed = signatureOf(second.sent);
    expect(sealed).toMatch(/^[A-Za-z0-9+/]{40,}=*$/);
    if (agent === geminiCli) expect(first.text).toContain(sealed);
  });
});

describe('requests of agents beside their calls', () => {
  const show = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(quartet.gateway.url + path, {
      ...init,
      headers: { 'x-api-key': 'any-key', ...claudeCode.headers, ...init.headers },
    });

  it.each(wires)(
    'let Claude Code count the tokens of a conversation with a model of %s, for free',
    async (wire) => {
      const { id } = modelOf(wire, 'thinking');
      const { system, tools, messages, thinking } = JSON.parse(
        JSON.stringify(claudeCode.body(claudeCode.opening)),
      );
      const response = await show('/alpha/v1/messages/count_tokens?beta=true', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: id, system, tools, messages, thinking }),
      });
      const [status, body]: [number, unknown] = [response.status, await response.json()];
      expect([status, body]).toEqual([200, { input_tokens: expect.any(Number) }]);
      const end = (await quartet.gateway.ended(quartet.gateway.ends.length)).at(-1);
      expect(end).toMatchObject({ exchange: { operation: 'count' }, charge: { cost: 0n } });
    },
  );

  it('let Claude Code list a thousand models and probe a provider path: both get a reply', async () => {
    expect((await show('/alpha/v1/models?limit=1000')).status).toBe(200);
    expect((await show('/alpha/api/hello', { method: 'HEAD' })).status).toBe(404);
  });

  it.each(wires)('let Claude Code ask again for a whole reply when its stream breaks on %s', async (wire) => {
    const { upstream, id } = modelOf(wire, 'thinking');
    const events = { 'chat-completions': 3, responses: 6, messages: 5, 'generate-content': 2 }[wire];
    quartet.vendors[wire].script(
      upstream,
      { text: ['I look ', 'at the ', 'harbour ', 'wall.'], cut: { how: 'end', events } },
      { text: 'Three boats.' },
    );
    const body = claudeCode.body(claudeCode.opening);
    const broken = await quartet.ask('messages', id, body, true, claudeCode.headers);
    expect(broken.text).toContain('event: error');
    expect(broken.text).not.toContain('message_stop');
    const again = await quartet.ask('messages', id, body, false, claudeCode.headers);
    expect([again.status, hear('messages', JSON.parse(again.text)).text]).toEqual([200, 'Three boats.']);
  });
});

describe('a path that does not ask for events', () => {
  it.each(wires)('returns one JSON array from %s to Gemini CLI', async (wire) => {
    const { upstream, id } = modelOf(wire, 'thinking');
    quartet.vendors[wire].script(upstream, { text: 'Three boats.' });
    const response = await fetch(`${quartet.gateway.url}/beta/v1beta/models/${id}:streamGenerateContent`, {
      method: 'POST',
      headers: { ...geminiCli.headers, 'content-type': 'application/json' },
      body: JSON.stringify(geminiCli.body(geminiCli.opening)),
    });
    const chunks: unknown = await response.json();
    expect(response.headers.get('content-type')).toContain('application/json');
    const finished = objects(chunks).map(({ candidates }) =>
      objects(candidates).some(({ finishReason }) => finishReason === 'STOP'),
    );
    expect([finished.length > 1, finished.at(-1), finished.filter(Boolean).length]).toEqual([true, true, 1]);
  });
});

it.each(wires.filter((wire) => wire !== 'responses'))(
  'Codex that asks OpenAI to compact a conversation learns that %s does not, and pays nothing',
  async (wire) => {
    const { id } = modelOf(wire, 'thinking');
    const { status, text, sent, end } = await quartet.ask(
      'responses',
      id,
      codex.body([...codex.opening, { type: 'compaction_trigger' }]),
      true,
      codex.headers,
    );
    expect([status, JSON.parse(text), sent]).toMatchObject([
      400,
      { error: { param: `input[${codex.opening.length}]` } },
      undefined,
    ]);
    expect(end.type).toBe('failed');
  },
);

it('Codex that tries a WebSocket first is refused at once and continues over HTTP', async () => {
  const url = new URL('/v1/responses', quartet.gateway.url);
  const asked = httpRequest(url, {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'openai-beta': 'responses_websockets=2026-02-06',
      authorization: 'Bearer any-key',
    },
  });
  asked.end();
  const [response]: unknown[] = await once(asked, 'response');
  expect(
    typeof response === 'object' && response !== null && 'statusCode' in response && response.statusCode,
  ).toBe(426);
  asked.destroy();
});
