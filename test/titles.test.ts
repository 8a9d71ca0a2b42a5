/** The title of each test says what it claims, in a sentence of three words or more. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** Where a title stands: behind `it(`, or behind the table of `it.each`. */
const title =
  /(?:\b(?:it|test)(?:\.\w+)*\(|^ *(?:it|test)\..*\)\(|^ *\](?: as const)?\)\()\n? *(['"`])(.+?)\1,/gm;

function listTitles(text: string): string[] {
  return [...text.matchAll(title)].map(([, , words = '']) => words);
}

it('the titles of tests are found behind `it` and behind tables', () => {
  const text = [
    "it('an order is paid once', () => {",
    'it.runIf(onLinux)("a file is read", () => {',
    "it.each(['a', 'b'])('the key %s is refused', (key) => {",
    '  ] as const)(',
    "    'a form %s is refused',",
    '    (form) => {',
  ].join('\n');
  expect(listTitles(text)).toEqual([
    'an order is paid once',
    'a file is read',
    'the key %s is refused',
    'a form %s is refused',
  ]);
});

it('each test has a title of at least three words', () => {
  const found = globSync(['test/**/*.test.ts', 'test/**/*.fault.ts', 'test/contract/*.ts'], { cwd: root })
    .filter((path) => path !== 'test/titles.test.ts')
    .flatMap((path) => listTitles(readFileSync(join(root, path), 'utf8')).map((words) => ({ path, words })));
  expect(found.length).toBeGreaterThan(2500);
  expect(found.filter(({ words }) => words.split(' ').length < 3)).toEqual([]);
});
