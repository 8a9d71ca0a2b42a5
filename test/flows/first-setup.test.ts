/**
 * The first minute: `init` writes a configuration from the environment, `doctor` checks the machine, the
 * ledger and the providers, and the start says what to open next.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { runAlone, runVerb, startProcess } from '../support/process.ts';
import { closeServers, makeEmptyFolder } from './empty-folder.ts';

closeServers();

const writtenSchema = z.object({
  file: z.string(),
  on: z.array(z.string()),
  off: z.record(z.string(), z.string()),
});

it.each(['20.20.2', '24.14.1', '25.6.1'])(
  'a Node that is too old is reported (%s), and nothing else happens',
  async (node) => {
    const older = `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${node}"}})`;
    const { code, output, errors } = await runAlone(['check'], {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(older)}`,
    });
    expect([code, output, errors]).toEqual([
      1,
      '',
      expect.stringMatching(/^tollgate: it needs Node 24.15, 25.7 or later, and this is v\S+ \(.*node\)\n$/),
    ]);
  },
);

it('init writes a valid configuration with the providers whose keys are set', async () => {
  const copy = makeEmptyFolder();
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

it('init prints what it found, and what to do next', async () => {
  const { output } = await runVerb(['init'], { MISTRAL_API_KEY: 'any' }, makeEmptyFolder());
  expect(output).toMatch(/^Wrote .*gateway\.config\.ts\.\nProviders in it: demo, mistral\.\n/);
  expect(output).toMatch(/ {2}openai: set OPENAI_API_KEY\n[^]*tollgate -- start/);
});

it('init reports in one line that it cannot write', async () => {
  const file = join(makeEmptyFolder().folder, 'nowhere/gateway.config.ts');
  const { code, errors } = await runVerb(['init'], { TOLLGATE_CONFIG: file });
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(/^tollgate: .*nowhere\/gateway\.config\.ts cannot be written: ENOENT.*\n$/),
  ]);
});

it('init replaces a file only with the option that allows it', async () => {
  const copy = makeEmptyFolder();
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

it('a start prints providers, URLs, examples, once the key, and takes empty for unset', async () => {
  const copy = makeEmptyFolder();
  expect((await runVerb(['init'], { XAI_API_KEY: 'any' }, copy)).code).toBe(0);
  // It listens on all addresses, and prints one of them.
  const gateway = await startProcess({ HOST: '0.0.0.0' }, copy);
  const printed = gateway.printed();
  await gateway.stop('SIGTERM');
  expect(printed).not.toContain('0.0.0.0');
  expect(printed).toMatch(
    new RegExp(`openai +${gateway.url}/v1 +chat-completions, responses, images, completions, embeddings`),
  );
  expect(printed).toMatch(new RegExp(`@anthropic-ai/sdk +${gateway.url}/alpha +messages\n`));
  expect(printed).toMatch(
    new RegExp(`@google/genai +${gateway.url}/beta +generate-content, embed-content\n`),
  );
  expect(printed).toMatch(/^Providers: demo(?:, demo-[a-z]+)*\.\nOff: xai \(set XAI_API_KEY\)\.\n/m);
  expect(printed).toMatch(/\nFor operators: http.* \(sign in with the secret in .*operator-secret\)\n/);
  const lines = printed.trimEnd().split('\n');
  expect(lines.findLastIndex((line) => line.startsWith('curl '))).toBeLessThan(
    lines.findIndex((line) => line.startsWith('Tollgate is ready at')),
  );
  expect(lines.findIndex((line) => line.startsWith('First key'))).toBeGreaterThan(lines.length - 4);
  expect([
    printed.match(/export KEY=sk-/g)?.length,
    printed.match(/^curl .*\\\n {2}-H .*\n {2}-H .*\n {2}-d /gm)?.length,
  ]).toEqual([1, 1]);
  // The key and the addresses are seen together with all before them.
  expect(lines.length).toBeLessThan(24);
  const again = await startProcess({ XAI_API_KEY: 'any', ...nothing }, copy);
  await again.stop('SIGTERM');
  expect(again.printed()).toMatch(/^Providers: xai, demo(?:, demo-[a-z]+)*\.$/m);
  // A variable that is an empty string counts as unset.
  expect(again.printed()).toContain(`is ready at ${again.url} `);
  expect(again.printed()).toContain(
    `sign in with the secret in ${join(copy.folder, 'data/operator-secret')}`,
  );
  expect(again.printed()).not.toMatch(/sk-|^curl /m);
  expect(again.printed().split('\n').length).toBeLessThan(12);
});

it('a start offers a call of the cheapest model, and none of a model without a provider', async () => {
  const copy = makeEmptyFolder();
  expect((await runVerb(['init'], { ANTHROPIC_API_KEY: 'any' }, copy)).code).toBe(0);
  const file = join(copy.folder, 'gateway.config.ts');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^ {4}demo\(.*\),$/m, ''));
  const gateway = await startProcess({ ANTHROPIC_API_KEY: 'any' }, copy);
  await gateway.stop('SIGTERM');
  expect(gateway.printed().match(/^curl (?:.*\\\n)+ {2}-d '.*anthropic\/claude-.*/gm)).toHaveLength(1);
  expect(gateway.printed()).not.toContain('demo/');
  const bare = await startProcess({ TOLLGATE_DATA: join(copy.folder, 'other') }, copy);
  await bare.stop('SIGTERM');
  expect(bare.printed()).toMatch(/No provider is on.*demo\(\)/);
  expect(bare.printed()).not.toMatch(/^curl /m);
});
