/** Functions are verbs with objects: `readUsage`, not `usageOf` or `taken`. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verbs } from './support/verbs.ts';

const root = join(import.meta.dirname, '..');

const parameters = String.raw`(?:<.+>)?\((?:[^()]|\([^()]*\))*\)`;

/** Functions, constants that hold one, private methods, and members of classes and types. */
const declared = new RegExp(
  [
    /^ *(?:export )?(?:async )?function\*? ([a-z]\w*)/,
    /^ *(?:export )?const ([a-z]\w*) = (?:async )?\((?:[^()]|\([^()]*\))*\)(?:: [^=]+)? =>/,
    /^ {2}(?:static )?(?:async )?\*?#([a-z]\w*)(?:<.*>)?\(.*\{$/,
    new RegExp(`^ +(?:override )?(?:async )?\\*?([a-z]\\w*)\\??${parameters}: .+[;{]$`),
    new RegExp(`^ +readonly ([a-z]\\w*)\\??: \\(*${parameters} =>`),
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
);

/** The entry point, the condition of a tap, and names that another interface chooses. */
const others = new Set('main when callback componentDidCatch next promise rawJSON return'.split(' '));

function listFunctions(text: string): string[] {
  return [...text.matchAll(declared)].map(([, ...names]) => names.find((name) => name !== undefined) ?? '');
}

it('finds functions and members of all forms', () => {
  const text = [
    'export async function readUsage(',
    'const findKey = (a: () => void): string =>',
    '  async #endCall({ id }: Call) {',
    '  listModels(): Model[] {',
    '  suits?(model: Model): boolean;',
    '  preview(',
    '    request: PreviewRequest,',
    '  ): Promise<Preview>;',
    '  readonly getKey?: (row: Row) => string;',
  ].join('\n');
  expect(listFunctions(text).join(' ')).toBe('readUsage findKey endCall listModels suits preview getKey');
});

it('the name of each function and member of core and plugins begins with a verb', () => {
  const wrong = globSync(['core/**/*.ts', 'plugins/**/*.ts'], { cwd: root }).flatMap((path) =>
    listFunctions(readFileSync(join(root, path), 'utf8'))
      .filter((name) => !others.has(name) && !verbs.has(/^[a-z]+/.exec(name)?.[0] ?? ''))
      .map((name) => `${path}: ${name}`),
  );
  expect(wrong).toEqual([]);
});
