/** Starts processes whose work is counted from outside, and counts it call by call. */
import { fork } from 'node:child_process';
import { on } from 'node:events';
import { join } from 'node:path';
import { z } from 'zod';
import type { Call } from './payload.ts';
import { makeCalls } from './world.ts';

const openedSchema = z.object({ port: z.int(), key: z.string(), folder: z.string() });
const idleSchema = z.object({ heap: z.number() });
const countersSchema = z.object({ time: z.number(), all: z.number(), bytes: z.number() });

/** What one call costs: microseconds of the main thread and of all threads, and bytes allocated. */
export type Work = z.output<typeof countersSchema>;

export interface Measured {
  /** The folder of its ledger. */
  readonly folder: string;
  /** Makes so many calls, and answers what one of them cost. */
  work(call: Call, calls: number, connections?: number): Promise<Work>;
  /** Bytes of live objects on its heap. */
  idle(): Promise<number>;
  stop(): void;
}

/**
 * V8 optimizes what runs often after a tenth of the usual calls, and never beside them: the number of calls
 * until all is optimized then depends on no other thread, and 2,000 are enough instead of 15,000.
 */
export const optimizing: readonly string[] = [
  '--no-concurrent-recompilation',
  '--invocation-count-for-maglev=40',
  '--invocation-count-for-turbofan=200',
  '--minimum-invocations-after-ic-update=20',
];

/** `project` is the checkout that is measured. */
export async function startMeasured(
  layer: string,
  vendor: string,
  execArgv: readonly string[] = [],
  project = join(import.meta.dirname, '../..'),
): Promise<Measured> {
  const program = join(project, 'test/bench/layered.ts');
  const child = fork(program, [layer, vendor], { cwd: project, execArgv: [...execArgv] });
  const answers = on(child, 'message', { close: ['exit'] });
  const readAnswer = async (): Promise<unknown> => {
    const { value, done } = await answers.next();
    if (done) throw new Error(`the layer ${layer} ended`);
    const [message]: unknown[] = value;
    return message;
  };
  const opened = openedSchema.parse(await readAnswer());
  const readCounters = async (): Promise<Work> => {
    child.send('count');
    return countersSchema.parse(await readAnswer());
  };
  return {
    folder: opened.folder,
    async work(call, count, connections = call.stepwise ? 1 : 32) {
      const before = await readCounters();
      await makeCalls(call, { ...opened, connections, calls: count });
      const after = await readCounters();
      return {
        time: (after.time - before.time) / count,
        all: (after.all - before.all) / count,
        bytes: (after.bytes - before.bytes) / count,
      };
    },
    async idle() {
      child.send('idle');
      return idleSchema.parse(await readAnswer()).heap;
    },
    stop: () => void child.kill(),
  };
}
