/** The READMEs show code that runs, name files that exist, link to each other and stay short. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { pluginInterface } from '../../core/index.ts';
import { allReadmes, readReadme, readmes } from '../support/readmes.ts';

const root = join(import.meta.dirname, '../..');
const plugins = readReadme('plugins/README.md');

it.each([
  ['examples/provider.ts', /^export const inHouse.*?^\}\);/ms],
  ['test/examples/provider.test.ts', /^testProvider\(.*?^\}\);/ms],
])('the code that the README shows is in %s', (file, shown) => {
  const [code = 'nothing'] = shown.exec(plugins) ?? [];
  expect(readFileSync(join(root, file), 'utf8')).toContain(code);
});

it('the version of the plugin interface is the one that runs', () => {
  const versions = readFileSync(join(root, 'plugins/versions.md'), 'utf8');
  for (const text of [plugins, versions]) expect(text).toContain(`which is ${pluginInterface} now`);
  expect(plugins).toContain(`interface: ${pluginInterface}, apply`);
});

it('every path that a README names exists', () => {
  const paths = [...allReadmes.matchAll(/`((?:core|plugins|test|examples)\/[\w./-]*)`/g)].map(
    ([, path = '']) => path,
  );
  expect(paths.length).toBeGreaterThan(15);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it.each(readmes)('every relative link in %s leads to a file and a heading', (path) => {
  const listAnchors = (text: string): string[] =>
    [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    );
  for (const [, link = ''] of readReadme(path).matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
    const [file = '', anchor] = link.split('#');
    const target = join(dirname(path), file);
    expect(existsSync(join(root, target)), `${path} links to ${link}`).toBe(true);
    if (anchor !== undefined)
      expect(listAnchors(readReadme(target)), `${path} links to ${link}`).toContain(anchor);
  }
});
