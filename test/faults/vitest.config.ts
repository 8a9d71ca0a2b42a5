/** Runs the long tests one file after the other, with the timeout each of them sets. */
import { join } from 'node:path';
import '../support/today.js';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/faults/**/*.fault.ts'],
    globalSetup: [join(import.meta.dirname, '../support/postgres-on-demand.ts')],
    setupFiles: ['seed', 'undo'].map((name) => join(import.meta.dirname, `../support/${name}.ts`)),
    env: { HISTORIES: process.env.HISTORIES ?? '20000', MUTATIONS: process.env.MUTATIONS ?? '50000' },
    fileParallelism: false,
    testTimeout: 30 * 60_000,
    hookTimeout: 60_000,
  },
});
