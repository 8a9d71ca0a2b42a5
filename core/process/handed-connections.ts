/**
 * Closes the connections that a worker had not accepted when it died. The parent accepts connections and
 * hands them to its workers, one of each listener at a time. Node keeps a connection open until the worker
 * accepts it, so after the worker's death its client would wait forever.
 */
import type { Worker } from 'node:cluster';
import { z } from 'zod';

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

/** Call it before the worker is ready. */
export function closeUnaccepted(worker: Worker): void {
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
