/**
 * Reads the sources and holds the project's rules: who imports what, how long a file may be, how files are
 * named.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  /** Modules this file names, also those it imports only types from. */
  readonly imports: readonly string[];
  /** Modules Node loads with this file. */
  readonly loads: readonly string[];
}

/** Groups: `type`, what is imported, from where; or a dynamic import; or an import for its effects. */
const importPattern = new RegExp(
  [
    /(?:^|\n)\s*(?:import|export)\s+(type\s)?([^;']*?)\sfrom\s+'([^']+)'/,
    /import\(\s*'([^']+)'\s*\)/,
    /(?:^|\n)import\s+'([^']+)'/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

function isTypeOnly(names: string): boolean {
  const inBraces = /^\{([^}]*)\}$/.exec(names.trim())?.[1];
  return inBraces?.split(',').every((name) => /^\s*(type\s|$)/.test(name)) ?? false;
}

function read(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  const imports: string[] = [];
  const loads: string[] = [];
  for (const [, type, names = '', from, dynamic, effects] of text.matchAll(importPattern)) {
    imports.push(from ?? dynamic ?? effects ?? '');
    const isStatic = dynamic === undefined && type === undefined && !isTypeOnly(names);
    if (isStatic) loads.push(from ?? effects ?? '');
  }
  return { path, text, lines: text.trimEnd().split('\n').length, imports, loads };
}

const core = globSync('core/**/*.ts', { cwd: root }).map(read);
const plugins = globSync('plugins/**/*.ts', { cwd: root }).map(read);
const sources = [...core, ...plugins];
const byPath = new Map(sources.map((source) => [source.path, source]));

/** A relative import as a path from the root. */
function resolve(from: string, specifier: string): string {
  return normalize(join(dirname(from), specifier));
}

function resolveImports({ path, imports }: Source): string[] {
  return imports.filter((name) => name.startsWith('.')).map((name) => resolve(path, name));
}

function findImporters(of: string): string[] {
  return sources
    .filter(({ imports }) => imports.some((name) => name === of || name.startsWith(`${of}/`)))
    .map(({ path }) => path);
}

/** A path through the imports that comes back to a file it has passed; undefined if there is none. */
function findCycle(): string[] | undefined {
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const name of byPath.get(path)?.loads ?? []) {
      const cycle = name.startsWith('.') ? visit(resolve(path, name), [...trail, path]) : undefined;
      if (cycle) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const { path } of sources) {
    const cycle = visit(path, []);
    if (cycle) return cycle;
  }
  return undefined;
}

/** The layers of core from below, as `core/README.md` lists them. */
const layers: readonly (readonly string[])[] = [
  ['util/'],
  ['canonical/'],
  [
    'catalog',
    'define-plugin',
    'exchange',
    'hooks',
    'loss',
    'model-facts',
    'notices',
    'operations',
    'plugin',
    'price',
    'price-schedule',
    'price-terms',
    'protocol',
    'provider',
    'tally',
  ],
  ['billing/', 'crossing/', 'host/', 'http/', 'upstream/'],
  [
    'attempt',
    'config',
    'core',
    'delivery',
    'dispatch',
    'gateway',
    'lanes',
    'not-found',
    'pipeline',
    'rehearsal',
    'server',
    'take-call',
    'upgrades',
  ],
  ['index', 'for-threads'],
  ['cli/'],
];

/** The number of a file's layer. Throws for a file of none. */
function getLayer(path: string): number {
  const own = path.replace(/^core\//, '');
  const layer = layers.findIndex((names) =>
    names.some((name) => (name.endsWith('/') ? own.startsWith(name) : own === `${name}.ts`)),
  );
  if (layer < 0) throw new Error(`${path} belongs to no layer: core/README.md lists them`);
  return layer;
}

/** Groups of names that reach each other. */
function listCircles(edges: readonly (readonly [name: string, to: readonly string[]])[]): string[][] {
  const direct = new Map(edges);
  const reach = new Map(
    edges.map(([name]) => {
      const reached = new Set<string>();
      const waiting = [...(direct.get(name) ?? [])];
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (reached.has(next)) continue;
        reached.add(next);
        waiting.push(...(direct.get(next) ?? []));
      }
      return [name, reached] as const;
    }),
  );
  const circles = new Map<string, string[]>();
  for (const [name, reached] of reach) {
    if (!reached.has(name)) continue;
    const circle = [...reached].filter((other) => reach.get(other)?.has(name)).toSorted();
    circles.set(circle.join(' '), circle);
  }
  return [...circles.values()];
}

describe('the test reads the sources', () => {
  it('finds files and their imports', () => {
    expect(core.length).toBeGreaterThan(60);
    expect(plugins.length).toBeGreaterThan(200);
    expect(byPath.get('core/server.ts')?.loads).toContain('./take-call.ts');
  });

  it('tells imports of types from those that load a module', () => {
    expect(['{ type A, type B }', '{ a, type B }', '* as all'].map(isTypeOnly)).toEqual([true, false, false]);
  });
});

describe('boundaries', () => {
  it.each([
    ['koa', ['core/config.ts', 'core/server.ts']],
    ['@koa/router', ['core/not-found.ts', 'core/server.ts']],
    ['http-proxy-3', ['core/dispatch.ts']],
    ['tapable', ['core/hooks.ts']],
    ['eventsource-parser', ['core/crossing/sse.ts']],
    ['commander', ['core/cli/command-line.ts']],
    [
      'ws',
      ['plugins/protocols/responses/web-sockets.ts', 'plugins/protocols/responses/web-sockets/connection.ts'],
    ],
    ['koa-body', ['core/http/answer-route.ts', 'plugins/shared/forms.ts']],
  ])('only the owners of %s import it', (name, owners) => {
    expect(findImporters(name)).toEqual(owners);
  });

  it('core imports no plugin', () => {
    const wrong = core.flatMap((source) =>
      resolveImports(source)
        .filter((path) => !path.startsWith('core/'))
        .map((path) => `${source.path} imports ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('a plugin imports core/index.ts or core/for-threads.ts, its own folder and plugins/shared only', () => {
    const open = ['core/index.ts', 'core/for-threads.ts'];
    const wrong = plugins.flatMap((source) => {
      const [top, kind, name = ''] = source.path.split('/');
      const own = `${top}/${kind}/${name.endsWith('.ts') ? name.replace(/\.ts$/, '') : name}/`;
      return resolveImports(source)
        .filter(
          (path) => !open.includes(path) && !path.startsWith('plugins/shared/') && !path.startsWith(own),
        )
        .map((path) => `${source.path} imports ${path}`);
    });
    expect(wrong).toEqual([]);
  });

  it('core and plugins have no import cycle at run time', () => {
    expect(findCycle()).toBeUndefined();
  });

  it('a file of core imports, types included, from its own layer or a lower one', () => {
    const wrong = core.flatMap((source) =>
      resolveImports(source)
        .filter((path) => getLayer(path) > getLayer(source.path))
        .map((path) => `${source.path} imports ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('no folders of core import each other in a circle, and no more than three files of one do', () => {
    const files = core.map((source) => [source.path, resolveImports(source)] as const);
    const folders = Map.groupBy(files, ([path]) => dirname(path));
    const between = [...folders].map(
      ([folder, members]) =>
        [
          folder,
          members
            .flatMap(([, paths]) => paths.map((path) => dirname(path)))
            .filter((each) => each !== folder),
        ] as const,
    );
    // The root holds two layers and the entry points, which the test above keeps in order.
    const placed = between.filter(([folder]) => folder !== 'core');
    expect(listCircles(placed)).toEqual([]);
    expect(listCircles(files).filter((circle) => circle.length > 3)).toEqual([]);
  });

  it('core names no vendor outside comments', () => {
    const vendors = /\b(openai|anthropic|deepseek|mistral|groq|xai|gemini|ollama)\b/i;
    const named = core.flatMap(({ path, text }) => {
      const [name] = vendors.exec(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')) ?? [];
      return name === undefined ? [] : [`${path} names ${name}`];
    });
    expect(named).toEqual([]);
  });

  it('what serves every wire names no vendor, and no client', () => {
    const names =
      /\b(openai|anthropic(?!-version)|claude|google|gemini|mistral|minimax|groq|xai|deepseek|codex)\b/i;
    const named = plugins.flatMap(({ path, text }) => {
      const [name] = (path.startsWith('plugins/shared/wire-kit/') && names.exec(text)) || [];
      return name === undefined ? [] : [`${path} names ${name}`];
    });
    expect(named).toEqual([]);
  });

  it.each(['sqlite/worker.ts', 'sqlite/auditing.ts', 'export/lines.ts'])(
    "%s, which the ledger's threads load, loads no package",
    (file) => {
      const loaded = new Set([`plugins/meters/balance/${file}`]);
      for (const path of loaded)
        for (const name of byPath.get(path)?.loads ?? [])
          loaded.add(name.startsWith('.') ? resolve(path, name) : name);
      expect(loaded).toContain('plugins/meters/balance/rows.ts');
      expect([...loaded].filter((name) => !name.startsWith('node:') && !name.endsWith('.ts'))).toEqual([]);
    },
  );

  it('lists of any length are never spread into the arguments of a call, which V8 limits', () => {
    const spread = /\.(?:push|unshift|splice|concat|min|max)\((?:[^{[()]*,\s*)?\.\.\./;
    expect([
      spread.test('all.push(...more)'),
      spread.test('all.splice(at + 1, 0, ...more)'),
      spread.test('all.push({ ...one })'),
    ]).toEqual([true, true, false]);
    const found = plugins.filter(
      ({ path, text }) => /^plugins\/(protocols|shared)\//.test(path) && spread.test(text),
    );
    expect(found.map(({ path }) => path)).toEqual([]);
  });
});

/** Formatted lines that a file may have. */
function getLineLimit(path: string): number {
  if (/^plugins\/auth\/[^/]+$/.test(path)) return 60;
  if (/^plugins\/providers\/(?!demo)[^/]+\.ts$/.test(path)) return 40;
  return 500;
}

describe('sizes', () => {
  it('no file of core or plugins is longer than its limit', () => {
    const long = sources.filter(({ path, lines }) => lines > getLineLimit(path));
    expect(long.map(({ path, lines }) => `${path}: ${lines} of ${getLineLimit(path)}`)).toEqual([]);
  });

  it('no line of core, plugins, examples or tests is longer than 110 columns', () => {
    const others = globSync(['examples/**/*.ts', 'test/**/*.ts', 'gateway.config.ts'], { cwd: root });
    const wide = [...sources, ...others.map(read)]
      .flatMap(({ path, text }) =>
        text.split('\n').map((line, index) => ({ at: `${path}:${index + 1}`, columns: [...line].length })),
      )
      .filter(({ columns }) => columns > 110);
    expect(wide.map(({ at }) => at)).toEqual([]);
  });

  it('the files that the README of core lists for the first afternoon have under 3,400 lines', () => {
    const [, listed = ''] =
      /^## Reading order\n([^]*?)\nThe second day/m.exec(read('core/README.md').text) ?? [];
    const files = [...listed.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path = '']) => read(path));
    expect(files.length).toBeGreaterThan(10);
    expect(files.reduce((sum, { lines }) => sum + lines, 0)).toBeLessThan(3400);
  });

  it('the README at the top has at most 9 kB', () => {
    expect(readFileSync(join(root, 'README.md')).length).toBeLessThanOrEqual(9000);
  });
});

describe('names', () => {
  it('a file never repeats its folder, but for the type of the core', () => {
    const repeated = sources.filter(({ path }) => basename(path, '.ts') === basename(dirname(path)));
    expect(repeated.map(({ path }) => path)).toEqual(['core/core.ts']);
  });

  it('a file of core or plugins opens with a comment', () => {
    const bare = sources.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text));
    expect(bare.map(({ path }) => path)).toEqual([]);
  });

  it('the top level holds these names only', () => {
    const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
      encoding: 'utf8',
    });
    const top = new Set(listed.split('\n').flatMap((path) => path.split('/')[0] || []));
    expect([...top].filter((name) => !name.startsWith('.')).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'core',
      'examples',
      'gateway.config.ts',
      'package-lock.json',
      'package.json',
      'plugins',
      'test',
      'tsconfig.json',
    ]);
  });
});

describe('tests', () => {
  const tests = globSync('test/**/*.ts', { cwd: root })
    .filter((path) => path !== 'test/architecture.test.ts')
    .map(read);

  it('only `available` skips a test, and it refuses to skip in CI', () => {
    const skips = tests.flatMap(({ path, text }) =>
      [
        ...text.matchAll(/\.(?:runIf|skipIf)\((\w+)|\b(?:it|test|describe|context)\.(?:skip|todo|only)\b/g),
      ].map(([found, condition = '']) => ({ path, found, condition })),
    );
    expect(skips.length).toBeGreaterThan(3);
    expect(skips.filter(({ condition }) => !/^(onLinux|hasBrowser)$/.test(condition))).toEqual([]);
    const browser = tests.find(({ path }) => path === 'test/support/browser.ts');
    expect(browser?.text).toContain('const hasBrowser = checkAvailable(');
  });

  it('no test compares a time it measured', () => {
    const timed = tests
      .filter(({ path }) => path.endsWith('.test.ts'))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/expect\([^\n]*(?:performance|Date)\.now\(\)[^\n]*\.toBeLess/g)].map(
          ([found]) => `${path}: ${found}`,
        ),
      );
    expect(timed).toEqual([]);
  });
});
