/**
 * The first minute: `init` writes a configuration from the environment, `doctor` checks the machine, the
 * ledger and the providers, and the start says what to open next.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { diagnose as diagnoseHere } from '../../core/process/doctor.ts';
import { runAlone, runVerb, startProcess, type Copy } from '../support/process.ts';

const entry = join(import.meta.dirname, '../../core/cli.js');
const places: string[] = [];
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
  for (const place of places) rmSync(place, { recursive: true, force: true });
});

function emptyFolder(): Copy {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-first-'));
  places.push(folder);
  return { entry, folder };
}

const writtenSchema = z.object({
  file: z.string(),
  on: z.array(z.string()),
  off: z.record(z.string(), z.string()),
});
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

describe('a Node that is too old', () => {
  it('is reported, and nothing else happens', async () => {
    const older = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})';
    const { code, output, errors } = await runAlone(['check'], {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(older)}`,
    });
    expect([code, output, errors]).toEqual([
      1,
      '',
      expect.stringMatching(/^tollgate: it needs Node 24 or later, and this is v\S+ \(.*node\)\n$/),
    ]);
  });
});

describe('init', () => {
  it('writes a valid configuration with the providers whose keys are set, and it serves calls', async () => {
    const copy = emptyFolder();
    const keys = {
      ANTHROPIC_API_KEY: 'secret-of-anthropic',
      OLLAMA_BASE_URL: 'http://127.0.0.1:1/v1',
      GROQ_API_KEY: '',
    };
    const { code, output } = await runVerb(['init', '--json'], keys, copy);
    const written = writtenSchema.parse(JSON.parse(output));
    expect([code, written.file, written.on]).toEqual([
      0,
      join(copy.folder, 'gateway.config.ts'),
      ['anthropic', 'demo', 'ollama'],
    ]);
    expect(written.off).toMatchObject({
      groq: 'set GROQ_API_KEY',
      openai: 'set OPENAI_API_KEY',
      vllm: 'set VLLM_BASE_URL',
    });
    const text = readFileSync(written.file, 'utf8');
    expect(text).not.toContain('secret-of-anthropic');
    expect(text).toMatch(/^ {4}anthropic\(\),$/m);
    expect(text).toMatch(
      /^ {4}\/\/ groq\(\): set GROQ_API_KEY, and import it from 'tollgate\/plugins\/providers\/groq'\.$/m,
    );
    expect(text).not.toMatch(/import \{ groq \}|from '\./);
    const { plugins } = JSON.parse((await runVerb(['check', '--json'], keys, copy)).output);
    expect(plugins).toEqual(expect.arrayContaining(['anthropic', 'ollama', 'demo', 'balance', 'messages']));
    expect(plugins).not.toContain('groq');
  });

  it('prints what it found, and what to do next', async () => {
    const { output } = await runVerb(['init'], { MISTRAL_API_KEY: 'any' }, emptyFolder());
    expect(output).toMatch(/^Wrote .*gateway\.config\.ts\.\nProviders in it: demo, mistral\.\n/);
    expect(output).toMatch(/ {2}openai: set OPENAI_API_KEY\n[^]*tollgate -- start/);
  });

  it('reports in one line that it cannot write', async () => {
    const file = join(emptyFolder().folder, 'nowhere/gateway.config.ts');
    const { code, errors } = await runVerb(['init'], { TOLLGATE_CONFIG: file });
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(/^tollgate: .*nowhere\/gateway\.config\.ts cannot be written: ENOENT.*\n$/),
    ]);
  });

  it('replaces a file only with the option that allows it', async () => {
    const copy = emptyFolder();
    const file = join(copy.folder, 'gateway.config.ts');
    writeFileSync(file, '// mine');
    const refused = await runVerb(['init'], {}, copy);
    expect([refused.code, refused.errors]).toEqual([
      1,
      `tollgate: ${file} already exists and was not changed; --force replaces it\n`,
    ]);
    expect(readFileSync(file, 'utf8')).toBe('// mine');
    expect((await runVerb(['init', '--force'], {}, copy)).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('defineConfig');
  });
});

/** Variables that are set to an empty string. */
const nothing = Object.fromEntries(
  [
    'HOST',
    'TOLLGATE_ADMIN_HOST',
    'TOLLGATE_ADMIN_PORT',
    'TOLLGATE_DATA',
    'TOLLGATE_CONFIG',
    'TOLLGATE_FIRST_BYTE_TIMEOUT',
    'TOLLGATE_LOG',
    'TOLLGATE_TOP_UP_SECRET',
  ].map((name) => [name, '']),
);

describe('a start', () => {
  it('prints providers, examples, base URLs and once the key; empty variables count as unset', async () => {
    const copy = emptyFolder();
    expect((await runVerb(['init'], { XAI_API_KEY: 'any' }, copy)).code).toBe(0);
    const gateway = await startProcess({}, copy);
    const printed = gateway.printed();
    await gateway.stop('SIGTERM');
    expect(printed).toMatch(new RegExp(`openai +${gateway.url}/v1 +chat-completions, responses, images\n`));
    expect(printed).toMatch(new RegExp(`@anthropic-ai/sdk +${gateway.url}/alpha +messages\n`));
    expect(printed).toMatch(new RegExp(`@google/genai +${gateway.url}/beta +generate-content\n`));
    expect(printed).toMatch(/^Providers: demo\.\nOff: xai \(set XAI_API_KEY\)\.\n/m);
    expect(printed).toMatch(/\nFor operators: http.* \(sign in with the secret in .*operator-secret\)\n/);
    const lines = printed.trimEnd().split('\n');
    expect(lines.findLastIndex((line) => line.startsWith('curl '))).toBeLessThan(
      lines.findIndex((line) => line.startsWith('Tollgate is ready at')),
    );
    expect(lines.findIndex((line) => line.startsWith('First key'))).toBeGreaterThan(lines.length - 4);
    expect([printed.match(/export KEY=sk-/g)?.length, printed.match(/^curl /gm)?.length]).toEqual([1, 5]);
    const again = await startProcess({ XAI_API_KEY: 'any', ...nothing }, copy);
    await again.stop('SIGTERM');
    expect(again.printed()).toContain('Providers: xai, demo.');
    // A variable that is an empty string counts as unset.
    expect(again.printed()).toContain(`is ready at ${again.url} `);
    expect(again.printed()).toContain(
      `sign in with the secret in ${join(copy.folder, 'data/operator-secret')}`,
    );
    expect(again.printed()).not.toMatch(/sk-|^curl /m);
    expect(again.printed().split('\n').length).toBeLessThan(12);
  });

  it('offers a call of the cheapest model of each kind, and none of a kind without a provider', async () => {
    const copy = emptyFolder();
    expect((await runVerb(['init'], { ANTHROPIC_API_KEY: 'any' }, copy)).code).toBe(0);
    const file = join(copy.folder, 'gateway.config.ts');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^ {4}demo\(.*\),$/m, ''));
    const gateway = await startProcess({ ANTHROPIC_API_KEY: 'any' }, copy);
    await gateway.stop('SIGTERM');
    const lines = gateway
      .printed()
      .split('\n')
      .filter((line) => line.startsWith('curl '));
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).toMatch(/anthropic\/claude-[\w.-]*haiku/);
    expect(gateway.printed()).not.toContain('demo/');
    const bare = await startProcess({ TOLLGATE_DATA: join(copy.folder, 'other') }, copy);
    await bare.stop('SIGTERM');
    expect(bare.printed()).toMatch(/No provider is on.*demo\(\)/);
    expect(bare.printed()).not.toMatch(/^curl /m);
  });

  it('on all addresses prints one that clients can call', async () => {
    const copy = emptyFolder();
    expect((await runVerb(['init'], {}, copy)).code).toBe(0);
    const gateway = await startProcess({ HOST: '0.0.0.0' }, copy);
    const printed = gateway.printed();
    await gateway.stop('SIGTERM');
    expect(printed).toContain(`is ready at ${gateway.url} `);
    expect(printed).not.toContain('0.0.0.0');
  });
});

describe('a start that cannot listen', () => {
  it('says in one line what to do', async () => {
    const other = await startVendor();
    const copy = emptyFolder();
    expect((await runVerb(['init'], {}, copy)).code).toBe(0);
    const { code, errors } = await runAlone(
      ['start'],
      { PORT: new URL(other.url).port, TOLLGATE_LOG: 'fatal' },
      copy,
    );
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(
        /^tollgate: .*EADDRINUSE.*: set PORT to another one, or stop the process that uses it\n$/,
      ),
    ]);
  });
});

/** A provider that lists models for one key. Its clock is `late` seconds behind. */
async function startVendor({ late = 0, status = 200 } = {}): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer({}, ({ method, url, headers }, response) => {
    const key =
      headers.authorization ?? headers['x-api-key'] ?? headers['api-key'] ?? headers['x-goog-api-key'];
    asked.push(`${method} ${url} ${headers['anthropic-version'] ?? ''}`.trim());
    response.writeHead(key === 'Bearer good-key' || key === 'good-key' ? status : 401, {
      date: new Date(Date.now() - late * 1000).toUTCString(),
    });
    response.end('{"data":[]}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`, asked };
}

interface Found {
  readonly ok: boolean;
  of(subject: string): object | undefined;
  readonly output: string;
}

const ownConfig = join(import.meta.dirname, '../../gateway.config.ts');

/** Runs the doctor within this process, which is faster than a process for each check. */
async function diagnose({ folder }: Copy, environment: Record<string, string> = {}): Promise<Found> {
  for (const [name, value] of Object.entries({
    PORT: '0',
    TOLLGATE_DATA: join(folder, 'data'),
    ...environment,
  }))
    vi.stubEnv(name, value);
  try {
    const { ok, findings } = await diagnoseHere(ownConfig, pino({ level: 'silent' }));
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

describe('doctor', () => {
  it('finds nothing wrong with a working configuration, and leaves nothing behind', async () => {
    const vendor = await startVendor();
    const copy = emptyFolder();
    const { code, ok, of } = await runDoctor(copy, {
      OPENAI_API_KEY: 'good-key',
      OPENAI_BASE_URL: `${vendor.url}/v1`,
    });
    expect([code, ok]).toEqual([0, true]);
    for (const subject of ['node', 'configuration', 'disk', 'port', 'ledger', 'providers', 'openai', 'clock'])
      expect(of(subject), subject).toMatchObject({ state: 'well' });
    expect(of('descriptors')).toBeDefined();
    expect(vendor.asked).toEqual(['GET /v1/models']);
    expect(execFileSync('find', [copy.folder, '-name', '.doctor*'], { encoding: 'utf8' })).toBe('');
  });

  it('checks each provider by its own API, and with each of several keys', async () => {
    const vendor = await startVendor();
    const copy = emptyFolder();
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

  it('checks clouds, each by its own form of credentials', async () => {
    const vendor = await startVendor();
    const copy = emptyFolder();
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

  it('reports refused keys and unreachable providers, with what to do, and never a key', async () => {
    const [vendor, gone] = [await startVendor(), await startVendor()];
    servers.pop()?.close();
    const { code, of, output } = await runDoctor(emptyFolder(), {
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

  it.each([
    [503, 'fault'],
    [429, 'note'],
    [404, 'note'],
  ])('explains a provider that answers %i', async (status, state) => {
    const vendor = await startVendor({ status });
    const { ok, of } = await diagnose(emptyFolder(), {
      OPENAI_API_KEY: 'good-key',
      OPENAI_BASE_URL: vendor.url,
    });
    expect([ok, of('openai')]).toMatchObject([state !== 'fault', { state, remedy: expect.any(String) }]);
  });

  it.each([
    [3600, false, { state: 'fault', message: expect.stringMatching(/^(3599|3600|3601) s ahead of 127/) }],
    [-20, true, { state: 'note', message: expect.stringMatching(/^(1\d|2\d) s behind 127/) }],
  ])('compares the clock with that of a provider that is %i s late', async (late, ok, finding) => {
    const vendor = await startVendor({ late });
    const found = await diagnose(emptyFolder(), { OPENAI_API_KEY: 'good-key', OPENAI_BASE_URL: vendor.url });
    expect([found.ok, found.of('clock')]).toMatchObject([ok, { ...finding, remedy: expect.any(String) }]);
  });

  it('reports a port that another process uses, and one where a gateway runs', async () => {
    const other = await startVendor();
    const PORT = new URL(other.url).port;
    const taken = await diagnose(emptyFolder(), { PORT });
    expect([taken.ok, taken.of('port')]).toMatchObject([
      false,
      {
        state: 'fault',
        message: expect.stringContaining('EADDRINUSE'),
        remedy: expect.stringContaining('set PORT'),
      },
    ]);
    const copy = emptyFolder();
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

  it('reports a ledger that cannot be read, and a folder that cannot be written', async () => {
    const copy = emptyFolder();
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
        remedy: "a file has the folder's path: move it, or set TOLLGATE_DATA to another",
      },
    ]);
  });

  it('reports a configuration that does not load, in readable lines', async () => {
    const copy = emptyFolder();
    const config = join(copy.folder, 'wrong.mjs');
    writeFileSync(config, 'export default { plugins: [], sever: {} };');
    const { code, output } = await runVerb(['doctor'], { TOLLGATE_CONFIG: config }, copy);
    expect(code).toBe(1);
    expect(output).toMatch(/ok +node +v\d+[^]*FAULT +configuration +.*wrong\.mjs: unknown option "sever"/);
    expect(output).toMatch(/unknown option "sever"[^]*\n +→ .+\n[^]*1 of 2 findings are faults/);
  });
});
