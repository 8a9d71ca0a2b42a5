/**
 * The names that the package has its parts under, for others and, by the condition, for the project's own
 * sources.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';

const root = join(import.meta.dirname, '../..');
const packageSchema = z.object({
  exports: z.record(z.string(), z.strictObject({ 'tollgate-source': z.string(), default: z.string() })),
});
const { exports } = packageSchema.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));

it.each(globSync('plugins/**/index.ts', { cwd: root }))('%s has the name of its folder', (file) => {
  expect(exports[`./${dirname(file)}`]).toEqual({
    'tollgate-source': `./${file}`,
    default: `./dist/${file.replace(/\.ts$/, '.js')}`,
  });
});

it('every name means a source, and what is built of it', () => {
  for (const [name, { 'tollgate-source': source, default: built }] of Object.entries(exports)) {
    if (!name.includes('*')) expect(existsSync(join(root, source)), source).toBe(true);
    expect(built, name).toBe(`./dist/${source.slice(2).replace(/\.ts$/, '.js')}`);
  }
});
