/**
 * What tests of `examples/deploy` share: its files, the instructions of the Dockerfile, and what the gateway
 * reads.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

export const root = join(import.meta.dirname, '../..');
export const folder = join(root, 'examples/deploy');

export function readDeployed(path: string): string {
  return readFileSync(join(folder, path), 'utf8');
}

/** Seconds that the gateway may need after its drain: twice what ends may take. */
export const ends = 12;

const sources =
  globSync('{core,plugins}/**/*.{ts,js}', { cwd: root })
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n') + readFileSync(join(root, 'gateway.config.ts'), 'utf8');

/** The variables of these that nothing in the gateway reads. */
export function findUnread(names: readonly string[]): string[] {
  return names.filter((name) => name !== 'NODE_ENV' && !new RegExp(`\\b${name}\\b`).test(sources));
}

export interface Instruction {
  readonly word: string;
  readonly rest: string;
}

/** The instructions of a Dockerfile by their stages. */
function parseStages(text: string): Instruction[][] {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    if (word === 'FROM') stages.push([]);
    stages.at(-1)?.push({ word, rest });
  }
  return stages;
}

export const stages = parseStages(readDeployed('Dockerfile'));
const final = stages.at(-1) ?? [];

/** What the last instruction of this name in the image says. */
export function findLast(word: string): string {
  return final.findLast((instruction) => instruction.word === word)?.rest ?? '';
}

/** The variables of the image. */
export const environment: Readonly<Record<string, string>> = Object.fromEntries(
  findLast('ENV')
    .split(' ')
    .map((pair) => pair.split('=') as [string, string]),
);

const namesSchema = z.record(z.string(), z.string()).default({});
const lockedSchema = z.object({
  dependencies: namesSchema,
  optionalDependencies: namesSchema,
  peerDependencies: namesSchema,
  peerDependenciesMeta: z.record(z.string(), z.unknown()).default({}),
});

/** Where a package that is needed at a path is in the lock file: in the nearest folder that has it. */
function findLocked(packages: object, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
    const path = join(folder, 'node_modules', name);
    if (path in packages) return path;
    if (folder === '') return undefined;
  }
}

/** The paths of what `npm install --omit=dev` brings for the `package.json` of a folder, by its lock file. */
export function listInstalled(project: string): string[] {
  const readJson = (name: string): unknown => JSON.parse(readFileSync(join(project, name), 'utf8'));
  const { packages } = z
    .object({ packages: z.record(z.string(), lockedSchema) })
    .parse(readJson('package-lock.json'));
  const found = new Set<string>();
  const add = (from: string, names: readonly string[]): void => {
    for (const name of names) {
      const path = findLocked(packages, from, name);
      const locked = path === undefined ? undefined : packages[path];
      if (path === undefined || locked === undefined || found.has(path)) continue;
      found.add(path);
      const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = locked;
      const peers = Object.keys(peerDependencies).filter((peer) => !(peer in peerDependenciesMeta));
      add(path, [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers]);
    }
  };
  add('', Object.keys(lockedSchema.parse(readJson('package.json')).dependencies));
  return [...found].toSorted();
}
