/**
 * The ready settings of coding agents: each file is read as its client reads it, and what it says is called
 * the way the client calls, with its headers and framing, at a gateway with the demo model.
 */
import { parseEnv } from 'node:util';
import { parse as parseToml } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  hello,
  key,
  openClients,
  parseCommented,
  post,
  readSettings,
  splitFrames,
} from './client-settings.ts';

openClients();

describe('Claude Code', () => {
  const schema = z.object({ env: z.record(z.string(), z.string()) });

  it('calls, counts and lists by its settings.json', async () => {
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
      expect([stream.at(0)?.[0], stream.at(-1)?.[0]]).toEqual([
        'event: message_start',
        'event: message_stop',
      ]);
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
});

describe('Codex', () => {
  const providerSchema = z.object({
    base_url: z.string(),
    env_key: z.string(),
    wire_api: z.literal('responses'),
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

  it('learns at once that there are no WebSockets', async () => {
    const { model_providers: providers } = schema.parse(parseToml(readSettings('codex/config.toml')));
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      const headers = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
        authorization: `Bearer ${key}`,
      };
      request(`${providers.tollgate?.base_url}/responses`, { headers }, (response) =>
        resolve(response.statusCode),
      )
        .on('error', reject)
        .end();
    });
    expect(status).toBe(426);
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
