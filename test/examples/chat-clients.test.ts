/** The ready settings of clients that speak chat completions, called the way these clients call. */
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
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

describe('Continue', () => {
  const schema = z.object({
    name: z.string(),
    version: z.string(),
    schema: z.literal('v1'),
    models: z
      .array(
        z.object({
          provider: z.literal('openai'),
          model: z.string(),
          apiBase: z.string(),
          apiKey: z.string(),
        }),
      )
      .min(1),
  });

  it('calls by its config.yaml', async () => {
    const { models } = schema.parse(parseYaml(readSettings('continue/config.yaml')));
    for (const { model, apiBase, apiKey } of models) {
      expect(apiKey).toBe('${{ secrets.TOLLGATE_KEY }}');
      await checkChat(apiBase, key, model);
    }
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
