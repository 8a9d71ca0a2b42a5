/**
 * Serves the ledger on the event loop, behind the same messages as a thread. A command has nothing else to do
 * meanwhile, and a thread takes 0.1 s to load.
 */
import { EventEmitter } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import type { WorkerData } from '../operations.ts';
import { serve } from './serve.ts';
import type { Side } from './thread.ts';

export function serveHere(data: WorkerData): Side {
  const side = new EventEmitter();
  const { port1, port2 } = new MessageChannel();
  port1.on('message', (message) => side.emit('message', message));
  // Not `close` of the other port, which may come before the last message.
  port1.on('close', () => side.emit('exit', 0));
  void serve(port2, data).then((opened) => {
    port2.postMessage(opened, []);
    if (opened.failure) port2.close();
  });
  return Object.assign(side, { postMessage: (message: unknown) => port1.postMessage(message, []) });
}
