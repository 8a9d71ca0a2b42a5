/** What a gateway that runs by itself has in memory, and whether it grows. */
import { readFileSync } from 'node:fs';
import type { RunningGateway } from './process.ts';

export const megabyte = 1024 * 1024;

/** Bytes of its process. */
export function memoryOf({ child: { pid = 0 } }: RunningGateway): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** To be given to the gateway that is to be asked for its heap: the port of its debugger is any free one. */
export const askable = { NODE_OPTIONS: '--inspect-port=0' };

/** Opens the debugger of a process. The answer collects what is garbage, and gives the bytes that are left. */
export async function openHeap(gateway: RunningGateway): Promise<{ left(): Promise<number>; close(): void }> {
  gateway.child.kill('SIGUSR1');
  let address: string | undefined;
  while ((address = /Debugger listening on (\S+)/.exec(gateway.printed())?.[1]) === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
  const socket = new WebSocket(address);
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  let asked = 0;
  function ask(method: string, params: object = {}): Promise<string> {
    asked += 1;
    const id = asked;
    const answered = new Promise<string>((resolve) => {
      const listen = ({ data }: MessageEvent): void => {
        if (!String(data).startsWith(`{"id":${id},`)) return;
        socket.removeEventListener('message', listen);
        resolve(String(data));
      };
      socket.addEventListener('message', listen);
    });
    socket.send(JSON.stringify({ id, method, params }));
    return answered;
  }
  return {
    async left() {
      await ask('HeapProfiler.collectGarbage');
      const told = await ask('Runtime.evaluate', { expression: '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())', returnByValue: true });
      return Number(/"value":(\d+)/.exec(told)?.[1]);
    },
    close: () => socket.close(),
  };
}

/** By how much the values grow with each unit of their times: the line that fits them best. */
export function slopeOf(samples: readonly { readonly at: number; readonly value: number }[]): number {
  const middle = (pick: (sample: { readonly at: number; readonly value: number }) => number): number => samples.reduce((sum, sample) => sum + pick(sample), 0) / samples.length;
  const at = middle((sample) => sample.at);
  const value = middle((sample) => sample.value);
  return middle((sample) => (sample.at - at) * (sample.value - value)) / middle((sample) => (sample.at - at) ** 2);
}
