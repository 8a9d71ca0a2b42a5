/**
 * The ready settings of coding agents: each file is read as its client reads it, and what it says is called
 * the way the client calls, with its headers and framing, at a gateway with the demo model.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { parse as parseToml } from 'smol-toml';
import { beforeAll, expect, describe, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { completions } from '../../plugins/protocols/completions/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { webSockets } from '../../plugins/protocols/responses/web-sockets.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { readObject } from '../../plugins/shared/wire-kit/values.ts';
import { keyHeaders } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { openSocket } from '../support/web-socket.ts';

const folder = join(import.meta.dirname, '../../examples/clients');
const asWritten = { origin: 'http://127.0.0.1:8787', key: 'sk-your-key' };
let gateway: TestGateway;
let key: string;

function openClients(): void {
  beforeAll(async () => {
    const plugins = [
      ...keyHeaders(),
      chatCompletions(),
      responses(),
      webSockets(),
      messages(),
      generateContent(),
      completions(),
      embeddings(),
      rerank(),
      demo({ pace: 0 }),
      balance(),
    ];
    gateway = await startGateway({ plugins });
    key = await gateway.newKey({ credit: '5' });
  });
}

/** A settings file, with this gateway's address and key where it has those of its reader. */
function readSettings(path: string): string {
  const text = readFileSync(join(folder, path), 'utf8');
  return text.replaceAll(asWritten.origin, gateway.url).replaceAll(asWritten.key, key);
}

/** JSON with comments on lines of their own, as Gemini CLI and opencode take it. */
function parseCommented(text: string): unknown {
  return JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, ''));
}

async function post(url: string, headers: Record<string, string>, body: object): Promise<string> {
  const response = await postJson(url, body, headers);
  const text = await response.text();
  expect([response.status, response.status === 200 ? '' : text]).toEqual([200, '']);
  return text;
}

/** The frames of a stream, each as its lines; Google ends its lines with two characters. */
function splitFrames(text: string): string[][] {
  const ended = text.replaceAll('\r\n', '\n').trimEnd();
  return ended.split('\n\n').map((frame) => frame.split('\n'));
}

const hello = 'Say pong.';

openClients();

const schema = z.object({ env: z.record(z.string(), z.string()) });

it('Claude Code calls, counts and lists by its settings.json', async () => {
  const { env } = schema.parse(JSON.parse(readSettings('claude-code/settings.json')));
  const base = env.ANTHROPIC_BASE_URL ?? '';
  const headers = {
    authorization: `Bearer ${env.ANTHROPIC_AUTH_TOKEN}`,
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14',
    'x-app': 'cli',
  };
  for (const variable of [
    'ANTHROPIC_MODEL',
    'ANTHROPIC_DEFAULT_FABLE_MODEL',
    'ANTHROPIC_DEFAULT_OPUS_MODEL',
    'ANTHROPIC_DEFAULT_SONNET_MODEL',
    'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  ]) {
    const conversation = {
      model: env[variable],
      messages: [
        { role: 'user', content: [{ type: 'text', text: hello, cache_control: { type: 'ephemeral' } }] },
      ],
    };
    const body = {
      ...conversation,
      max_tokens: 500,
      stream: true,
      thinking: { type: 'adaptive' },
      metadata: { user_id: 'u' },
      context_management: { edits: [] },
    };
    const stream = splitFrames(await post(`${base}/v1/messages?beta=true`, headers, body));
    expect(
      stream.every(([event = '', data = '']) => event.startsWith('event: ') && data.startsWith('data: ')),
    ).toBe(true);
    expect([stream.at(0)?.[0], stream.at(-1)?.[0]]).toEqual(['event: message_start', 'event: message_stop']);
    expect(
      JSON.parse(await post(`${base}/v1/messages/count_tokens?beta=true`, headers, conversation)),
    ).toMatchObject({ input_tokens: expect.any(Number) });
  }
  const listed = await fetch(`${base}/v1/models?limit=1000`, { headers });
  expect(await listed.json()).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ id: env.ANTHROPIC_MODEL })]),
  });
  expect((await fetch(`${base}/api/hello`, { method: 'HEAD' })).status).toBeLessThan(500);
});

describe('Codex', () => {
  const providerSchema = z.object({
    base_url: z.string(),
    env_key: z.string(),
    wire_api: z.literal('responses'),
    supports_websockets: z.boolean(),
  });
  const schema = z.object({
    model: z.string(),
    model_provider: z.string(),
    model_providers: z.record(z.string(), providerSchema),
  });

  it('calls, and continues after a tool call, by its config.toml', async () => {
    const {
      model,
      model_provider: name,
      model_providers: providers,
    } = schema.parse(parseToml(readSettings('codex/config.toml')));
    const provider = providerSchema.parse(providers[name]);
    expect(provider.env_key).toBe('TOLLGATE_KEY');
    const headers = {
      authorization: `Bearer ${key}`,
      accept: 'text/event-stream',
      originator: 'codex_cli_rs',
      session_id: '0199',
    };
    const said = { type: 'message', role: 'user', content: [{ type: 'input_text', text: hello }] };
    const tools = [
      {
        type: 'function',
        name: 'shell',
        description: 'Runs a command.',
        strict: false,
        parameters: { type: 'object', properties: {} },
      },
      { type: 'namespace', name: 'agents', description: 'Others.', tools: [] },
      { type: 'web_search' },
    ];
    const fields = {
      model,
      tools,
      stream: true,
      store: false,
      parallel_tool_calls: true,
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: '0199',
      client_metadata: { a: 'b' },
    };
    const answered = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'pong' }] };
    for (const input of [
      [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'You are an agent.' }] },
        said,
      ],
      [said, answered, said],
    ]) {
      const stream = splitFrames(await post(`${provider.base_url}/responses`, headers, { ...fields, input }));
      const last = stream
        .findLast((frame) => !frame.includes('data: [DONE]'))
        ?.find((line) => line.startsWith('data: '));
      expect(JSON.parse(last?.slice('data: '.length) ?? '')).toMatchObject({
        type: 'response.completed',
        response: { status: 'completed', usage: { output_tokens: expect.any(Number) } },
      });
    }
  });

  it('keeps one WebSocket, warms it up and sends only what is new, by its config.toml', async () => {
    const { model, model_providers: providers } = schema.parse(parseToml(readSettings('codex/config.toml')));
    const provider = providers.tollgate;
    expect(provider?.supports_websockets).toBe(true);
    const { pathname, origin } = new URL(provider?.base_url ?? '');
    const headers = { 'openai-beta': 'responses_websockets=2026-02-06', originator: 'codex_cli_rs' };
    const client = await openSocket(origin, key, { headers }, `${pathname}/responses`);
    const fields = { model, store: false, stream: true, include: ['reasoning.encrypted_content'] };
    const opening = { type: 'message', role: 'developer', content: 'You are an agent.' };
    let previous: unknown;
    for (const call of [
      { generate: false, input: [opening] },
      { input: [{ type: 'message', role: 'user', content: hello }] },
      { input: [{ type: 'message', role: 'user', content: 'Again.' }] },
    ]) {
      const last = await client.create({ ...fields, ...call, previous_response_id: previous });
      expect(last).toMatchObject({ type: 'response.completed', response: { id: expect.any(String) } });
      previous = readObject(last.response).id;
    }
    client.socket.close();
  });
});

describe('Gemini CLI', () => {
  const schema = z.object({
    security: z.object({ auth: z.object({ selectedType: z.literal('gemini-api-key') }) }),
    model: z.object({ name: z.string() }),
    modelConfigs: z.object({ customOverrides: z.array(z.object({ modelConfig: z.unknown() })).min(1) }),
  });

  it('calls by its settings.json and .env', async () => {
    const { GOOGLE_GEMINI_BASE_URL: base, GEMINI_API_KEY: shown = '' } = parseEnv(
      readSettings('gemini-cli/.env'),
    );
    const { model, modelConfigs } = schema.parse(parseCommented(readSettings('gemini-cli/settings.json')));
    // Without these, Gemini CLI calls models of Google beside the conversation.
    for (const { modelConfig } of modelConfigs.customOverrides)
      expect(modelConfig).toEqual({ model: model.name });
    const headers = {
      'x-goog-api-key': shown,
      'user-agent': 'GeminiCLI/0.61.0/gemini (linux; x64)',
      'x-goog-api-client': 'google-genai-sdk/1.30.0 gl-node/v24',
    };
    const body = {
      contents: [{ role: 'user', parts: [{ text: hello }] }],
      generationConfig: { temperature: 0, topP: 1 },
      systemInstruction: { role: 'user', parts: [{ text: 'You are an agent.' }] },
    };
    const stream = splitFrames(
      await post(`${base}/v1beta/models/${model.name}:streamGenerateContent?alt=sse`, headers, body),
    );
    expect(stream.every((frame) => frame.length === 1 && frame[0]?.startsWith('data: {'))).toBe(true);
    expect(JSON.parse(stream.at(-1)?.[0]?.slice('data: '.length) ?? '')).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
    });
  });
});

async function checkChat(base: string, shown: string, model: string): Promise<void> {
  const headers = { authorization: `Bearer ${shown}` };
  const stream = splitFrames(
    await post(`${base}/chat/completions`, headers, {
      model,
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'You are brief.' },
        { role: 'user', content: hello },
      ],
    }),
  );
  expect(stream.every((frame) => frame.length === 1 && /^(data: |: )/.test(frame[0] ?? ''))).toBe(true);
  expect(stream.at(-1)).toEqual(['data: [DONE]']);
  expect(JSON.parse(stream.at(-2)?.[0]?.slice('data: '.length) ?? '')).toMatchObject({
    choices: [],
    usage: { completion_tokens: expect.any(Number) },
  });
}

it('Open WebUI fills its menu, and calls what is in it, by its .env', async () => {
  const { OPENAI_API_BASE_URL: base = '', OPENAI_API_KEY: shown = '' } = parseEnv(
    readSettings('open-webui/.env'),
  );
  const listed = await fetch(`${base}/models`, { headers: { authorization: `Bearer ${shown}` } });
  const { data } = z.object({ data: z.array(z.object({ id: z.string() })) }).parse(await listed.json());
  expect(data.map(({ id }) => id)).toContain('demo/echo');
  await checkChat(base, shown, 'demo/echo');
});

const ranked = z.object({
  results: z.array(z.object({ index: z.int(), relevance_score: z.number() })).min(1),
});
const documents = ['Tea', 'A lamp for ships'];

it('Open WebUI makes vectors and ranks documents by its .env', async () => {
  const settings = parseEnv(readSettings('open-webui/.env'));
  expect([settings.RAG_EMBEDDING_ENGINE, settings.RAG_RERANKING_ENGINE]).toEqual(['openai', 'external']);
  const vectors = await post(
    `${settings.RAG_OPENAI_API_BASE_URL}/embeddings`,
    { authorization: `Bearer ${settings.RAG_OPENAI_API_KEY}` },
    { model: settings.RAG_EMBEDDING_MODEL, input: documents },
  );
  expect(JSON.parse(vectors)).toMatchObject({ data: [{ index: 0 }, { index: 1 }] });
  const order = await post(
    settings.RAG_EXTERNAL_RERANKER_URL ?? '',
    { authorization: `Bearer ${settings.RAG_EXTERNAL_RERANKER_API_KEY}` },
    { model: settings.RAG_RERANKING_MODEL, query: 'a lamp', documents, top_n: 2 },
  );
  expect(ranked.parse(JSON.parse(order)).results[0]?.index).toBe(1);
});

describe('Continue', () => {
  const schema = z.object({
    name: z.string(),
    version: z.string(),
    schema: z.literal('v1'),
    models: z
      .array(
        z.object({
          provider: z.enum(['openai', 'cohere']),
          model: z.string(),
          apiBase: z.string(),
          apiKey: z.string(),
          roles: z.array(z.string()),
        }),
      )
      .min(1),
  });

  it('calls by its config.yaml', async () => {
    const { models } = schema.parse(parseYaml(readSettings('continue/config.yaml')));
    for (const { model, apiBase, apiKey, roles } of models) {
      expect(apiKey).toBe('${{ secrets.TOLLGATE_KEY }}');
      if (roles.includes('chat')) await checkChat(apiBase, key, model);
    }
  });

  it('completes, makes vectors and ranks by its config.yaml', async () => {
    const { models } = schema.parse(parseYaml(readSettings('continue/config.yaml')));
    const call = async (role: string, path: string, body: object): Promise<unknown> => {
      const { model, apiBase = '' } = models.find(({ roles }) => roles.includes(role)) ?? {};
      const url = new URL(path, apiBase.replace(/\/?$/, '/')).href;
      return JSON.parse(await post(url, { authorization: `Bearer ${key}` }, { model, ...body }));
    };
    const text = { prompt: 'const lamp = ', max_tokens: 20 };
    expect(await call('autocomplete', 'completions', text)).toMatchObject({
      choices: [{ text: expect.any(String) }],
    });
    expect(await call('embed', 'embeddings', { input: documents })).toMatchObject({
      data: [{ index: 0 }, { index: 1 }],
    });
    const order = await call('rerank', 'rerank', { query: 'a lamp', documents });
    expect(ranked.parse(order).results[0]?.index).toBe(1);
  });
});

describe('opencode', () => {
  const providerSchema = z.object({
    npm: z.literal('@ai-sdk/openai-compatible'),
    options: z.object({ baseURL: z.string(), apiKey: z.string() }),
    models: z.record(z.string(), z.object({ name: z.string() })),
  });
  const schema = z.object({
    model: z.string(),
    small_model: z.string(),
    provider: z.record(z.string(), providerSchema),
  });

  it('calls by its opencode.json', async () => {
    const settings = schema.parse(parseCommented(readSettings('opencode/opencode.json')));
    for (const chosen of [settings.model, settings.small_model]) {
      const [, name = '', model = ''] = /^(\w+)\/(.+)$/.exec(chosen) ?? [];
      const { options, models } = providerSchema.parse(settings.provider[name]);
      expect([options.apiKey, Object.keys(models)]).toEqual(['{env:TOLLGATE_KEY}', [model]]);
      await checkChat(options.baseURL, key, model);
    }
  });
});
