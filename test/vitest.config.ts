/** How the tests are run: from the project's root, patient with a busy machine, and with properties drawn alike each time. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** Files that replace modules of Node's, which others have loaded as they are. */
const apart = [
  'test/core/full-disk.test.ts',
  'test/core/full-disk.test.ts',
  'test/hostile/growth.test.ts',
  'test/balance/outage.test.ts',
  'test/balance/slow-disk.test.ts',
  'test/operations/overload.test.ts',
];

const root = join(import.meta.dirname, '..');

function project(
  name: string,
  isolate: boolean,
  include: string[],
  exclude: string[] = [],
): TestProjectInlineConfiguration {
  return {
    // The bare name `tollgate` means the sources and never what was built of them: there would be two cores. The
    // condition `module` is left out: what packages show to bundlers under it, Node cannot always run.
    ssr: { resolve: { conditions: ['tollgate-source', 'node', 'development'] } },
    test: {
      name,
      isolate,
      include,
      exclude,
      root,
      setupFiles: [
        join(import.meta.dirname, 'support/seed.ts'),
        join(import.meta.dirname, 'support/undo.ts'),
      ],
      // They end what hangs. A slow machine may take ten times as long as a usual one.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 120_000 } },
    },
  };
}

export default defineConfig({
  test: {
    root,
    globalSetup: [join(import.meta.dirname, 'support/postgres-on-demand.ts')],
    // As many as there are cores, and not one fewer: much of what is tested waits for a disk or a deadline.
    maxWorkers: availableParallelism(),
    // Most files take longer to load the gateway than to test it: it is loaded once for all that leave it as it is.
    projects: [project('apart', true, apart), project('together', false, ['test/**/*.test.ts'], apart)],
  },
});
