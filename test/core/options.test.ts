/**
 * Wrong options, of any plugin and at any depth: the error names the file, the plugin, the option and the
 * known ones.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { checkConfig, settingsSchema } from '../../core/config.ts';
import { definePlugin } from '../../core/index.ts';
import { makeFolder } from '../support/folder.ts';
import { listBundledPlugins } from '../support/inventory.ts';
import { listOptionRows } from '../support/option-rows.ts';
import { runVerb } from '../support/process.ts';

const sample = definePlugin({
  name: 'sample',
  options: z.strictObject({
    store: z
      .discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('file'), path: z.string() }),
        z.strictObject({ kind: z.literal('none') }),
      ])
      .optional(),
    limits: z
      .strictObject({
        parallel: z.int().min(1).max(10).optional(),
        share: z.number().positive().lt(2).optional(),
        window: z
          .int()
          .default(60)
          .transform((value) => value * 1000),
      })
      .prefault({}),
    rules: z
      .array(z.strictObject({ model: z.string().min(1) }))
      .max(2)
      .default([]),
    onAbort: z
      .union([z.literal('cancel'), z.strictObject({ drain: z.strictObject({ seconds: z.number() }) })])
      .optional(),
    names: z.record(z.string().startsWith('a', 'must begin with a'), z.string()).optional(),
  }),
  apply: () => undefined,
});

const folder = makeFolder();

/** Options as a user writes them without a compiler. */
function eraseType(options: unknown): never {
  return options as never;
}

it.each([
  [{ limit: 1 }, 'unknown option "limit"; it has "store", "limits", "rules", "onAbort", "names"'],
  [{ limits: { paralel: 1 } }, 'unknown option "limits.paralel"; "limits" has "parallel", "share", "window"'],
  [{ limits: { window: '60' } }, 'option "limits.window": expected number, received string'],
  [{ limits: { parallel: 0 } }, 'option "limits.parallel": must be at least 1'],
  [{ limits: { parallel: 11 } }, 'option "limits.parallel": must be at most 10'],
  [{ limits: { parallel: 1.5 } }, 'option "limits.parallel": must be a whole number'],
  [{ limits: { share: 0 } }, 'option "limits.share": must be more than 0'],
  [{ limits: { share: 2 } }, 'option "limits.share": must be less than 2'],
  [{ rules: [{ model: '' }] }, 'option "rules.0.model": must not be empty'],
  [
    { rules: [{ model: 'x' }, { model: 'y' }, { model: 'z' }] },
    'option "rules": must have at most 2 entries',
  ],
  [{ rules: [{ model: 'x' }, { modle: 'x' }] }, 'unknown option "rules.1.modle"; "rules.1" has "model"'],
  [{ store: { kind: 'file', path: 'x', fiel: 'x' } }, /unknown option "store\.fiel"; "store" has .*"path"/],
  [{ store: { kind: 'none', path: 'x' } }, /unknown option "store\.path"; "store" has "kind"$/],
  [{ store: { kind: 'tape' } }, /option "store\.kind": .*'file' \| 'none'/],
  [{ onAbort: { drain: { secs: 1 } } }, 'unknown option "onAbort.drain.secs"; "onAbort.drain" has "seconds"'],
  [{ onAbort: 'never' }, 'option "onAbort": expected "cancel", or: expected object, received string'],
  [{ names: { b: 'x' } }, 'option "names.b": must begin with a'],
  [3, /plugin "sample": .*expected object/],
])(
  'the check of options names a wrong option by its path, and lists the known ones: %j',
  (options, expected) => {
    expect(() => sample(eraseType(options))).toThrow(expected);
    expect(() => sample(eraseType(options))).toThrow(/^plugin "sample": /);
  },
);

it("the check of options names all wrong options of the gateway's own configuration at once", () => {
  const wrong = { server: { prot: 1, host: 7 }, timeouts: { idel: 1 }, plugins: [] };
  expect(() => checkConfig(wrong, 'my.config.ts')).toThrow(
    /^my\.config\.ts: .*"server\.host".*unknown option "server\.prot"; "server" has "host", "port"/,
  );
  expect(() => checkConfig(wrong, 'my.config.ts')).toThrow(/"timeouts\.idel"; "timeouts" has "connect"/);
});

const plugins = await listBundledPlugins();

const ofNoKind = Symbol('of no kind that an option has');

it('the check of options finds every bundled plugin once', () => {
  expect(plugins.length).toBeGreaterThan(35);
  expect(new Set(plugins.map(({ name }) => name)).size).toBe(plugins.length);
});

it.each(plugins)('$name names an unknown option and lists its own', ({ name, factory }) => {
  const options = factory.options instanceof z.ZodObject ? Object.keys(factory.options.shape) : undefined;
  const known = options?.map((option) => `"${option}"`).join(', ') || 'none';
  const message = options ? `unknown option "noSuchOption"; it has ${known}` : `option "noSuchOption": `;
  // Options that are missing are named before it.
  const call = (): unknown => factory(eraseType({ noSuchOption: 1 }));
  expect(call).toThrow(message);
  expect(call).toThrow(`plugin "${name}": `);
});

it.each(plugins)('$name names each option with a value of the wrong type', ({ name, factory }) => {
  const shape = factory.options instanceof z.ZodObject ? Object.keys(factory.options.shape) : [];
  for (const option of shape) {
    expect(() => factory(eraseType({ [option]: ofNoKind })), option).toThrow(
      new RegExp(`^plugin "${name}": (.*; )?option "${option}[."]`),
    );
  }
});

it.each(plugins)('$name names unknown options inside each nested option', ({ name, factory }) => {
  for (const path of new Set(
    listOptionRows(factory.options).flatMap(({ option }) =>
      option.includes('.') ? option.slice(0, option.lastIndexOf('.')) : [],
    ),
  )) {
    const options = path
      .split('.')
      .reduceRight<unknown>((inner, step) => ({ [step]: inner }), { noSuchOption: 1 });
    expect(() => factory(eraseType(options)), path).toThrow(
      new RegExp(
        `plugin "${name}": .*(unknown option "${path}\\.noSuchOption"; "${path}" has "|` +
          `option "${path}\\.\\w+": )`,
      ),
    );
  }
});

it.each([
  ['export default {\n  plugins: [],\n  {\n};\n', /line 3: /, 'broken.ts'],
  [
    "import { nope } from 'tollgate/plugins/auth/nope';\nexport default { plugins: [] };\n",
    /there is no tollgate\/plugins\/auth\/nope; plugins\/auth has api-key-header, bearer, google-api-key/,
    'missing.mjs',
  ],
  [
    "import { openai } from 'tollgate/plugins/openai';\nexport default { plugins: [] };\n",
    /there is no tollgate\/plugins\/openai; plugins has the folders auth, .*providers, routing/,
    'misplaced.mjs',
  ],
  [
    "import { beerer } from 'tollgate/plugins/auth/bearer';\nexport default { plugins: [] };\n",
    /line 1: .*'beerer'/,
    'named.mjs',
  ],
  [
    "import { usageOf } from 'tollgate/plugins/metres/nope';\nexport default { plugins: [] };\n",
    /nor a folder plugins\/metres/,
    'folder.mjs',
  ],
  [
    'export const config = { plugins: [] };\n',
    /has to export its configuration as default/,
    'named-export.mjs',
  ],
])('`tollgate check` reports the file and the reason on one line: %j', async (text, expected, name) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  const { code, errors } = await runVerb(['check'], { TOLLGATE_CONFIG: file });
  expect(errors).toMatch(expected);
  expect(errors).toContain(`tollgate: ${file}: `);
  expect([code, errors.split('\n').length]).toEqual([1, 2]);
});

it.each(['gateway.config.ts', 'gateway.config.js'])(
  '`tollgate check` explains how to make %s a module in a CommonJS package',
  async (name) => {
    const place = join(folder, 'commonjs');
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), '{"type":"commonjs"}');
    const file = join(place, name);
    writeFileSync(
      file,
      "import { defineConfig } from 'tollgate';\nexport default defineConfig({ plugins: [] });\n",
    );
    const { code, errors } = await runVerb(['check'], { TOLLGATE_CONFIG: file });
    expect([code, errors]).toEqual([
      1,
      expect.stringContaining(
        `tollgate: ${file}: it is read as CommonJS and has to be a module: write "type": "module"`,
      ),
    ]);
    const renamed = file.replace(/\.(.s)$/, '.m$1');
    renameSync(file, renamed);
    expect((await runVerb(['check'], { TOLLGATE_CONFIG: renamed })).code).toBe(0);
  },
);

it('`tollgate check` reports that no provider speaks a listed protocol', async () => {
  const file = join(folder, 'apart.mjs');
  writeFileSync(
    file,
    "import { messages } from 'tollgate/plugins/protocols/messages';\n" +
      "import { openai } from 'tollgate/plugins/providers/openai';\n" +
      "export default { plugins: [messages(), openai({ apiKey: 'k' })] };\n",
  );
  const { output } = await runVerb(['check'], { TOLLGATE_CONFIG: file });
  expect(output).toMatch(
    /cannot serve calls yet[^]*No provider speaks a listed protocol, .* \(chat-completions, responses/,
  );
});

it('`tollgate check` takes plugins that are CommonJS, which require the core that runs', async () => {
  const plugin = join(folder, 'old.cjs');
  writeFileSync(
    plugin,
    [
      "const { definePlugin } = require('tollgate');",
      "exports.demo = require('tollgate/plugins/providers/demo').demo;",
      "exports.old = definePlugin({ name: 'old', apply() {} });",
    ].join('\n'),
  );
  const file = join(folder, 'old.mjs');
  writeFileSync(
    file,
    "import { old, demo } from './old.cjs';\nimport { bearer } from 'tollgate/plugins/auth/bearer';\n" +
      'export default { plugins: [bearer(), old(), demo()] };\n',
  );
  const { output, errors } = await runVerb(['check', '--json'], { TOLLGATE_CONFIG: file });
  expect([errors, JSON.parse(output)]).toMatchObject(['', { ok: true, plugins: ['bearer', 'old', 'demo'] }]);
});

it('`tollgate check` names the place of a slip as an editor finds it', async () => {
  const file = join(folder, 'slip.mjs');
  writeFileSync(file, 'const nothing = undefined;\nexport default nothing.plugins;\n');
  expect((await runVerb(['check'], { TOLLGATE_CONFIG: file })).errors).toMatch(/slip\.mjs:2:24\n$/);
});

it('`tollgate check` asks for the file if it gets a folder', async () => {
  expect((await runVerb(['check'], { TOLLGATE_CONFIG: folder })).errors).toBe(
    `tollgate: ${folder}: it is a folder; name the file in it, such as gateway.config.ts\n`,
  );
});

it.each(['gateway.json', 'gateway.yaml', 'gateway'])(
  '`tollgate check` asks for a module if it gets %s',
  async (name) => {
    const file = join(folder, name);
    writeFileSync(file, '{ "plugins": [] }');
    expect((await runVerb(['check'], { TOLLGATE_CONFIG: file })).errors).toBe(
      `tollgate: ${file}: it has to be a module, such as gateway.config.ts, that exports its configuration ` +
        'as default; "tollgate init" writes one\n',
    );
  },
);

it('`tollgate check` suggests `tollgate init` if there is no configuration', async () => {
  const { code, errors } = await runVerb(['check'], { TOLLGATE_CONFIG: join(folder, 'none.ts') });
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(/there is no such file; "tollgate init" writes one/),
  ]);
});

it('the settings are listed once each', () => {
  const names = listOptionRows(settingsSchema).map(({ option }) => option);
  expect(new Set(names).size).toBe(names.length);
});
