/**
 * Mistakes people make in a configuration: the gateway reports each in one line, with the file, the plugin,
 * the option, and what to write instead.
 */
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onLinux } from '../support/available.ts';
import { makeDataFolder, runVerb, startProcess, type Finished } from '../support/process.ts';
import { serve } from '../support/serve.ts';
import { faults, usual, buildVerb, buildVerbs } from './faulty-configs.ts';

const folder = makeDataFolder();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const imports = `import { defineConfig } from 'tollgate';
import { bearer } from 'tollgate/plugins/auth/bearer';
import { balance } from 'tollgate/plugins/meters/balance';
import { webConsole } from 'tollgate/plugins/operations/console';
import { rateLimits } from 'tollgate/plugins/operations/rate-limits';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { azure } from 'tollgate/plugins/providers/azure';
import { demo } from 'tollgate/plugins/providers/demo';
import { googleVertex } from 'tollgate/plugins/providers/google-vertex';
import { ollama } from 'tollgate/plugins/providers/ollama';
import { openai } from 'tollgate/plugins/providers/openai';
`;

writeFileSync(join(folder, 'slip.ts'), '// Fine,\n// and then:\nexport const slip = ;\n');

writeFileSync(
  join(folder, 'vain.ts'),
  "// Fine,\nimport { missing } from 'tollgate';\nexport const vain = missing;\n",
);

let written = 0;

function write(plugins: readonly string[], before = ''): string {
  written += 1;
  const file = join(folder, `${written}.config.ts`);
  writeFileSync(
    file,
    `${before}\n${imports}export default defineConfig({ server: { port: ` +
      'Number(process.env.PORT) }, dataFolder: process.env.TOLLGATE_DATA, plugins: ' +
      `[${plugins.join(', ')}] });\n`,
  );
  return file;
}

function start(file: string, environment: Readonly<Record<string, string>> = {}): Promise<Finished> {
  return runVerb(['start'], {
    TOLLGATE_CONFIG: file,
    PORT: '0',
    TOLLGATE_DATA: join(folder, `data-${written}`),
    ...environment,
  });
}

/** Expects one line on standard error: the file it is about, and the text of the fault. */
function expectFault({ code, errors }: Finished, message: RegExp | string, file?: string): void {
  expect([code, errors.trimEnd().split('\n').length, errors]).toEqual([
    1,
    1,
    typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  ]);
  if (file !== undefined) expect(errors).toContain(`tollgate: ${file}: `);
}

const lacking: readonly (readonly [what: string, plugins: readonly string[], message: string])[] = [
  ['no protocol', ['bearer()', 'demo()', 'balance()'], 'add one, such as chatCompletions()'],
  ['no credential', ['chatCompletions()', 'demo()', 'balance()'], 'add one, such as bearer()'],
  ['no plugin that keeps keys', ['bearer()', 'chatCompletions()', 'demo()'], 'add balance()'],
  ['no provider', ['bearer()', 'chatCompletions()', 'balance()'], 'add demo()'],
];

/** Of the default configuration. */
const variables: readonly (readonly [assigned: string, message: string])[] = [
  ['PORT=99999', 'PORT: must be a port, from 0 to 65535'],
  [
    'TOLLGATE_DATA_KEY=word',
    'plugin "responses": TOLLGATE_DATA_KEY: has to hold what `openssl rand -base64 32` prints; ' +
      'commas or spaces separate several keys, of which the first one seals',
  ],
  ['PORT=1.5', 'PORT: must be a port, from 0 to 65535'],
  ['TOLLGATE_ADMIN_PORT=next', 'TOLLGATE_ADMIN_PORT: must be a port, from 0 to 65535'],
  [
    'TOLLGATE_FIRST_BYTE_TIMEOUT=0',
    'TOLLGATE_FIRST_BYTE_TIMEOUT: must be a number of seconds above 0 and at most 2147483',
  ],
];

describe('a check', () => {
  const files = new Map([
    ...[...faults, ...lacking, ['nothing', usual, ''] as const].map(
      ([what, plugins, , more = '']) =>
        [
          what,
          {
            file: write(plugins, more.startsWith('import') ? more : ''),
            environment: more.startsWith('import') ? '' : more,
          },
        ] as const,
    ),
    ...variables.map(([environment]) => [environment, { file: 'gateway.config.ts', environment }] as const),
  ]);
  const findings = new Map<string, string>();
  beforeAll(async () => {
    const script = join(import.meta.dirname, '../support/check-each.ts');
    const requests = [...files.values()].map(({ file, environment }) =>
      [file, ...(environment ? [environment] : [])].join('|'),
    );
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...requests], {
      env: { PATH, NODE_COMPILE_CACHE, PORT: '0' },
    });
    const lines: unknown = JSON.parse(stdout);
    for (const [index, what] of [...files.keys()].entries())
      findings.set(what, Array.isArray(lines) ? String(lines[index]) : '');
  });

  it.each(faults.map(([what, , words]) => [what, words] as const))(
    'reports the mistake in one line: %s',
    (what, words) => {
      const line = findings.get(what) ?? '';
      expect(line).toMatch(words);
      expect(line.startsWith(`${files.get(what)?.file}: `)).toBe(true);
      expect(line).not.toContain('\n');
    },
  );

  it.each(variables)('reports a variable with a wrong value by its name: %s', (assigned, words) => {
    expect(findings.get(assigned)).toBe(`gateway.config.ts: ${words}`);
  });

  it.each(lacking)('reports that there is %s', (what, _, words) => {
    expect(findings.get(what)).toContain(words);
  });

  it('reports nothing when the configuration is complete', () => {
    expect(findings.get('nothing')).toBe('');
  });
});

it('the last port that names the last port gives the operators the one before it', async () => {
  // Another suite may run this test meanwhile. Other systems have one address of their own.
  const host = onLinux ? `127.0.${randomInt(1, 256)}.${randomInt(1, 255)}` : '127.0.0.1';
  const gateway = await startProcess({
    HOST: host,
    PORT: '65535',
    TOLLGATE_ADMIN_HOST: host,
    TOLLGATE_ADMIN_PORT: '',
    TOLLGATE_DATA: join(folder, 'last-port'),
  });
  const { code, output } = await gateway.stop('SIGTERM');
  expect([code, output]).toEqual([0, expect.stringContaining(`For operators: http://${host}:65534`)]);
});

it('a start reports a data folder that is a file, and a ledger that is not one', async () => {
  const file = write(usual);
  writeFileSync(join(folder, 'file'), '');
  expectFault(
    await start(file, { TOLLGATE_DATA: join(folder, 'file') }),
    'the data folder cannot be used: ENOTDIR',
    file,
  );
  mkdirSync(join(folder, 'garbage'));
  writeFileSync(join(folder, 'garbage/ledger.db'), 'no database at all');
  expectFault(
    await start(file, { TOLLGATE_DATA: join(folder, 'garbage') }),
    /plugin "balance": the ledger .*ledger\.db cannot be opened: file is not a database/,
    file,
  );
});

it('a start reports an unreachable PostgreSQL, and never its password', async () => {
  const file = write([...usual.slice(0, 3), "balance({ store: { kind: 'postgres' } })"]);
  const finished = await start(file, { TOLLGATE_LEDGER_URL: 'postgres://user:canary@127.0.0.1:1/books' });
  expectFault(
    finished,
    'plugin "balance": the ledger 127.0.0.1:1/books cannot be opened: connect ECONNREFUSED',
    file,
  );
  expect(finished.errors + finished.output).not.toContain('canary');
});

it('a start reports an address that is in use or does not exist', async () => {
  const taken = await serve(createServer());
  const port = String(taken.port);
  expectFault(
    await start(write(usual), { PORT: port }),
    `address already in use 127.0.0.1:${port}: set server.port (PORT) to another one, or stop the process`,
  );
  await taken.close();
  expectFault(
    await start('gateway.config.ts', { HOST: 'nowhere.invalid' }),
    /nowhere\.invalid: set server\.host \(HOST\) to an address of this machine/,
  );
});

it('a command of a plugin may start with the words of another, in either order', async () => {
  const file = write([...usual, buildVerbs(buildVerb('mill wheel'), buildVerb('mill <corn>'))]);
  const run = (...words: string[]): Promise<Finished> =>
    runVerb([...words, '--json'], { TOLLGATE_CONFIG: file, PORT: '0', TOLLGATE_DATA: folder });
  expect(await Promise.all([run('mill', 'wheel'), run('mill', 'rye')])).toMatchObject([
    { code: 0, output: '1\n' },
    { code: 0, output: '1\n' },
  ]);
});

it('a command of a plugin whose options cannot be read is reported with its plugin', async () => {
  const file = write([
    ...usual,
    buildVerbs(buildVerb('mill', ", options: [{ flags: 'wheel', description: '' }]")),
  ]);
  expectFault(
    await runVerb(['mill'], { TOLLGATE_CONFIG: file, PORT: '0', TOLLGATE_DATA: folder }),
    /^tollgate: plugin "mine": .*'wheel'/,
  );
});

it.each(['--help', 'help'])(
  'help lists the commands that need no configuration, and says why there are no more: %s',
  async (word) => {
    const file = write(['demo({ pase: 3 })']);
    const { code, output } = await runVerb([word], {
      TOLLGATE_CONFIG: file,
      PORT: '0',
      TOLLGATE_DATA: folder,
    });
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(
        "doctor[^]*The plugins' verbs are missing, because the configuration could not be read: " +
          '.*plugin "demo": unknown option "pase"',
      ),
    ]);
  },
);
