/**
 * A connection inside the process: a call that came by a WebSocket takes the same way as one by HTTP. Its
 * client is the one of the WebSocket, and it ends as soon as one of its two ends does.
 */
import { duplexPair, type Duplex } from 'node:stream';

/** Bytes that each end buffers. The client's own connection has more; beyond that the provider is paused. */
const highWaterMark = 4 * 1024;

const inner = Symbol('inner connection');

export interface InnerConnection {
  readonly client: Duplex;
  readonly server: Duplex;
}

export function openInnerConnection(remoteAddress: string | undefined): InnerConnection {
  const [client, server] = duplexPair({ highWaterMark });
  // The client's own connection has a timer for stalls, so this one needs none.
  Object.assign(server, { remoteAddress, [inner]: true, setTimeout: () => server });
  // A pair does not pass on that one of its ends was destroyed.
  client.on('close', () => server.destroy());
  server.on('close', () => void (server.writableFinished || client.destroy()));
  return { client, server };
}

export function isInner(socket: object): boolean {
  return inner in socket;
}
