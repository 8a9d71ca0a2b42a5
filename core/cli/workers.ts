/**
 * Several processes on one port, for machines with several cores. The first starts alone, because it creates
 * what a first start creates (ledger, key, secrets). The others follow when it is ready. A worker that dies
 * is replaced after a pause. Signals are passed on, and the parent exits after the last worker.
 */
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { workerDeaths } from '../host/metrics.ts';
import { openSwitchboard } from '../host/workers.ts';
import { findInheritedSocket } from '../http/listener.ts';
import type { Plugin } from '../plugin.ts';

/** Milliseconds before a dead worker is replaced: one may die at once, again and again. */
const pause = 1000;

const ready = 'tollgate:ready';

export function reportReady(): void {
  process.send?.(ready);
}

/** Whether this worker prints the banner for all. */
export function isFirstWorker(): boolean {
  return process.env.TOLLGATE_WORKER === '1';
}

/** A worker ended before it served. If no signal ended it, it printed the reason itself. */
export class EarlyEnd extends Error {
  readonly signal: string | null;

  constructor(number: number, code: number | null, signal: string | null) {
    super(`worker ${number} was ended by ${signal ?? `code ${code}`} before it was ready`);
    this.signal = signal;
  }
}

/** The workers, each with when it starts to listen for signals. An earlier reload signal would end it. */
const hearing = new WeakMap<Worker, Promise<Worker>>();

function startWorker(number: number): Promise<Worker> {
  const worker = cluster.fork({ TOLLGATE_WORKER: String(number) });
  closeUnaccepted(worker);
  const started = new Promise<Worker>((resolve, reject) => {
    worker.on('message', (message) => message === ready && resolve(worker));
    // Also catches a message to a worker that is exiting; the error would have no other listener.
    worker.on('error', reject);
    worker.once('exit', (code, signal) => reject(new EarlyEnd(number, code, signal)));
  });
  hearing.set(worker, started);
  return started;
}

/** Reloads a worker's configuration, after its first load. */
function reload(worker: Worker): void {
  hearing.get(worker)?.then(
    () => worker.process.kill('SIGHUP'),
    () => undefined,
  );
}

/** Runs `count` workers until this process is asked to stop. Rejects if the first one cannot start. */
export async function superviseWorkers(
  count: number,
  plugins: readonly Plugin[],
  logger: Logger,
): Promise<void> {
  let stopping = false;
  // This process would accept connections that no worker can take any more. So workers accept themselves.
  if (findInheritedSocket('public') !== undefined) cluster.schedulingPolicy = cluster.SCHED_NONE;
  const supervisor = openSwitchboard();
  for (const plugin of plugins) plugin.supervise?.(supervisor);
  const pass = (signal: NodeJS.Signals) => (): void => {
    stopping ||= signal !== 'SIGHUP';
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (worker && signal === 'SIGHUP') reload(worker);
      else worker?.process.kill('SIGTERM');
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, pass(signal));
  const noteDeath = ({ process: { pid } }: Worker, code: number | null, signal: string | null): void => {
    if (stopping) return;
    workerDeaths.inc();
    logger.error(
      { pid, code, signal },
      'a worker died and is replaced: see its last log lines, ' +
        'or after SIGKILL the kernel log for a lack of memory',
    );
  };
  const keep = async (number: number): Promise<void> => {
    const worker = await startWorker(number);
    worker.once('exit', (code) => {
      if (!stopping) return void restart(number);
      if (code !== 0) process.exitCode = 1;
      // The rest of the port's handles must not keep this process alive.
      if (Object.keys(cluster.workers ?? {}).length === 0) process.exit();
    });
  };
  const restart = async (number: number): Promise<void> => {
    await sleep(pause);
    if (stopping) return;
    // If it cannot start either, it is tried again, as long as the others serve.
    await keep(number).catch(() => restart(number));
  };
  try {
    await keep(1);
  } catch (error) {
    if (stopping) process.exit();
    if (error instanceof EarlyEnd && error.signal === null) process.exit(1);
    throw error;
  }
  // A first worker that cannot start prints the reason itself.
  cluster.on('exit', noteDeath);
  await Promise.all(
    Array.from({ length: count - 1 }, (_, index) => keep(index + 2).catch(() => restart(index + 2))),
  );
}

/** What Node sends to a worker with a connection. `key` names the listener. */
const handoverSchema = z.object({ act: z.literal('newconn'), key: z.string() });

interface Closable {
  close(): void;
}

function isClosable(handle: unknown): handle is Closable {
  return (
    typeof handle === 'object' && handle !== null && 'close' in handle && typeof handle.close === 'function'
  );
}

/**
 * Closes the connections that a worker had not accepted when it died. The parent accepts connections and
 * hands them to its workers, one of each listener at a time. Node keeps a connection open until the worker
 * accepts it, so after the worker's death its client would wait forever. Call it before the worker is ready.
 */
function closeUnaccepted(worker: Worker): void {
  const child = worker.process;
  /** The last connection of each listener. To close an accepted one again has no effect. */
  const handed = new Map<string, Closable>();
  child.send = new Proxy(child.send, {
    apply(send, self, sent: unknown[]) {
      const [message, handle] = sent;
      const { data } = handoverSchema.safeParse(message);
      if (data && isClosable(handle)) handed.set(data.key, handle);
      return Reflect.apply(send, self, sent);
    },
  });
  worker.once('exit', () => {
    for (const handle of handed.values()) handle.close();
  });
}
