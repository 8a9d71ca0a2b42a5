import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { checkPeer } from '../../core/cli/self-resolution.ts';
import { makeFolder } from '../support/folder.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
const folder = makeFolder();

/** Imports tollgate as a module of a package would that states this about itself. */
function createPeerCheck(name: string, facts: object, module = 'index.js'): () => void {
  mkdirSync(join(folder, name, 'source'), { recursive: true });
  writeFileSync(join(folder, name, module), '');
  writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ name, ...facts }));
  return () => checkPeer(pathToFileURL(join(folder, name, module)).href);
}

it.each(['*', `^${version}`, `>=${version}`, '0.0.1 - 99', 'file:../tollgate', 'latest'])(
  'the core accepts a package that works with %s',
  (range) => {
    expect(
      createPeerCheck(`fits-${range.replace(/\W/g, '')}`, { peerDependencies: { tollgate: range } }),
    ).not.toThrow();
  },
);

it('the core accepts a package that states no version', () => {
  expect(createPeerCheck('silent', { version: '1.0.0' })).not.toThrow();
  expect(createPeerCheck('busy', { peerDependencies: { vitest: '^1' } })).not.toThrow();
});

it('the core refuses a package made for another version, and names it with both versions', () => {
  expect(createPeerCheck('later', { peerDependencies: { tollgate: '^99.1.0' } })).toThrow(
    `the package "later" works with tollgate ^99.1.0, and this is ${version}`,
  );
});

it('the core identifies a package by any of its modules', () => {
  expect(createPeerCheck('deep', { peerDependencies: { tollgate: '^99' } }, 'source/deep.js')).toThrow(
    '"deep"',
  );
});

it('the core refuses an incompatible package each time it imports tollgate', () => {
  const again = createPeerCheck('stubborn', { peerDependencies: { tollgate: '>=99' } });
  expect(again).toThrow('stubborn');
  expect(again).toThrow('stubborn');
});
