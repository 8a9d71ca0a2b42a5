/**
 * `tollgate import litellm`: what LiteLLM's users have in their files becomes a configuration that the
 * gateway accepts, and every line without a counterpart is named.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import words from '../../plugins/imports/litellm/words.json' with { type: 'json' };
import { postJson } from '../support/post.ts';
import { makeDataFolder, runVerb, startProcess } from '../support/process.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';
import { startVendor } from '../support/vendor/chat-completions.ts';

const importedSchema = z.object({
  variables: z.array(z.string()),
  remarks: z.array(z.object({ line: z.number(), setting: z.string(), text: z.string() })),
});

const folder = makeDataFolder();

async function importFile(source: string) {
  const TOLLGATE_CONFIG = join(folder, `${randomUUID()}.config.ts`);
  const { code, output, errors } = await runVerb(['import', 'litellm', source, '--json'], {
    TOLLGATE_CONFIG,
  });
  expect([code, errors]).toEqual([0, '']);
  const { variables, remarks } = importedSchema.parse(JSON.parse(output));
  const text = readFileSync(TOLLGATE_CONFIG, 'utf8');
  return {
    file: TOLLGATE_CONFIG,
    text,
    variables,
    remarks: remarks.map(({ line, text: said }) => `${line}: ${said}`),
  };
}

function importSample(name: string) {
  return importFile(join(import.meta.dirname, 'litellm', `${name}.yaml`));
}

function importText(text: string) {
  const file = join(folder, `${randomUUID()}.yaml`);
  writeFileSync(file, text);
  return importFile(file);
}

async function check(file: string, environment: Record<string, string> = {}): Promise<string> {
  const { code, output, errors } = await runVerb(['check'], {
    TOLLGATE_CONFIG: file,
    TOLLGATE_DATA: join(folder, 'data'),
    ...environment,
  });
  expect([code, errors]).toEqual([0, '']);
  return output;
}

it('the configuration of a company becomes one that the gateway accepts', async () => {
  const { file, text, variables } = await importSample('company');
  const keys = Object.fromEntries(variables.map((name) => [name, 'any-key']));
  expect(await check(file, keys)).toMatch(
    /plugins: .*azure, openai, anthropic, amazon-bedrock, google-vertex, at-gpu-1-internal/,
  );
  expect(await check(file)).toContain('The configuration is valid');
  for (const part of [
    "baseUrl: 'https://contoso-west.openai.azure.com/', apiVersion: '2025-04-01-preview'",
    "deployments: { 'gpt-5.4': 'chat-west' }",
    "amazonBedrock({ region: 'eu-central-1', profile: 'eu' })",
    "googleVertex({ project: 'contoso-ml', location: 'europe-west1' })",
    "{ unit: 'input', rate: '0.12' }, { unit: 'output', rate: '0.4' }",
    "'gpt-chat': [ { model: 'openai/gpt-5.4', weight: 1 }, { model: 'anthropic/claude-sonnet-4-5-20250929'",
    "'gpt-4': 'openai/gpt-5.4'",
    "embed: 'openai/text-embedding-3-small'",
    'latency({ byDefault: true })',
    'retries: { attempts: 1 + 2 }',
    'timeouts: { reply: 120 }',
    'health({ pause: 30 })',
    "models: [ 'openai/gpt-5.4' ], requests: 300, tokens: 240000",
    'shares: { calls: 200 }',
    'SLACK_WEBHOOK_URL && slack(',
  ])
    expect(text).toContain(part);
});

it('no key of the file is written, and a deployment of another resource sends it no key', async () => {
  const { text, variables, remarks } = await importSample('company');
  expect(text + remarks.join()).not.toMatch(/not-a-real-key/);
  expect(variables).toEqual(['AZURE_API_KEY', 'OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'ANTHROPIC_SECOND_KEY']);
});

it('what has no counterpart is named with its line, and nothing else is', async () => {
  const { remarks } = await importSample('company');
  const lines = readFileSync(join(import.meta.dirname, 'litellm/company.yaml'), 'utf8').split('\n');
  const named = remarks.map((remark) => lines[Number.parseInt(remark, 10) - 1]?.trim().replace(/^- /, ''));
  expect(named.map((line) => line?.replace(/:.*/, ''))).toEqual([
    'api_base',
    'api_key',
    'aws_access_key_id',
    'vertex_credentials',
    'supports_vision',
    'model',
    'model',
    'temperature',
    'allowed_fails',
    'redis_host',
    'callbacks',
    'max_budget',
    'budget_duration',
    'cache',
    'master_key',
    'database_url',
    'surprise',
    'LANGFUSE_SECRET_KEY',
  ]);
  expect(remarks.join('\n')).toContain('put it into .env as ANTHROPIC_API_KEY');
  expect(remarks.join('\n')).toContain('no "gpt-from-the-future": add it with its price');
});

it('the configuration of a laptop becomes one, with its wildcards, aliases of YAML and prices', async () => {
  const { file, text, remarks } = await importSample('laptop');
  expect(await check(file, { GROQ_API_KEY: 'any-key' })).toMatch(/plugins: .*groq, ollama/);
  expect(text).toContain(
    "'fast-*': [ { model: 'openai/*', weight: 1 }, { model: 'ollama/qwen3:8b', weight: 0 } ]",
  );
  expect(text).toContain("{ unit: 'input', rate: '0.3' }, { unit: 'output', rate: '1.2' }");
  expect(text).toContain("ollama({ baseUrl: 'http://localhost:11434/v1', free: true })");
  expect(remarks.filter((remark) => !remark.includes('is an id'))).toEqual([]);
});

it('a call by a name of LiteLLM reaches its server, and the fallback when that one fails', async () => {
  const [vendor, down] = [
    await startVendor(),
    await startScriptedVendor((response) => void response.writeHead(503).end('{}')),
  ];
  const row = (name: string, base: string) =>
    `  - { model_name: ${name}, litellm_params: { model: openai/gpt-4o-mini, ` +
    `api_base: "${base}", api_key: os.environ/HOUSE_KEY } }\n`;
  const { file } = await importText(
    `model_list:\n${row('house', `http://localhost:${new URL(vendor.url).port}/v1`)}` +
      row('shaky', `${down.origin}/v1`) +
      'router_settings: { fallbacks: [{ shaky: [house] }] }\n',
  );
  const gateway = await startProcess({
    TOLLGATE_CONFIG: file,
    TOLLGATE_DATA: join(folder, 'served'),
    HOUSE_KEY: vendor.key,
  });
  const authorization = `Bearer ${/sk-[\w-]+/.exec(gateway.printed())?.[0]}`;
  for (const model of ['house', 'shaky']) {
    const body = { model, messages: [{ role: 'user', content: 'Hello!' }] };
    const reply = await postJson(`${gateway.url}/v1/chat/completions`, body, { authorization });
    expect([reply.status, await reply.json()]).toMatchObject([200, { model: 'at-localhost/gpt-4o-mini' }]);
  }
  expect(vendor.requests.at(-1)?.headers).toMatchObject({ authorization: `Bearer ${vendor.key}` });
  await gateway.stop('SIGTERM');
  await Promise.all([vendor.close(), down.close()]);
});

it('deployments at one address of one provider, however it is written, are all served', async () => {
  const row = (model: string, address: string) =>
    `  - { model_name: near, litellm_params: { model: ollama/${model}, api_base: "${address}" } }\n`;
  const near = row('small', 'http://gpu:1') + row('large', 'http://gpu:1/v1/') + row('far', 'http://other:1');
  const { text, remarks } = await importText(`model_list:\n${near}`);
  expect(text).toContain("ollama({ baseUrl: 'http://gpu:1/v1', free: true })");
  expect(text).toContain("{ model: 'ollama/small', weight: 1 }, { model: 'ollama/large', weight: 1 } ]");
  expect(remarks).toEqual([expect.stringMatching(/^4: ollama has one baseUrl here/)]);
});

it('what a row says of a known model counts without a price, and unknown fallbacks are named', async () => {
  const { text, remarks } = await importText(
    'model_list:\n' +
      '  - { model_name: fast, litellm_params: { model: openai/gpt-5.4, max_input_tokens: 9000 } }\n' +
      "  - { model_name: 'all-*', litellm_params: { model: 'openai/*', input_cost_per_token: 1 } }\n" +
      'router_settings: { fallbacks: [{ quick: [fast] }] }\n',
  );
  expect(text).toContain("models: { 'openai/gpt-5.4': { contextLength: 9000 } }");
  expect(remarks).toEqual([
    expect.stringMatching(/^3: state this price/),
    expect.stringMatching(/^4: no counterpart/),
  ]);
});

it('a text of the file never becomes code', async () => {
  const evil = `x"', a: process.exit(), b: '$$process.env.HOME`;
  const { file, text } = await importText(
    JSON.stringify({
      model_list: [
        { model_name: evil, litellm_params: { model: 'anthropic/claude-haiku-4-5', api_key: evil } },
        {
          model_name: 'here',
          litellm_params: { model: 'vertex_ai/x', vertex_project: '$$process.env.HOME' },
        },
        { model_name: 'server', litellm_params: { model: `openai/${evil}`, api_base: 'http://`${1}`"x' } },
      ],
    }),
  );
  expect(text).toContain(JSON.stringify(evil));
  expect(text).toContain("project: '$$process.env.HOME'");
  const found = await import(file).catch((error: unknown) => error);
  expect(String(found)).not.toContain('SyntaxError');
});

const bomb = ['b', 'c', 'd', 'e']
  .map((name, at) => `${name}: &${name} [${`*${'abcd'[at]},`.repeat(20)}]\n`)
  .reduce((text, line) => text + line, 'a: &a [x]\n');

it.each([
  ['no YAML', 'a: [', /line 1/],
  ['a text', 'just words', undefined],
  ['a bomb', bomb, /alias/i],
  ['a large file', `a: "${'x'.repeat(2 ** 20)}"`, /larger than 1 MB/],
])('a file that holds %s is refused in one line, or imported', async (_, text, fault) => {
  const source = join(folder, `${randomUUID()}.yaml`);
  writeFileSync(source, text);
  const TOLLGATE_CONFIG = join(folder, `${randomUUID()}.config.ts`);
  const { code, errors } = await runVerb(['import', 'litellm', source], { TOLLGATE_CONFIG });
  expect([code, existsSync(TOLLGATE_CONFIG)]).toEqual(fault ? [1, false] : [0, true]);
  if (fault) expect(errors).toMatch(fault);
  expect(errors.trim().split('\n').length).toBe(1);
});

it('an existing configuration stays, and an unknown kind is named', async () => {
  const TOLLGATE_CONFIG = join(folder, 'kept.config.ts');
  writeFileSync(TOLLGATE_CONFIG, 'kept');
  const source = join(import.meta.dirname, 'litellm/laptop.yaml');
  const kept = await runVerb(['import', 'litellm', source], { TOLLGATE_CONFIG });
  expect([kept.code, kept.errors]).toEqual([1, expect.stringContaining('already exists')]);
  expect(readFileSync(TOLLGATE_CONFIG, 'utf8')).toBe('kept');
  const forced = await runVerb(['import', 'litellm', source, '--force'], { TOLLGATE_CONFIG });
  expect([forced.code, forced.output]).toEqual([0, expect.stringContaining('tollgate check validates it')]);
  const other = await runVerb(['import', 'portkey', source, '--force'], { TOLLGATE_CONFIG });
  expect([other.code, other.errors]).toEqual([1, expect.stringContaining('imports/portkey')]);
});

it("LiteLLM's vendors lead to providers that exist, by variables that they read", () => {
  const providers = readFileSync(join(import.meta.dirname, '../../plugins/providers/README.md'), 'utf8');
  for (const [provider = '', variable = ''] of Object.values(words.vendors)) {
    expect(existsSync(join(import.meta.dirname, `../../plugins/providers/${provider}.ts`)), provider).toBe(
      true,
    );
    expect(providers).toContain(variable);
  }
});
