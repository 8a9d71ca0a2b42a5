/** Looks at the worker processes of a gateway by Linux's files about them. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** The ids of the processes that a process started from its main thread. */
export function listChildren(pid = 0): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** How many sockets a process has open. */
export function countSockets(pid: number): number {
  const isSocket = (file: string): boolean => {
    try {
      return readlinkSync(join(`/proc/${pid}/fd`, file)).startsWith('socket:');
    } catch {
      // It was closed meanwhile.
      return false;
    }
  };
  return readdirSync(`/proc/${pid}/fd`).filter(isSocket).length;
}
