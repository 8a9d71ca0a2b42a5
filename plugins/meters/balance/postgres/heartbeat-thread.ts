/** The event loop's side of the thread that beats while the loop is blocked. */
import { Worker } from 'node:worker_threads';
import type { HeartbeatData, HeartbeatMessage } from './heartbeat-worker.ts';

const thread = new URL(
  import.meta.url.endsWith('.ts') ? './heartbeat-worker.ts' : './heartbeat-worker.js',
  import.meta.url,
);

export class HeartbeatThread {
  readonly #data: HeartbeatData;
  #worker: Worker | undefined;
  #askedAt = -Infinity;
  #isClosed = false;

  constructor(data: HeartbeatData) {
    this.#data = data;
    this.#start();
  }

  /** Call it before each reservation. It sends the thread a few messages per lease at most. */
  begin(): void {
    const now = performance.now();
    if (now - this.#askedAt < this.#data.lease / 3) return;
    this.#askedAt = now;
    if (!this.#worker && !this.#isClosed) this.#start();
    this.#post('begin');
  }

  noteBeat(): void {
    this.#post('beaten');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  #post(message: HeartbeatMessage): void {
    this.#worker?.postMessage(message, []);
  }

  /** A thread that fails is started again for the next reservation. */
  #start(): void {
    const worker = new Worker(thread, { name: 'ledger heartbeat', workerData: this.#data });
    worker.unref();
    worker.on('error', () => undefined);
    worker.on('exit', () => void (this.#worker === worker && (this.#worker = undefined)));
    this.#worker = worker;
  }
}
