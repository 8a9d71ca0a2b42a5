/** Reads the sources and holds the boundaries the design draws: who may import what, and how long a file may be. */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly imports: readonly string[];
}

function read(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  const imports = [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g,
    ),
  ];
  return {
    path,
    text,
    lines: text.trimEnd().split('\n').length,
    imports: imports.flatMap(([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? []),
  };
}

const core = globSync('core/**/*.ts', { cwd: root }).map(read);
const plugins = globSync('plugins/**/*.ts', { cwd: root }).map(read);

/** A relative import as a path from the root. */
function target(source: Source, specifier: string): string {
  return normalize(join(dirname(source.path), specifier));
}

function importers(of: string): string[] {
  return [...core, ...plugins]
    .filter(({ imports }) => imports.some((name) => name === of || name.startsWith(`${of}/`)))
    .map(({ path }) => path);
}

describe('boundaries', () => {
  it('found the sources', () => {
    expect(core.length).toBeGreaterThan(20);
    expect(plugins.length).toBeGreaterThan(15);
    expect(read('core/server.ts').imports).toContain('./pipeline.ts');
  });

  it.each([
    ['koa', 'core/server.ts'],
    ['@koa/router', 'core/server.ts'],
    ['http-proxy-3', 'core/dispatch.ts'],
    ['tapable', 'core/hooks.ts'],
    ['eventsource-parser', 'core/crossing/sse.ts'],
    ['commander', 'core/process/command-line.ts'],
  ])('%s is imported by %s alone', (name, owner) => {
    expect(importers(name)).toEqual([owner]);
  });

  it('koa-body is imported by what reads the bodies of routes and uploads', () => {
    expect(importers('koa-body')).toEqual(['core/http/route-request.ts', 'core/http/uploads.ts']);
  });

  it('undici is imported by the dispatcher and its transport alone', () => {
    expect(importers('undici')).toEqual([
      'core/dispatch.ts',
      'core/upstream/transport.ts',
      'core/upstream/undici-agent.d.ts',
    ]);
  });

  it('core never imports a plugin', () => {
    for (const source of core) {
      for (const specifier of source.imports.filter((name) => name.startsWith('.'))) {
        expect(target(source, specifier), source.path).toMatch(/^core\//);
      }
    }
  });

  it('a plugin imports the core index, its own folder and the shared folder only', () => {
    for (const source of plugins) {
      const own = source.path.split('/').slice(0, 3).join('/').replace(/\.ts$/, '');
      for (const specifier of source.imports.filter((name) => name.startsWith('.'))) {
        const path = target(source, specifier);
        const allowed =
          path === 'core/index.ts' ||
          path.startsWith('plugins/shared/') ||
          path.startsWith(own) ||
          dirname(path) === dirname(source.path);
        const sibling = dirname(path) === dirname(source.path) && source.path.split('/').length === 3;
        expect(
          allowed && !(sibling && path.endsWith('.ts') && !path.startsWith('plugins/shared/')),
          `${source.path} imports ${path}`,
        ).toBe(true);
      }
    }
  });

  it('no vendor is named in core', () => {
    const vendors = /\b(openai|anthropic|deepseek|mistral|groq|xai|gemini|ollama)\b/i;
    for (const { path, text } of core) {
      const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      expect(vendors.exec(code)?.[0], path).toBeUndefined();
    }
  });

  it('the top level holds what the design card names', () => {
    const here = globSync('*', { cwd: root }).filter(
      (name) => !['node_modules', 'data', 'dist'].includes(name),
    );
    expect(here.toSorted()).toEqual([
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

describe('lists that clients and vendors send', () => {
  const spread = /\.(?:push|unshift|splice|concat|min|max)\((?:[^{[()]*,\s*)?\.\.\./;

  it('are never spread into the arguments of a call, of which there can only be so many', () => {
    expect([
      spread.test('all.push(...more)'),
      spread.test('all.splice(at + 1, 0, ...more)'),
      spread.test('all.push({ ...one })'),
    ]).toEqual([true, true, false]);
    for (const { path, text } of plugins)
      if (/^plugins\/(protocols|shared)\//.test(path)) expect(spread.exec(text)?.[0], path).toBeUndefined();
  });
});

describe('sizes', () => {
  it.each(core.map(({ path, lines }) => [path, lines]))('%s is under 300 lines (%i)', (_, lines) => {
    expect(lines).toBeLessThan(300);
  });

  it.each(plugins.map(({ path, lines }) => [path, lines]))('%s is under 400 lines (%i)', (_, lines) => {
    expect(lines).toBeLessThan(400);
  });

  const budgets: [path: string, budget: number][] = [
    ['core/pipeline.ts', 200],
    ...globSync('plugins/auth/*.ts', { cwd: root }).map((path): [string, number] => [path, 60]),
    ...globSync('plugins/providers/*.ts', { cwd: root, exclude: ['plugins/providers/demo.ts'] }).map(
      (path): [string, number] => [path, 30],
    ),
    ...globSync('plugins/protocols/*/{encode,decode}-*.ts', { cwd: root }).map((path): [string, number] => [
      path,
      300,
    ]),
  ];

  it.each(budgets)('%s keeps its budget of %i lines', (path, budget) => {
    expect(read(path).lines).toBeLessThanOrEqual(budget);
  });
});

describe('names', () => {
  it('a file never repeats its folder', () => {
    for (const { path } of [...core, ...plugins]) {
      expect(basename(path, '.ts'), path).not.toBe(basename(dirname(path)));
    }
  });

  it('a file that holds an idea opens with it', () => {
    for (const { path, text } of [...core, ...plugins]) {
      expect(
        text.startsWith('/**') || text.startsWith('#!/usr/bin/env node\n/**'),
        `${path} (${relative(root, path)})`,
      ).toBe(true);
    }
  });
});

/** All that comes with a module when it is loaded: files by their paths, packages and Node's own by their names. */
function loadedWith(path: string, known = new Set<string>()): Set<string> {
  known.add(path);
  const { text } = read(path);
  for (const [, from, bare] of text.matchAll(
    /(?:^|\n)(?:import|export)\s(?!type\s)[^;]*?from\s+'([^']+)'|(?:^|\n)import\s+'([^']+)'/g,
  )) {
    const specifier = from ?? bare ?? '';
    if (!specifier.startsWith('.')) known.add(specifier);
    else if (!known.has(normalize(join(dirname(path), specifier))))
      loadedWith(normalize(join(dirname(path), specifier)), known);
  }
  return known;
}

function packagesOf(path: string): string[] {
  return [...loadedWith(path)].filter((name) => !name.startsWith('node:') && !name.endsWith('.ts'));
}

describe('what is loaded', () => {
  it('the thread that writes the ledger loads no package', () => {
    expect(loadedWith('plugins/meters/balance/sqlite/worker.ts')).toContain(
      'plugins/meters/balance/records.ts',
    );
    expect(packagesOf('plugins/meters/balance/sqlite/worker.ts')).toEqual([]);
  });
});

describe('tests', () => {
  const tests = globSync('test/**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('architecture.test.ts'))
    .map(read);

  it('are skipped only by `available`, which refuses to skip in CI', () => {
    const skips = tests.flatMap(({ path, text }) =>
      [
        ...text.matchAll(/\.(?:runIf|skipIf)\((\w+)|\b(?:it|test|describe|context)\.(?:skip|todo|only)\b/g),
      ].map(([found, condition]) => ({ path, found, condition })),
    );
    expect(skips.length).toBeGreaterThan(3);
    for (const { path, found, condition } of skips) {
      expect([path, found, condition]).toEqual([
        path,
        found,
        expect.stringMatching(/^(onLinux|hasBrowser)$/),
      ]);
    }
    expect(tests.find(({ path }) => path === 'test/operations/viewer.test.ts')?.text).toContain(
      'const hasBrowser = available(',
    );
  });

  it('hold nothing against a clock: how fast a machine is decides no test', () => {
    const timed = tests
      .filter(({ path }) => path.endsWith('.test.ts'))
      .flatMap(({ path, text }) => {
        return [...text.matchAll(/expect\([^\n]*(?:performance|Date)\.now\(\)[^\n]*\.toBeLess/g)].map(
          ([found]) => `${path}: ${found}`,
        );
      });
    expect(timed).toEqual([]);
  });
});
