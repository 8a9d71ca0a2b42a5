/** How the tests are run: from the project's root, patient with a busy machine, and with properties drawn alike each time. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The bare name `tollgate` means the sources and never what was built of them: there would be two cores. The
  // condition `module` is left out: what packages show to bundlers under it, Node cannot always run.
  ssr: { resolve: { conditions: ['tollgate-source', 'node', 'development'] } },
  test: {
    root: join(import.meta.dirname, '..'),
    include: ['test/**/*.test.ts'],
    globalSetup: [join(import.meta.dirname, 'support/postgres-on-demand.ts')],
    setupFiles: [join(import.meta.dirname, 'support/seed.ts')],
    // As many as there are cores, and not one fewer: much of what is tested waits for a disk or a deadline.
    maxWorkers: availableParallelism(),
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
