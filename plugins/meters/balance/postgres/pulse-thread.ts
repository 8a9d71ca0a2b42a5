/** The thread that beats for a process whose event loop is blocked, by a connection of its own that is only opened then. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Client } from 'pg';
import { Pulse } from '../pulse.ts';
import type { Address } from './options.ts';
import { beatWhilePending } from './owners.ts';

/** What the event loop tells the thread: something is to be reserved, or it has beaten by itself. */
export type PulseMessage = 'begin' | 'beaten';

export interface PulseData extends Address {
  readonly owner: string;
  readonly lease: number;
}

// A report of a process that fails holds its environment, and with it the vendors' keys.
process.report.excludeEnv = true;

function pulseOf({ url, owner, lease }: PulseData): Pulse {
  let connection: Client | undefined;

  async function connect(): Promise<Client> {
    // Loaded only here: a thread whose event loop is never blocked does not need it.
    const [pg, { writing }] = await Promise.all([import('pg'), import('./options.ts')]);
    const client = new pg.Client(writing({ url }, `${owner} pulse`));
    const forget = (): void => void (connection === client && (connection = undefined));
    client.on('error', forget);
    client.on('end', forget);
    await client.connect();
    return client;
  }

  return new Pulse(lease, async () => {
    connection ??= await connect();
    const { queryOn } = await import('./connection.ts');
    return beatWhilePending(queryOn(connection), owner, lease);
  });
}

if (parentPort) {
  const data: PulseData = workerData;
  const pulse = pulseOf(data);
  parentPort.on('message', (message: PulseMessage) => (message === 'begin' ? pulse.begin() : pulse.beaten()));
}
