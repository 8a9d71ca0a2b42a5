/**
 * A link between a client and a server that a test can cut or hold: then nothing passes, and neither side
 * learns of it.
 */
import { connect, createServer, type Socket } from 'node:net';
import { serve } from './serve.ts';

export interface TcpLink {
  readonly port: number;
  /** From now on nothing passes to the client; what the server sends meanwhile reaches it after `release`. */
  hold(): void;
  /**
   * Holds from the moment the client sends something with this text in it, which still passes to the server.
   */
  holdAfter(text: string): void;
  release(): void;
  /** Ends all connections for the client without the server's knowledge; new ones are accepted. */
  cut(): void;
  /** The same with a reset, as of a server that ends a connection on which something is still on its way. */
  reset(): void;
  close(): Promise<void>;
}

export async function startTcpLink(port: number): Promise<TcpLink> {
  const clients = new Set<Socket>();
  const servers = new Set<Socket>();
  let isHeld = false;
  let trigger: string | undefined;

  function hold(): void {
    isHeld = true;
    for (const socket of servers) socket.pause();
  }

  function takeClients(): Socket[] {
    const taken = [...clients];
    clients.clear();
    return taken;
  }

  const listening = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    clients.add(client);
    servers.add(server);
    client.on('error', () => undefined);
    server.on('error', () => undefined);
    client.on('close', () => {
      if (clients.delete(client)) server.destroy();
    });
    server.on('close', () => {
      servers.delete(server);
      client.destroy();
    });
    if (isHeld) server.pause();
    client.on('data', (chunk) => {
      if (trigger !== undefined && chunk.includes(trigger)) {
        trigger = undefined;
        hold();
      }
      server.write(chunk);
    });
    server.on('data', (chunk) => client.write(chunk));
    // A `data` listener lets it flow.
    if (isHeld) server.pause();
  });
  const served = await serve(listening);
  return {
    port: served.port,
    hold,
    holdAfter(text) {
      trigger = text;
    },
    release() {
      isHeld = false;
      for (const socket of servers) socket.resume();
    },
    cut() {
      for (const socket of takeClients()) socket.destroy();
    },
    reset() {
      for (const socket of takeClients()) socket.resetAndDestroy();
    },
    async close() {
      for (const socket of servers) socket.destroy();
      await served.close();
    },
  };
}
