/**
 * Mistakes people make in a configuration: the gateway reports each in one line, with the file, the plugin,
 * the option, and what to write instead.
 */
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onLinux } from '../support/available.ts';
import { makeDataFolder, runAlone, runVerb, startProcess, type Finished } from '../support/process.ts';

const folder = makeDataFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const imports = `import { defineConfig } from 'tollgate';
import { bearer } from 'tollgate/plugins/auth/bearer';
import { balance } from 'tollgate/plugins/meters/balance';
import { rateLimits } from 'tollgate/plugins/operations/rate-limits';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { azure } from 'tollgate/plugins/providers/azure';
import { demo } from 'tollgate/plugins/providers/demo';
import { googleVertex } from 'tollgate/plugins/providers/google-vertex';
import { ollama } from 'tollgate/plugins/providers/ollama';
import { openai } from 'tollgate/plugins/providers/openai';
`;
const usual = ['bearer()', 'chatCompletions()', 'demo()', 'balance()'];
writeFileSync(join(folder, 'slip.ts'), '// Fine,\n// and then:\nexport const slip = ;\n');
writeFileSync(
  join(folder, 'vain.ts'),
  "// Fine,\nimport { nobody } from 'tollgate';\nexport const vain = nobody;\n",
);
const by = (name: string, rest: string): string => `{ name: '${name}', interface: 1, ${rest} }`;
const route = (rest: string): string =>
  by(
    'mine',
    "apply: ({ routes }) => routes.add({ name: 'r', method: 'GET', access: 'public', errors: " +
      `() => ({ status: 500, body: '' }), handle: async () => ({ status: 200, body: '' }), ${rest} })`,
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
  return runAlone(['start'], {
    TOLLGATE_CONFIG: file,
    PORT: '0',
    TOLLGATE_DATA: join(folder, `data-${written}`),
    ...environment,
  });
}

/** Expects one line on standard error: the file it is about, and the text of the fault. */
function expectTold({ code, errors }: Finished, told: RegExp | string, file?: string): void {
  expect([code, errors.trimEnd().split('\n').length, errors]).toEqual([
    1,
    1,
    typeof told === 'string' ? expect.stringContaining(told) : expect.stringMatching(told),
  ]);
  if (file !== undefined) expect(errors).toContain(`tollgate: ${file}: `);
}

const verb = (name: string, rest = ''): string =>
  `commands.add({ name: '${name}', description: '', run: async () => ({ json: 1, text: '' }) ${rest} });`;
const verbs = (...added: readonly string[]): string =>
  by('mine', `apply({ commands }) { ${added.join(' ')} }`);

const faults: readonly (readonly [
  what: string,
  plugins: readonly string[],
  told: string | RegExp,
  environment?: string,
])[] = [
  ['a misspelt option', ['demo({ pase: 3 })'], 'plugin "demo": unknown option "pase"; it has "pace"'],
  [
    'a wrong kind deep inside',
    ["rateLimits({ perKey: { requests: '60' } })"],
    /plugin "rate-limits": option "perKey.requests": .*number.*string/,
  ],
  ['a plugin twice', [...usual, 'bearer()'], 'the plugin "bearer" is listed twice'],
  [
    'a factory that was not called',
    [...usual, 'rateLimits'],
    'option "plugins.4": has to be a plugin, with a name (call its factory',
  ],
  [
    'a provider of a taken name',
    [
      ...usual,
      by(
        'mine',
        "apply: (host) => host.providers.add({ name: 'demo', endpoints: {}, sign: (request) => request })",
      ),
    ],
    'plugin "mine": provider "demo" already exists',
  ],
  [
    'a price that is a number',
    ["ollama({ price: { input: 0.2, output: '0.6' } })"],
    'plugin "ollama": option "price.input": an amount in USD is a decimal string, as "0.20"',
  ],
  [
    'a price with a comma',
    ["ollama({ price: { input: '0,2', output: '0.6' } })"],
    /option "price.input": not an amount in USD/,
  ],
  [
    'an address without its scheme',
    ["openai({ apiKey: 'k', baseUrl: 'localhost:1234' })"],
    'plugin "openai": option "baseUrl": has to be an address with its scheme, as https://host/v1',
  ],
  [
    'the same in a variable',
    ['openai()'],
    'plugin "openai": OPENAI_BASE_URL: has to be an address with its scheme',
    'OPENAI_API_KEY=k|OPENAI_BASE_URL=localhost:1234',
  ],
  [
    'the same in the variable of a cloud',
    ['azure()'],
    'plugin "azure": AZURE_OPENAI_ENDPOINT: has to be an address with its scheme',
    'AZURE_OPENAI_ENDPOINT=our.openai.azure.com',
  ],
  [
    'a place that is none',
    ['googleVertex()'],
    'plugin "google-vertex": GOOGLE_CLOUD_LOCATION: a location such as global or europe-west1',
    'GOOGLE_CLOUD_PROJECT=ours|GOOGLE_CLOUD_LOCATION=Belgium, west',
  ],
  [
    'a key that no header can hold',
    ["openai({ apiKey: 'sk-ключ' })"],
    'plugin "openai": option "apiKey": has to be a key: letters, digits and signs',
  ],
  [
    'such a key in a variable',
    ['openai()'],
    /plugin "openai": OPENAI_API_KEY: has to be a key: [^ключ]*$/,
    'OPENAI_API_KEY=sk-ключ',
  ],
  [
    'a time that no timer can wait',
    ["openai({ apiKey: 'k', timeouts: { reply: 1e9 } })"],
    /plugin "openai": option "timeouts.reply": .*2147483/,
  ],
  [
    'a variable that is no number',
    usual,
    'option "server.port": must be a number: check where it comes from',
    'PORT=abc',
  ],
  [
    'a plugin of a later interface',
    [...usual, "{ name: 'later', interface: 2, apply() {} }"],
    /plugin "later" was made for version 2 .*: update Tollgate/,
  ],
  ['a plugin without an import', [...usual, 'images()'], /images is not defined, at .*\d+\.config\.ts/],
  [
    'a plugin with a slip in it',
    [...usual, by('broken', 'apply: (host) => host.hooks.reddy.tapPromise()')],
    /plugin "broken": there is no hook "reddy"; known: ready.*, at .*apply .*\d+\.config\.ts/,
  ],
  [
    'a plugin that is applied later',
    [...usual, by('late', "apply: async () => { await 1; throw new Error('too late'); }")],
    'plugin "late": "apply" returned a promise, which is not awaited; put slow work into the hook "ready"',
  ],
  ['brackets that do not match', ['['], /line \d+: /],
  [
    'a slip in a file that it imports',
    usual,
    /: \S+slip\.ts, line 3: Expression expected$/,
    "import { slip } from './slip.ts';",
  ],
  [
    'a name that a file it imports asks for in vain',
    usual,
    /: \S+vain\.ts, line 2: .*does not provide an export named 'nobody'/,
    "import { vain } from './vain.ts';",
  ],
  [
    'an import of a file that is not there',
    usual,
    /Cannot find module '.*nope\.ts'/,
    "import { nope } from './nope.ts';",
  ],
  [
    'an import of a package that is not there',
    usual,
    "Cannot find package 'tollgate-nope'",
    "import { nope } from 'tollgate-nope';",
  ],
  [
    'a path that no route can have',
    [...usual, route("path: '/r/{x'")],
    /plugin "mine": route "r" cannot be reached: .*\{x/,
  ],
  [
    'a route where a protocol is',
    [...usual, route("path: '/v1/chat/completions', method: 'POST'")],
    'plugin "mine": route "r" cannot be reached: ' +
      'POST /v1/chat/completions is an endpoint of the protocol "chat-completions"',
  ],
  [
    'a route for nobody',
    [...usual, route("path: '/r', access: 'users'")],
    'plugin "mine": route "r": "access" must be one of public, user, operator',
  ],
  [
    "a verb called like one of the gateway's own",
    [...usual, verbs(verb('start <slowly>'))],
    'plugin "mine": command "start <slowly>": "start" is one of the gateway\'s own verbs',
  ],
  [
    'a verb that is there',
    [...usual, verbs(verb('keys create <account>'))],
    'plugin "mine": command "keys create <account>": ' +
      'the verb "keys create" already belongs to the plugin "balance"',
  ],
  [
    'a verb twice',
    [...usual, verbs(verb('mill'), verb('mill [wheel]'))],
    'plugin "mine": command "mill [wheel]": the verb "mill" already belongs to the plugin "mine"',
  ],
  [
    'an option that all verbs have',
    [...usual, verbs(verb('mill', ", options: [{ flags: '--json <file>', description: '' }]"))],
    'plugin "mine": command "mill": the option "--json <file>" exists on every verb',
  ],
  [
    'a transform that does not say when',
    [
      ...usual,
      by(
        'mine',
        "apply: ({ hooks }) => hooks.transformRequest.tapPromise('mine', async (request) => request)",
      ),
    ],
    'plugin "mine": a tap on "transformRequest" has to say when it applies',
  ],
  [
    'a model that nobody checked',
    [...usual, by('mine', "apply: ({ catalog }) => catalog.offer({ name: 'mine' }, [{ id: 'mine/one' }])")],
    'plugin "mine": provider "mine" offers the model "mine/one" unchecked: pass checkModel(…) of it',
  ],
  [
    'a flag that the protocol does not know',
    [
      ...usual,
      by(
        'mine',
        "apply: ({ catalog }) => catalog.offer({ name: 'mine', endpoints: {} }, [checkModel({ id: " +
          "'mine/one', upstream: 'one', name: 'One', description: '', created: '2026-01-01', " +
          "contextLength: 8, outputLimit: 8, input: ['text'], output: ['text'], free: true, " +
          "capabilities: { wire: { 'chat-completions': { extra: true } } } })])",
      ),
    ],
    'provider "mine": model "mine/one": capabilities.wire["chat-completions"]: Unrecognized key: "extra"',
    "import { checkModel } from 'tollgate';",
  ],
  [
    'a plugin without a name',
    [...usual, by('', 'apply() {}')],
    'option "plugins.4": has to be a plugin, with a name',
  ],
  [
    'a family that is not there',
    ["bearer({ families: ['chat-completion'] })", ...usual.slice(1)],
    'plugin "bearer": option "families": "chat-completion" does not exist; these do: ' +
      'chat-completions, balance',
  ],
  [
    'PostgreSQL without its address',
    ["balance({ store: { kind: 'postgres' } })"],
    'plugin "balance": option "store.url": set TOLLGATE_LEDGER_URL to the address of the database',
  ],
];

const lacking: readonly (readonly [what: string, plugins: readonly string[], told: string])[] = [
  ['no protocol', ['bearer()', 'demo()', 'balance()'], 'add one, such as chatCompletions()'],
  ['no credential', ['chatCompletions()', 'demo()', 'balance()'], 'add one, such as bearer()'],
  ['no plugin that keeps keys', ['bearer()', 'chatCompletions()', 'demo()'], 'add balance()'],
  ['no provider', ['bearer()', 'chatCompletions()', 'balance()'], 'add demo()'],
];

/** Of the default configuration. */
const variables: readonly (readonly [assigned: string, told: string])[] = [
  ['PORT=99999', 'PORT: must be a port, from 0 to 65535'],
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
  const told = new Map<string, string>();
  beforeAll(async () => {
    const script = join(import.meta.dirname, '../support/check-each.ts');
    const asked = [...files.values()].map(({ file, environment }) =>
      [file, ...(environment ? [environment] : [])].join('|'),
    );
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...asked], {
      env: { PATH: process.env.PATH, PORT: '0' },
    });
    const lines: unknown = JSON.parse(stdout);
    for (const [index, what] of [...files.keys()].entries())
      told.set(what, Array.isArray(lines) ? String(lines[index]) : '');
  });

  it.each(faults.map(([what, , words]) => [what, words] as const))('reports %s', (what, words) => {
    const line = told.get(what) ?? '';
    expect(line).toMatch(words);
    expect(line.startsWith(`${files.get(what)?.file}: `)).toBe(true);
    expect(line).not.toContain('\n');
  });

  it.each(variables)('reports a variable with a wrong value by its name: %s', (assigned, words) => {
    expect(told.get(assigned)).toBe(`gateway.config.ts: ${words}`);
  });

  it.each(lacking)('reports that there is %s', (what, _, words) => {
    expect(told.get(what)).toContain(words);
  });

  it('reports nothing when the configuration is complete', () => {
    expect(told.get('nothing')).toBe('');
  });
});

describe('a variable of the default configuration', () => {
  it('that names the last port gives the operators the one before it', async () => {
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
});

describe('a start', () => {
  it('reports a data folder that is a file, and a ledger that is not one', async () => {
    const file = write(usual);
    writeFileSync(join(folder, 'file'), '');
    expectTold(
      await start(file, { TOLLGATE_DATA: join(folder, 'file') }),
      'the data folder cannot be used: ENOTDIR',
      file,
    );
    mkdirSync(join(folder, 'garbage'));
    writeFileSync(join(folder, 'garbage/ledger.db'), 'no database at all');
    expectTold(
      await start(file, { TOLLGATE_DATA: join(folder, 'garbage') }),
      /plugin "balance": the ledger .*ledger\.db cannot be opened: file is not a database/,
      file,
    );
  });

  it('reports an unreachable PostgreSQL, and never its password', async () => {
    const file = write([...usual.slice(0, 3), "balance({ store: { kind: 'postgres' } })"]);
    const told = await start(file, { TOLLGATE_LEDGER_URL: 'postgres://user:canary@127.0.0.1:1/books' });
    expectTold(
      told,
      'plugin "balance": the ledger 127.0.0.1:1/books cannot be opened: connect ECONNREFUSED',
      file,
    );
    expect(told.errors + told.output).not.toContain('canary');
  });

  it('reports an address that is in use or does not exist', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = String(typeof address === 'object' && address ? address.port : 0);
    expectTold(
      await start(write(usual), { PORT: port }),
      `address already in use 127.0.0.1:${port}: set PORT to another one`,
    );
    taken.close();
    expectTold(
      await start('gateway.config.ts', { HOST: 'nowhere.invalid' }),
      /nowhere\.invalid: set HOST to an address of this machine/,
    );
  });
});

describe('a command of a plugin', () => {
  it('may start with the words of another, in either order', async () => {
    const file = write([...usual, verbs(verb('mill wheel'), verb('mill <corn>'))]);
    const run = (...words: string[]): Promise<Finished> =>
      runVerb([...words, '--json'], { TOLLGATE_CONFIG: file, PORT: '0', TOLLGATE_DATA: folder });
    expect(await Promise.all([run('mill', 'wheel'), run('mill', 'rye')])).toMatchObject([
      { code: 0, output: '1\n' },
      { code: 0, output: '1\n' },
    ]);
  });

  it('whose options cannot be read is reported with its plugin', async () => {
    const file = write([...usual, verbs(verb('mill', ", options: [{ flags: 'wheel', description: '' }]"))]);
    expectTold(
      await runVerb(['mill'], { TOLLGATE_CONFIG: file, PORT: '0', TOLLGATE_DATA: folder }),
      /^tollgate: plugin "mine": .*'wheel'/,
    );
  });
});

describe('help', () => {
  it.each(['--help', 'help'])(
    'lists the commands that need no configuration, and says why there are no more: %s',
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
});
