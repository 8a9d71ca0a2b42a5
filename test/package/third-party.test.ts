/**
 * The package as others get it: packed, unpacked in an empty folder with nothing but what it depends on, and
 * with plugin packages beside it that somebody else wrote, one in plain JavaScript and one built from
 * TypeScript. They serve calls there and beside a clone, and see the one core that runs.
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { satisfies } from 'semver';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runAlone, runVerb, startProcess, type Copy, type RunningGateway } from '../support/process.ts';
import { startVendor, type Vendor } from '../support/vendor/chat-completions.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const tools = join(root, 'node_modules');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-package-'));
const project = join(folder, 'project');
const app = join(folder, 'app');
const packages = join(app, 'node_modules');
const program = join(packages, '.bin/tollgate');
/** Without what npm and vitest say to programs they start: these are started as from a shell. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_ENV$|NODE_OPTIONS$)/.test(name)),
);

function runNode(where: string, entry: string, ...words: string[]): Promise<{ stdout: string }> {
  return run(process.execPath, [join(tools, entry), ...words], { cwd: where, env });
}

/** Packs a copy, since a build in the project itself would disturb others who work there. */
async function pack(): Promise<void> {
  for (const part of [
    'core',
    'plugins',
    'examples',
    'gateway.config.ts',
    'test/contract',
    'test/support',
    'test/balance',
    'package.json',
    'tsconfig.json',
    'README.md',
    'LICENSE',
  ]) {
    cpSync(join(root, part), join(project, part), { recursive: true });
  }
  symlinkSync(tools, join(project, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: project, env });
}

const config = `
import { defineConfig, GatewayError } from 'tollgate';
import { bearer } from 'tollgate/plugins/auth/bearer';
import { balance } from 'tollgate/plugins/meters/balance';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { GatewayError as errorClass, harbour } from 'harbour-provider';
import { lagoon, witness } from 'lagoon-provider';

const ours: typeof GatewayError = errorClass;
export default defineConfig({
  dataFolder: process.env.TOLLGATE_DATA,
  server: { port: Number(process.env.PORT) },
  plugins: [
    bearer(),
    chatCompletions(),
    harbour(),
    lagoon({ price: { input: '1', output: '2' } }),
    witness({ errorClass: ours }),
    balance(),
  ],
});
`;

/** Only has to compile, or not: what an editor shows while a configuration is written. */
const typed = `
import { defineConfig } from 'tollgate';
import { balance } from 'tollgate/plugins/meters/balance';
import { openai } from 'tollgate/plugins/providers/openai';
import { lagoon, witness } from 'lagoon-provider';
import { GatewayError } from 'tollgate';

export default defineConfig({
  server: { port: 1 },
  plugins: [
    lagoon(),
    witness({ errorClass: GatewayError }),
    process.env['X'] && openai({ apiKey: 'k' }),
    balance({ whenShort: 'refuse' }),
  ],
});
// @ts-expect-error: there is no such setting
defineConfig({ sever: {}, plugins: [] });
// @ts-expect-error: a plugin's factory has to be called
defineConfig({ plugins: [openai] });
// @ts-expect-error: there is no such option
openai({ apiKye: 'k' });
// @ts-expect-error: not one of its values
balance({ whenShort: 'ask' });
// @ts-expect-error: nor of a package's own
lagoon({ discoverEvery: 'often' });
`;

/** Does not compile: what an editor says of a field that is not there. */
const wrong = `
import { definePlugin } from 'tollgate';
import { z } from 'zod';

export const wrong = definePlugin({
  name: 'wrong',
  options: z.strictObject({}),
  apply({ hooks }) {
    hooks.transformRequest.tapPromise({ name: 'wrong', when: () => true }, async (request, exchange) => {
      request.nothing;
      request.turns[0]?.nothing;
      request.turns[0]?.blocks[0]?.nothing;
      exchange.nothing;
      exchange.targets[0]?.model.nothing;
      return request;
    });
    hooks.transformStream.tap({ name: 'wrong', when: () => true }, async function* (events) {
      for await (const event of events) {
        event.nothing;
        if (event.type === 'block-delta') event.nothing;
        yield event;
      }
    });
  },
});
`;

const strict = {
  target: 'esnext',
  module: 'nodenext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
};

/**
 * What `npm install` leaves in the folder, with links to the project's own copies of the packages: npm takes
 * ten seconds to unpack them.
 */
async function install(): Promise<void> {
  const installed = join(packages, 'tollgate');
  for (const made of [installed, dirname(program)]) mkdirSync(made, { recursive: true });
  writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }));
  const [tarball = ''] = globSync('tollgate-*.tgz', { cwd: folder });
  await run('tar', ['-xzf', join(folder, tarball), '--strip-components=1', '-C', installed]);
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  for (const [path, { dev }] of Object.entries<{ dev?: boolean }>(lock.packages)) {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name === undefined || dev) continue;
    mkdirSync(dirname(join(packages, name)), { recursive: true });
    symlinkSync(join(tools, name), join(packages, name));
  }
  const { bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  symlinkSync(join(installed, bin.tollgate), program);
  chmodSync(program, 0o755);
  for (const name of ['harbour-provider', 'lagoon-provider'])
    cpSync(join(import.meta.dirname, name), join(packages, name), { recursive: true });
  await runNode(join(packages, 'lagoon-provider'), 'typescript/bin/tsc', '--singleThreaded');
  writeFileSync(join(app, 'gateway.config.ts'), config);
}

let vendor: Vendor;
beforeAll(async () => {
  vendor = await startVendor();
  await pack();
  await install();
}, 400_000);
afterAll(async () => {
  await vendor.close();
  rmSync(folder, { recursive: true, force: true });
});

const copies: [string, Copy][] = [
  ['beside an install', { entry: program, folder: app }],
  ['beside a clone', { entry: join(root, 'core/cli.js'), folder: root }],
];

function buildEnvironment(name: string): Record<string, string> {
  const known = {
    HARBOUR_API_KEY: vendor.key,
    HARBOUR_BASE_URL: vendor.url,
    LAGOON_API_KEY: vendor.key,
    LAGOON_BASE_URL: vendor.url,
  };
  return { ...known, TOLLGATE_DATA: join(folder, name), TOLLGATE_CONFIG: join(app, 'gateway.config.ts') };
}

function ask(gateway: RunningGateway, model: string): Promise<Response> {
  const key = /sk-[\w-]+/.exec(gateway.printed())?.[0] ?? '';
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
}

describe.each(copies)('plugin packages of others, %s', (name, copy) => {
  it('serve calls, and see the core that runs', async () => {
    const gateway = await startProcess(buildEnvironment(name), copy);
    for (const model of ['harbour/small', 'lagoon/gpt-4o-mini']) {
      const reply = await ask(gateway, model);
      expect([reply.status, await reply.json()]).toMatchObject([
        200,
        { model, choices: [{ message: { content: expect.stringContaining('gpt-4o-mini') } }] },
      ]);
    }
    expect((await ask(gateway, 'unknown/nothing')).status).toBe(404);
    expect(await (await fetch(`${gateway.url}/witness`)).json()).toEqual({
      errors: [true, true],
      protocol: true,
    });
    expect((await gateway.stop('SIGTERM')).code).toBe(0);
  });

  it('are refused where they were made for another version', async () => {
    const misfit = join(packages, 'misfit');
    mkdirSync(misfit, { recursive: true });
    writeFileSync(
      join(misfit, 'package.json'),
      JSON.stringify({
        name: 'misfit',
        type: 'module',
        exports: './index.js',
        peerDependencies: { tollgate: '^99.0.0' },
      }),
    );
    writeFileSync(
      join(misfit, 'index.js'),
      "import { whatComesLater } from 'tollgate';\nexport const misfit = whatComesLater();\n",
    );
    const TOLLGATE_CONFIG = join(app, 'misfit.config.js');
    writeFileSync(
      TOLLGATE_CONFIG,
      "import { misfit } from 'misfit';\nexport default { plugins: [misfit] };\n",
    );
    const check = copy.entry === program ? runAlone : runVerb;
    const { code, errors } = await check(['check'], { ...buildEnvironment(name), TOLLGATE_CONFIG }, copy);
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(
        /misfit\.config\.js: the package "misfit" works with tollgate \^99\.0\.0, and this is \d+\.\d+/,
      ),
    ]);
  });
});

it('the installed package writes a configuration in a folder that has none, and serves by it', async () => {
  const copy = { entry: program, folder: join(app, 'fresh') };
  mkdirSync(copy.folder);
  const { code, output } = await runAlone(['init', '--json'], { MISTRAL_API_KEY: 'any' }, copy);
  expect([code, JSON.parse(output)]).toMatchObject([
    0,
    { file: join(copy.folder, 'gateway.config.mjs'), on: ['demo', 'mistral'] },
  ]);
  const gateway = await startProcess({}, copy);
  expect((await ask(gateway, 'demo/echo')).status).toBe(200);
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
  writeFileSync(join(copy.folder, 'package.json'), '{"type":"module"}');
  expect((await runAlone(['init'], {}, copy)).output).toContain(join(copy.folder, 'gateway.config.js'));
});

it('the installed package has every bundled plugin under the name its file has', async () => {
  const imports = [
    ...readFileSync(join(root, 'gateway.config.ts'), 'utf8').matchAll(
      /from '\.\/(plugins\/[\w/-]+?)(?:\/index)?\.ts'/g,
    ),
  ].map(([, path]) => `tollgate/${path}`);
  expect(imports.length).toBeGreaterThan(30);
  const script = `for (const name of ${JSON.stringify(imports)}) await import(name)`;
  await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: app, env });
});

it('the installed package has types that complete a configuration and refuse a wrong one', async () => {
  writeFileSync(join(app, 'typed.ts'), typed);
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions: strict, files: ['typed.ts'] }));
  const { stdout } = await runNode(app, 'typescript/bin/tsc', '--singleThreaded').catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe('');
});

it('the installed package has types whose names a wrong field brings up', async () => {
  writeFileSync(join(app, 'wrong.ts'), wrong);
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions: strict, files: ['wrong.ts'] }));
  const { stdout } = await runNode(app, 'typescript/bin/tsc', '--singleThreaded').catch(
    (error: { stdout: string }) => error,
  );
  const named = stdout.matchAll(/Property 'nothing' does not exist on type '(.*)'\.$/gm);
  expect(Array.from(named, ([, name]) => name)).toEqual(
    expect.arrayContaining([
      'CanonicalRequest',
      'Turn',
      'Block',
      'CanonicalEvent',
      'BlockDelta',
      'Model',
      'Routed',
    ]),
  );
  expect(stdout).not.toContain('{ ');
});

it('the installed package lets a package of others run the contract in its own vitest', async () => {
  for (const name of ['vitest', 'fast-check']) symlinkSync(join(tools, name), join(packages, name));
  cpSync(join(import.meta.dirname, 'harbour-provider/harbour.test.js'), join(app, 'harbour.test.js'));
  const report = join(folder, 'report.json');
  await runNode(app, 'vitest/vitest.mjs', 'run', '--reporter=json', `--outputFile=${report}`).catch(
    () => undefined,
  );
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ success: true, numPassedTests: 9 });
});

describe.each(['provider', 'guard'])(
  'a package that create-tollgate-plugin writes, of the kind %s',
  (kind) => {
    const name = `our-${kind}`;
    const made = join(app, name);
    beforeAll(async () => {
      const program = join(packages, 'tollgate/examples/create-tollgate-plugin/index.js');
      await run(process.execPath, [program, `@ours/${name}`, '--kind', kind], { cwd: app, env });
      mkdirSync(join(made, 'node_modules'));
      const { dependencies, devDependencies } = JSON.parse(readFileSync(join(made, 'package.json'), 'utf8'));
      for (const each of Object.keys({ ...dependencies, ...devDependencies })) {
        mkdirSync(dirname(join(made, 'node_modules', each)), { recursive: true });
        const installed = each === 'tollgate' ? join(packages, each) : join(tools, each);
        symlinkSync(installed, join(made, 'node_modules', each));
      }
    });

    it('passes its own tests', async () => {
      const report = join(made, 'report.json');
      const words = ['run', '--reporter=json', `--outputFile=${report}`];
      await runNode(made, 'vitest/vitest.mjs', ...words).catch(() => undefined);
      const { success, numPassedTests } = JSON.parse(readFileSync(report, 'utf8'));
      expect([success, numPassedTests]).toEqual([true, expect.toSatisfy((count: number) => count >= 3)]);
    });

    it('builds what it publishes, and its gateway accepts it', async () => {
      await runNode(made, 'typescript/bin/tsc', '--singleThreaded');
      expect(globSync('dist/*', { cwd: made }).toSorted()).toEqual(['dist/index.d.ts', 'dist/index.js']);
      const published = JSON.parse(readFileSync(join(made, 'package.json'), 'utf8'));
      expect(published).toMatchObject({ name: `@ours/${name}`, exports: './dist/index.js' });
      const checked = await runAlone(['check'], {}, { entry: program, folder: made });
      expect([checked.code, checked.output]).toEqual([0, expect.stringContaining(`demo, ${name}, balance`)]);
    });
  },
);

it('create-tollgate-plugin overwrites nothing, and says what it takes', async () => {
  const entry = join(packages, 'tollgate/examples/create-tollgate-plugin/index.js');
  mkdirSync(join(app, 'taken/file'), { recursive: true });
  for (const [words, said] of [
    [['taken'], /taken is not empty/],
    [['Wrong Name'], /lower case/],
    [['../up'], /lower case/],
    [['fine', '--kind', 'nothing'], /there is no kind "nothing"/],
    [['fine', '--force'], /--force/],
    [[], /usage: npm create tollgate-plugin/],
  ] as const) {
    const { code, errors } = await runAlone(words, {}, { entry, folder: app });
    expect([code, errors]).toEqual([1, expect.stringMatching(said)]);
  }
});

it("the templates of create-tollgate-plugin name this project's versions", () => {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
  const own = read('package.json');
  const { dependencies, devDependencies, peerDependencies, engines } = read(
    'examples/create-tollgate-plugin/templates/every/package.json',
  );
  expect(engines).toEqual(own.engines);
  const { tollgate, ...others } = { ...dependencies, ...devDependencies };
  expect({ ...own.devDependencies, ...own.dependencies }).toMatchObject(others);
  for (const range of [tollgate, peerDependencies.tollgate]) expect(satisfies(own.version, range)).toBe(true);
});

it('the installed package imports a configuration of LiteLLM', async () => {
  symlinkSync(join(tools, 'yaml'), join(packages, 'yaml'));
  const copy = { entry: program, folder: join(app, 'imported') };
  mkdirSync(copy.folder);
  const source = join(root, 'test/imports/litellm/company.yaml');
  const { code, errors } = await runAlone(['import', 'litellm', source], {}, copy);
  expect([code, errors]).toEqual([0, '']);
  expect((await runAlone(['check'], {}, copy)).code).toBe(0);
});

it('the installed package is small, has no tests, and runs nothing when it is installed', () => {
  const { scripts } = JSON.parse(readFileSync(join(packages, 'tollgate/package.json'), 'utf8'));
  expect(Object.keys(scripts).filter((name) => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([]);
  const [tarball = ''] = globSync('tollgate-*.tgz', { cwd: folder });
  expect(readFileSync(join(folder, tarball)).length).toBeLessThan(1_500_000);
  const tests = globSync('node_modules/tollgate/**/*.test.*', { cwd: app });
  expect(tests.filter((path) => !path.includes('/templates/'))).toEqual([]);
});
