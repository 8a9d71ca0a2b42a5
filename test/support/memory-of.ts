/** Measures the memory of a gateway in its own process, and whether it grows. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { RunningGateway } from './process.ts';

export const megabyte = 1024 * 1024;

/** Bytes of its process. */
export function readMemory({ child: { pid = 0 } }: RunningGateway): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** Start the measured gateway with these: the port of its debugger is any free one. */
export const askable = { NODE_OPTIONS: '--inspect-port=0' };

export interface Heap {
  /** Collects garbage, in its threads too; returns the bytes that remain in the main one. */
  left(): Promise<number>;
  /** What its main thread holds that is not garbage, as a heap snapshot file. */
  snapshot(): Promise<string>;
  close(): void;
}

const messageSchema = z.object({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z.looseObject({ sessionId: z.string().optional(), chunk: z.string().optional() }).optional(),
  result: z.looseObject({}).optional(),
});
const evaluated = z.object({ result: z.object({ value: z.number() }) });

/** Opens the debugger of a process, and through it those of its threads. */
export async function openHeap(gateway: RunningGateway): Promise<Heap> {
  gateway.child.kill('SIGUSR1');
  let address: string | undefined;
  while ((address = /Debugger listening on (\S+)/.exec(gateway.printed())?.[1]) === undefined)
    await new Promise((resolve) => setTimeout(resolve, 50));
  const socket = new WebSocket(address);
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  const waiting = new Map<number, (result: unknown) => void>();
  /** The callback of each pending request, for its answer or the end. */
  const threads = new Map<string, () => void>();
  let requestCount = 0;
  const chunks: string[] = [];
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params, result } = messageSchema.parse(JSON.parse(String(data)));
    if (params?.chunk !== undefined) chunks.push(params.chunk);
    if (id !== undefined) waiting.get(id)?.(result);
    const thread = params?.sessionId;
    if (thread === undefined) return;
    if (method === 'NodeWorker.attachedToWorker') threads.set(thread, () => undefined);
    else threads.get(thread)?.();
    if (method === 'NodeWorker.detachedFromWorker') threads.delete(thread);
  });
  function ask(method: string, params: object = {}): Promise<unknown> {
    requestCount += 1;
    const id = requestCount;
    socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => void waiting.set(id, resolve));
  }
  const collect = { id: 1, method: 'HeapProfiler.collectGarbage' };
  async function collectIn(sessionId: string): Promise<void> {
    const answered = new Promise<void>((resolve) => void threads.set(sessionId, resolve));
    await ask('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify(collect) });
    await answered;
  }
  await ask('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return {
    async left() {
      await Promise.all([...threads.keys()].map(collectIn));
      await ask(collect.method);
      const answer = await ask('Runtime.evaluate', {
        expression: '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())',
        returnByValue: true,
      });
      return evaluated.parse(answer).result.value;
    },
    async snapshot() {
      chunks.length = 0;
      await ask(collect.method);
      await ask('HeapProfiler.takeHeapSnapshot');
      return chunks.join('');
    },
    close: () => socket.close(),
  };
}

/** By how much the values grow with each unit of their times: the slope of the best fit. */
export function computeSlope(samples: readonly { readonly at: number; readonly value: number }[]): number {
  const computeMean = (pick: (sample: { readonly at: number; readonly value: number }) => number): number =>
    samples.reduce((sum, sample) => sum + pick(sample), 0) / samples.length;
  const at = computeMean((sample) => sample.at);
  const value = computeMean((sample) => sample.value);
  return (
    computeMean((sample) => (sample.at - at) * (sample.value - value)) /
    computeMean((sample) => (sample.at - at) ** 2)
  );
}
