/** What the files for deployment say. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../core/cli/load-config.ts';
import type { Config } from '../../core/config.ts';

export const root = join(import.meta.dirname, '../..');
export const folder = join(root, 'examples/deploy');
export const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
let config: Config;

/** Seconds that the gateway may need from the signal to its end: its drain, and twice what ends may take. */
const ends = 12;
export const computeStopTime = (): number => config.server.drain / 1000 + ends;

const sources =
  globSync('{core,plugins}/**/*.{ts,js}', { cwd: root })
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n') + readFileSync(join(root, 'gateway.config.ts'), 'utf8');

/** The variables of these that nothing in the gateway reads. */
export function findUnread(names: readonly string[]): string[] {
  return names.filter((name) => name !== 'NODE_ENV' && !new RegExp(`\\b${name}\\b`).test(sources));
}

interface Instruction {
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

export const stages = parseStages(read('Dockerfile'));
const final = stages.at(-1) ?? [];

export const findLast = (word: string): string =>
  final.findLast((instruction) => instruction.word === word)?.rest ?? '';

export const variables = z.record(z.string(), z.string());

export function openDeployment(): void {
  beforeAll(async () => {
    config = await loadConfig(join(root, 'gateway.config.ts'));
  });
}
