/** The doctor: what it checks, what it finds, and what it says to do. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { diagnose as diagnoseHere } from '../../core/cli/doctor.ts';
import { runVerb, startProcess, type Copy } from '../support/process.ts';
import { closeServers, makeEmptyFolder, startVendor } from './empty-folder.ts';

closeServers();

const diagnosisSchema = z.object({
  ok: z.boolean(),
  findings: z.array(
    z.object({
      subject: z.string(),
      state: z.enum(['well', 'note', 'fault']),
      message: z.string(),
      remedy: z.string().optional(),
    }),
  ),
});

interface Found {
  readonly ok: boolean;
  of(subject: string): object | undefined;
  readonly output: string;
}

const ownConfig = join(import.meta.dirname, '../../gateway.config.ts');

/** Runs the doctor within this process, which is faster than a process for each check. */
async function diagnose(
  { folder }: Copy,
  environment: Record<string, string> = {},
  file = ownConfig,
): Promise<Found> {
  for (const [name, value] of Object.entries({
    PORT: '0',
    TOLLGATE_DATA: join(folder, 'data'),
    ...environment,
  }))
    vi.stubEnv(name, value);
  try {
    const { ok, findings } = await diagnoseHere(file, pino({ level: 'silent' }));
    return {
      ok,
      of: (subject) => findings.find((finding) => finding.subject === subject),
      output: JSON.stringify(findings),
    };
  } finally {
    vi.unstubAllEnvs();
  }
}

/** The same from the command line, whose exit code says whether everything works. */
async function runDoctor(
  copy: Copy,
  environment: Record<string, string>,
): Promise<Found & { code: number | null }> {
  const { code, output, errors } = await runVerb(
    ['doctor', '--json'],
    { PORT: '0', TOLLGATE_CONFIG: ownConfig, ...environment },
    copy,
  );
  const { ok, findings } = diagnosisSchema.parse(JSON.parse(output));
  return {
    code,
    ok,
    of: (subject) => findings.find((finding) => finding.subject === subject),
    output: output + errors,
  };
}

it('doctor finds nothing wrong with a working configuration, and leaves nothing behind', async () => {
  const vendor = await startVendor();
  const copy = makeEmptyFolder();
  const { code, ok, of } = await runDoctor(copy, {
    OPENAI_API_KEY: 'good-key',
    OPENAI_BASE_URL: `${vendor.url}/v1`,
  });
  expect([code, ok]).toEqual([0, true]);
  for (const subject of ['node', 'configuration', 'port', 'providers', 'openai', 'clock'])
    expect(of(subject), subject).toMatchObject({ state: 'well' });
  expect(of('ledger')).toMatchObject({ state: 'note', message: expect.stringMatching(/no ledger/) });
  expect(of('descriptors')).toBeDefined();
  // A busy disk is a note.
  expect(of('disk')).toMatchObject({ message: expect.stringMatching(/ syncs writes in \d+\.\d ms$/) });
  expect(vendor.asked).toEqual(['GET /v1/models']);
  expect(execFileSync('find', [copy.folder, '-mindepth', '1'], { encoding: 'utf8' })).toBe('');
});

it('doctor checks each provider by its own API, and with each of several keys', async () => {
  const vendor = await startVendor();
  const copy = makeEmptyFolder();
  const config = join(copy.folder, 'keys.config.mjs');
  writeFileSync(
    config,
    "import { openai } from 'tollgate/plugins/providers/openai';\n" +
      'export default { server: { port: 0 }, plugins: [openai({ apiKey: ' +
      "['good-key', 'bad-key-one'] })] };\n",
  );
  const many = await runDoctor(copy, { TOLLGATE_CONFIG: config, OPENAI_BASE_URL: `${vendor.url}/v1` });
  expect([many.code, many.of('openai, key 1'), many.of('openai, key 2')]).toMatchObject([
    1,
    { state: 'well' },
    { state: 'fault' },
  ]);
  vendor.asked.length = 0;
  const bases = {
    ANTHROPIC_BASE_URL: vendor.url,
    GOOGLE_GEMINI_BASE_URL: vendor.url,
    OPENROUTER_BASE_URL: `${vendor.url}/api/v1`,
    OLLAMA_BASE_URL: `${vendor.url}/v1`,
  };
  const { of } = await diagnose(copy, {
    ...bases,
    ANTHROPIC_API_KEY: 'good-key',
    GEMINI_API_KEY: 'good-key',
    OPENROUTER_API_KEY: 'good-key',
    OLLAMA_API_KEY: 'good-key',
  });
  for (const subject of ['anthropic', 'google', 'openrouter', 'ollama'])
    expect(of(subject), subject).toMatchObject({ state: 'well' });
  expect(vendor.asked.toSorted()).toEqual([
    'GET /api/v1/key',
    'GET /v1/models',
    'GET /v1/models 2023-06-01',
    'GET /v1beta/models',
  ]);
});

it('doctor checks clouds, each by its own form of credentials', async () => {
  const vendor = await startVendor();
  const copy = makeEmptyFolder();
  const config = join(copy.folder, 'clouds.config.mjs');
  const plugins = { azure: 'azure', 'amazon-bedrock': 'amazonBedrock', 'google-vertex': 'googleVertex' };
  const imports = Object.entries(plugins).map(
    ([name, factory]) => `import { ${factory} } from 'tollgate/plugins/providers/${name}';\n`,
  );
  writeFileSync(
    config,
    `${imports.join('')}export default { server: { port: 0 }, plugins: ` +
      "[azure(), amazonBedrock(), googleVertex({ credentials: { client_email: 'a@b', private_key: " +
      "'none' } })] };\n",
  );
  const keys = {
    AZURE_OPENAI_ENDPOINT: vendor.url,
    AZURE_OPENAI_API_KEY: 'good-key',
    AWS_REGION: 'eu-central-1',
    AWS_BEARER_TOKEN_BEDROCK: 'good-key',
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: vendor.url,
  };
  const { of } = await runDoctor(copy, {
    TOLLGATE_CONFIG: config,
    ...keys,
    GOOGLE_CLOUD_PROJECT: 'p',
    GOOGLE_CLOUD_LOCATION: 'global',
    GOOGLE_VERTEX_BASE_URL: vendor.url,
  });
  for (const subject of ['azure', 'amazon-bedrock'])
    expect(of(subject), subject).toMatchObject({ state: 'well' });
  expect(of('google-vertex')).toMatchObject({
    state: 'fault',
    message: expect.stringContaining('requests cannot be signed'),
    remedy: expect.stringContaining('GOOGLE_APPLICATION_CREDENTIALS'),
  });
  expect(vendor.asked.toSorted()).toEqual(['GET /foundation-models', 'GET /openai/v1/models']);
});

it('doctor reports refused keys and unreachable providers, with what to do, and never a key', async () => {
  const [vendor, gone] = [await startVendor(), await startVendor()];
  await gone.close();
  const { code, of, output } = await runDoctor(makeEmptyFolder(), {
    OPENAI_API_KEY: 'bad-key-one',
    OPENAI_BASE_URL: vendor.url,
    MISTRAL_API_KEY: 'bad-key-two',
    MISTRAL_BASE_URL: gone.url,
  });
  expect(code).toBe(1);
  expect(of('openai')).toMatchObject({
    state: 'fault',
    message: expect.stringContaining('does not accept the key (401)'),
    remedy: expect.stringContaining('OPENAI_API_KEY'),
  });
  expect(of('mistral')).toMatchObject({
    state: 'fault',
    message: `${new URL(gone.url).host} could not be reached: ECONNREFUSED`,
    remedy: expect.any(String),
  });
  expect(output).not.toMatch(/bad-key/);
});

it('doctor says how the outgoing proxy refused to connect to a provider', async () => {
  const proxy = await startVendor();
  const { of } = await runDoctor(makeEmptyFolder(), { MISTRAL_API_KEY: 'key', HTTPS_PROXY: proxy.url });
  expect(of('mistral')).toMatchObject({
    state: 'fault',
    message: expect.stringMatching(/^api\.mistral\.ai could not be reached: Proxy response \(403\)/),
  });
});

it.each([
  [503, 'fault'],
  [429, 'note'],
  [404, 'note'],
])('doctor explains a provider that answers %i', async (status, state) => {
  const vendor = await startVendor({ status });
  const { ok, of } = await diagnose(makeEmptyFolder(), {
    OPENAI_API_KEY: 'good-key',
    OPENAI_BASE_URL: vendor.url,
  });
  expect([ok, of('openai')]).toMatchObject([state !== 'fault', { state, remedy: expect.any(String) }]);
});

it.each([
  [3600, false, { state: 'fault', message: expect.stringMatching(/^3[56]\d\d s ahead of 127/) }],
  [-20, true, { state: 'note', message: expect.stringMatching(/^(1\d|2\d) s behind 127/) }],
])('doctor compares the clock with that of a provider that is %i s late', async (late, ok, finding) => {
  const vendor = await startVendor({ late });
  const found = await diagnose(makeEmptyFolder(), {
    OPENAI_API_KEY: 'good-key',
    OPENAI_BASE_URL: vendor.url,
  });
  expect([found.ok, found.of('clock')]).toMatchObject([ok, { ...finding, remedy: expect.any(String) }]);
});

it('doctor reports a port that another process uses, and one where a gateway runs', async () => {
  const other = await startVendor();
  const PORT = new URL(other.url).port;
  const taken = await diagnose(makeEmptyFolder(), { PORT });
  expect([taken.ok, taken.of('port')]).toMatchObject([
    false,
    {
      state: 'fault',
      message: expect.stringContaining('EADDRINUSE'),
      remedy: expect.stringContaining('set server.port (PORT) to'),
    },
  ]);
  const copy = makeEmptyFolder();
  expect((await runVerb(['init'], {}, copy)).code).toBe(0);
  const gateway = await startProcess({}, copy);
  const beside = await diagnose(copy, { PORT: new URL(gateway.url).port });
  await gateway.stop('SIGTERM');
  expect([beside.ok, beside.of('port'), beside.of('ledger')]).toMatchObject([
    true,
    { state: 'well', message: expect.stringContaining('a gateway answers') },
    { state: 'well' },
  ]);
});

it('doctor reports a ledger that cannot be read, and a folder that cannot be written', async () => {
  const copy = makeEmptyFolder();
  mkdirSync(join(copy.folder, 'data'));
  writeFileSync(
    join(copy.folder, 'data/ledger.db'),
    'no database at all, and longer than the head of one '.repeat(20),
  );
  const broken = await diagnose(copy);
  expect([broken.ok, broken.of('ledger')]).toMatchObject([
    false,
    { state: 'fault', remedy: expect.any(String) },
  ]);
  writeFileSync(join(copy.folder, 'file'), '');
  chmodSync(join(copy.folder, 'file'), 0o400);
  const barred = await diagnose(copy, { TOLLGATE_DATA: join(copy.folder, 'file/data') });
  expect([barred.ok, barred.of('disk')]).toMatchObject([
    false,
    {
      state: 'fault',
      remedy: "a file has the folder's path: move it, or set dataFolder (TOLLGATE_DATA) to another",
    },
  ]);
});

it('doctor names no variable that the configuration does not read', async () => {
  const copy = makeEmptyFolder();
  writeFileSync(join(copy.folder, 'file'), '');
  const config = join(copy.folder, 'own.mjs');
  const dataFolder = join(copy.folder, 'file/data');
  writeFileSync(config, `export default { plugins: [], dataFolder: ${JSON.stringify(dataFolder)} };`);
  expect((await diagnose(copy, {}, config)).of('disk')).toMatchObject({
    remedy: "a file has the folder's path: move it, or set dataFolder to another",
  });
});

it('doctor reports a configuration that does not load, in readable lines', async () => {
  const copy = makeEmptyFolder();
  const config = join(copy.folder, 'wrong.mjs');
  writeFileSync(config, 'export default { plugins: [], sever: {} };');
  const { code, output } = await runVerb(['doctor'], { TOLLGATE_CONFIG: config }, copy);
  expect(code).toBe(1);
  expect(output).toMatch(/ok +node +v\d+[^]*FAULT +configuration +.*wrong\.mjs: unknown option "sever"/);
  expect(output).toMatch(/unknown option "sever"[^]*\n +→ .+\n[^]*1 of 2 findings are faults/);
});
