/** Sends bytes on a socket that no HTTP library would send, and reads everything that comes back. */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  /** Everything that arrived until the server closed, or until it was silent for so long. */
  readonly text: string;
  readonly closed: boolean;
  /** Of each reply, in order. */
  readonly statuses: readonly number[];
}

export function openSocket(url: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}

/**
 * Sends the pieces one after the other and listens until the server closes. Only where it must not answer, or
 * keeps the connection, does a test need fewer milliseconds.
 */
export async function sendRaw(
  url: string,
  pieces: string | readonly (string | Uint8Array)[],
  milliseconds = 120_000,
): Promise<RawAnswer> {
  const socket = await openSocket(url);
  socket.removeAllListeners('error').on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk) => void (text += chunk.toString('latin1')));
  for (const piece of [pieces].flat()) socket.write(piece);
  const closed = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(resolve, milliseconds, false);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
  socket.destroy();
  return {
    text,
    closed,
    statuses: Array.from(text.matchAll(/^HTTP\/1\.1 (\d{3})/gm), ([, status]) => Number(status)),
  };
}
