/**
 * What the gateway brings with it when it runs, as the lockfile has it: few packages, none of which runs
 * anything when it is installed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';

const root = join(import.meta.dirname, '../..');
const entrySchema = z.object({
  dev: z.boolean().optional(),
  hasInstallScript: z.boolean().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
});
const { packages } = z
  .object({ packages: z.record(z.string(), entrySchema) })
  .parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
const runtime = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);

it('the runtime tree holds what package.json asks for', () => {
  const requests = Object.keys(packages['']?.dependencies ?? {}).map((name) => `node_modules/${name}`);
  expect(requests.length).toBeGreaterThan(10);
  expect(runtime.map(([path]) => path)).toEqual(expect.arrayContaining(requests));
});

it('the runtime tree has no more packages than the security policy says', () => {
  const policy = readFileSync(join(root, '.github/SECURITY.md'), 'utf8');
  const [, most] = /at most (\d+) packages/.exec(policy) ?? [];
  expect(runtime.length).toBeLessThanOrEqual(Number(most));
});

it('the runtime tree has no install script', () => {
  expect(runtime.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
});
