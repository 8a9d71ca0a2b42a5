/**
 * Three projects. `unit` is the fast part. `flows` is everything else over sockets, databases and processes.
 * Both keep loaded modules from file to file, because most files take longer to load the gateway than to test
 * it. `apart` holds files that replace Node's own modules, measure, or load a configuration in an environment
 * of their own, and so need their own modules.
 */
import { accessSync, constants, statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import './support/today.js';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const apart = [
  'test/balance/outage.test.ts',
  'test/balance/slow-disk.test.ts',
  'test/examples/sign-in.test.ts',
  'test/flows/allocations.test.ts',
  'test/hostile/growth.test.ts',
  'test/operations/overload.test.ts',
];

const unit = [
  'test/*.test.ts',
  'test/{auth,core,shared}/*.test.ts',
  // The published types run TypeScript over the vendors' SDKs, which takes too long here.
  'test/golden/!(published-types).test.ts',
  'test/{chat-completions,generate-content,images,messages,responses}/*.test.ts',
];

/**
 * `test:oldest` leaves out what says little about an older Node for its time: contracts, sums, and readers of
 * text.
 */
const leftOut =
  Number.parseInt(process.versions.node, 10) < 26
    ? [
        'test/core/{cut-streams,faulty-taps,json*,options,price-rules,reservations}.test.ts',
        'test/core/{retries,scheduled-costs,splice,sse,units,walk-ends,worst-case}.test.ts',
        'test/*/contract.test.ts',
      ]
    : [];

const root = join(import.meta.dirname, '..');

/** Files that wait long, for leases or for minutes. The last to begin would keep the whole run waiting. */
const patient = [
  'notices/flows',
  'notices/processes',
  ...['blocked-process', 'killed-gateways', 'settle-after-reply', 'suspended-process'].map(
    (name) => `balance/${name}`,
  ),
].map((name) => `/test/${name}.test.ts`);

/** Vitest begins with the longest files. Without an earlier run it takes the largest for the longest. */
class PatientFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isPatient = ({ moduleId }: TestSpecification): boolean =>
      patient.some((end) => moduleId.endsWith(end));
    const sorted = await BaseSequencer.prototype.sort.call(this, files);
    return Object.values(Object.groupBy(sorted, ({ project }) => project.name)).flatMap((some = []) => [
      ...some.filter(isPatient),
      ...some.filter((file) => !isPatient(file)),
    ]);
  }
}

/** Linux keeps it in memory. A container's may be too small: one test writes hundreds of megabytes. */
const memory = '/dev/shm';

function hasRoomInMemory(): boolean {
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize > 2 ** 31;
  } catch {
    return false;
  }
}

function buildProject(
  name: string,
  isolate: boolean,
  include: string[],
  exclude: string[] = [],
): TestProjectInlineConfiguration {
  return {
    // The bare name `tollgate` resolves to the sources, never to the build, which would be a second core; the
    // same for Node below. The condition `module` is left out: Node cannot always run what it leads to.
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
        // Only in modules that Node loads, and `apart` is about threads.
        ...(isolate ? [] : [join(import.meta.dirname, 'support/without-threads.ts')]),
      ],
      // Node loads modules 8 % cheaper for the unit tests, but only vitest's own loader can replace them.
      experimental: { viteModuleRunner: isolate, nodeLoader: false },
      // With a large young generation V8 copies less: tests take a tenth less processor time.
      execArgv: ['--conditions=tollgate-source', '--min-semi-space-size=64', '--max-semi-space-size=64'],
      // Only for what hangs: a slow machine may take ten times as long as a usual one.
      testTimeout: 300_000,
      env: {
        // Each gateway starts threads, which would strip and compile the same TypeScript every time.
        NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
        TEST_FOLDER: hasRoomInMemory() ? memory : tmpdir(),
      },
      hookTimeout: 300_000,
      expect: { poll: { timeout: 120_000 } },
    },
  };
}

export default defineConfig({
  test: {
    root,
    globalSetup: [join(import.meta.dirname, 'support/postgres-on-demand.ts')],
    // Four more than cores: most tests of `flows` wait for a process, a browser or a deadline.
    maxWorkers: availableParallelism() + 4,
    sequence: { sequencer: PatientFirst },
    projects: [
      buildProject('apart', true, apart),
      buildProject('unit', false, unit, [...apart, ...leftOut]),
      buildProject('flows', false, ['test/**/*.test.ts'], [...apart, ...unit]),
    ],
    coverage: {
      provider: 'v8',
      include: ['core/**/*.ts', 'plugins/**/*.ts'],
      reporter: ['text-summary', 'html'],
      reportOnFailure: true,
    },
  },
});
