/** What the README shows of plugins is what runs, and what it names is there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pluginInterface } from '../../core/index.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

function section(title: string): string {
  return new RegExp(`^## ${title}$(.*?)^## `, 'ms').exec(readme)?.[1] ?? '';
}

it.each([
  ['examples/provider.ts', /^export const inHouse.*?^\}\);/ms],
  ['test/examples/provider.test.ts', /^testProvider\(.*?^\}\);/ms],
])('the code that is shown stands in %s', (file, shown) => {
  const [code = 'nothing'] = shown.exec(section('Writing a plugin')) ?? [];
  expect(readFileSync(join(root, file), 'utf8')).toContain(code);
});

it('the version of the plugin interface is the one that runs', () => {
  expect(section('Writing a plugin')).toContain(`which is ${pluginInterface} now`);
  expect(section('Writing a plugin')).toContain(`interface: ${pluginInterface}, apply`);
});

it.each(['Writing a plugin', 'Reading tour'])('each path that "%s" names is there', (title) => {
  const paths = [...section(title).matchAll(/`((?:core|plugins|test|examples)\/[\w./-]*)`/g)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(5);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
