/**
 * The thread that beats for a process whose event loop is blocked, over its own connection, which it opens
 * only then.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Client } from 'pg';
import { BackupHeartbeat } from '../backup-heartbeat.ts';
import type { Address } from './connection.ts';

/** What the event loop sends the thread: a reservation follows, or the loop has sent its own heartbeat. */
export type HeartbeatMessage = 'begin' | 'beaten';

export interface HeartbeatData extends Address {
  readonly owner: string;
  readonly lease: number;
}

// A report of a process that fails holds its environment, and with it the vendors' keys.
process.report.excludeEnv = true;

function createHeartbeat({ url, owner, lease }: HeartbeatData): BackupHeartbeat {
  let connection: Client | undefined;

  async function connect(): Promise<Client> {
    // Loaded only here: a thread whose event loop is never blocked does not need it.
    const [pg, { buildWriterConfig }] = await Promise.all([import('pg'), import('./connection.ts')]);
    const client = new pg.Client(buildWriterConfig({ url }, `${owner} heartbeat`));
    const forget = (): void => void (connection === client && (connection = undefined));
    client.on('error', forget);
    client.on('end', forget);
    await client.connect();
    return client;
  }

  return new BackupHeartbeat(lease, async () => {
    connection ??= await connect();
    const { createQuery, runSteps } = await import('./connection.ts');
    const { beatWhilePending } = await import('../sql/owners.ts');
    return runSteps(createQuery(connection), beatWhilePending(owner, lease));
  });
}

if (parentPort) {
  const data: HeartbeatData = workerData;
  const heartbeat = createHeartbeat(data);
  parentPort.on('message', (message: HeartbeatMessage) =>
    message === 'begin' ? heartbeat.begin() : heartbeat.noteBeat(),
  );
}
