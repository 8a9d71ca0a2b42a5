/** The READMEs of the project: one at the top, one in each folder that needs it. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Paths from the project's root. */
export const readmes = globSync(['README.md', '{core,plugins,examples,test}/**/README.md'], {
  cwd: root,
}).toSorted();

export function readReadme(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** The text of all of them, for tests that look for a table or a command in any of them. */
export const allReadmes = readmes.map((path) => readReadme(path)).join('\n');
