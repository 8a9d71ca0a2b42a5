/** Functions are verbs with objects: `readUsage`, not `usageOf` or `taken`. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verbs } from './support/verbs.ts';

const root = join(import.meta.dirname, '..');

/** Functions, constants that hold one, and private methods. An interface may choose the name of others. */
const declared = new RegExp(
  [
    /^ *(?:export )?(?:async )?function\*? ([a-z]\w*)/,
    /^ *(?:export )?const ([a-z]\w*) = (?:async )?\((?:[^()]|\([^()]*\))*\)(?:: [^=]+)? =>/,
    /^ {2}(?:static )?(?:async )?\*?#([a-z]\w*)(?:<.*>)?\(.*\{$/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
);

/** The entry point, an iterator's method, and an operation of the stores. */
const others = new Set(['main', 'next', 'lastEntry']);

function listFunctions(text: string): string[] {
  return [...text.matchAll(declared)].map(([, ...names]) => names.find((name) => name !== undefined) ?? '');
}

it('finds functions of all three forms', () => {
  const text = [
    'export async function readUsage(',
    'const findKey = (a: () => void): string =>',
    '  async #endCall({ id }: Call) {',
  ].join('\n');
  expect(listFunctions(text)).toEqual(['readUsage', 'findKey', 'endCall']);
});

it('the name of each function of core and plugins begins with a verb', () => {
  const wrong = globSync(['core/**/*.ts', 'plugins/**/*.ts'], { cwd: root }).flatMap((path) =>
    listFunctions(readFileSync(join(root, path), 'utf8'))
      .filter((name) => !others.has(name) && !verbs.has(/^[a-z]+/.exec(name)?.[0] ?? ''))
      .map((name) => `${path}: ${name}`),
  );
  expect(wrong).toEqual([]);
});
