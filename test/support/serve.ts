/** Listens on a free port of loopback. */
import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { closeInTime } from './closing.ts';

export interface Served {
  readonly origin: string;
  readonly port: number;
  openConnections(): number;
  /** Ends every connection and stops, by itself when its test or file ends. */
  close(): Promise<void>;
}

export async function serve(server: Server): Promise<Served> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.on('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port is free');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    port: address.port,
    openConnections: () => sockets.size,
    close: closeInTime(async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    }),
  };
}
