/** A client of Responses over WebSocket that keeps every frame, and waits for what a test needs. */
import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';
import { readObject } from '../../plugins/shared/wire-kit/values.ts';
import type { Json } from './json.ts';

export interface SocketClient {
  readonly socket: WebSocket;
  /** Every frame so far. */
  readonly frames: readonly Json[];
  /** Resolves with the code when the connection has closed. */
  readonly closed: Promise<number>;
  send(frame: object): void;
  /** Resolves with the first frame that fits, of all, or of those after the first `from`. */
  waitFor(fits: (frame: Json) => boolean, from?: number): Promise<Json>;
  /** Sends a frame and resolves with what ends it: its response, or the error. */
  create(frame: object): Promise<Json>;
}

const ends = new Set<unknown>(['response.completed', 'response.incomplete', 'response.failed', 'error']);

export function isEnd({ type }: Json): boolean {
  return ends.has(type);
}

function follow(socket: WebSocket): SocketClient {
  const frames: Json[] = [];
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const check of waiting) check();
  };
  socket.on('message', (data: Buffer) => {
    frames.push(readObject(JSON.parse(data.toString())));
    wake();
  });
  const closed = new Promise<number>((resolve) => {
    socket.on('close', (code) => {
      resolve(code);
      wake();
    });
  });
  const client: SocketClient = {
    socket,
    frames,
    closed,
    send: (frame) => socket.send(JSON.stringify(frame)),
    waitFor: (fits, from = 0) =>
      new Promise((resolve, reject) => {
        let next = from;
        const check = (): void => {
          const found = frames.slice(next).find(fits);
          next = frames.length;
          if (!found && socket.readyState !== WebSocket.CLOSED) return;
          waiting.delete(check);
          if (found) resolve(found);
          else reject(new Error('the connection closed before the frame came'));
        };
        waiting.add(check);
        check();
      }),
    create(frame) {
      const { length } = frames;
      client.send({ type: 'response.create', ...frame });
      return client.waitFor(isEnd, length);
    },
  };
  return client;
}

export async function openSocket(
  url: string,
  key: string,
  options: ClientOptions = {},
  path = '/v1/responses',
): Promise<SocketClient> {
  const headers = { authorization: `Bearer ${key}`, ...options.headers };
  const socket = new WebSocket(url.replace(/^http/, 'ws') + path, { ...options, headers });
  const client = follow(socket);
  await once(socket, 'open');
  return client;
}

/** What the gateway answers to an upgrade that it refuses. */
export async function refuseSocket(
  url: string,
  headers: Readonly<Record<string, string>>,
  path = '/v1/responses',
): Promise<{ readonly status: number; readonly body: Json; readonly headers: Json }> {
  const socket = new WebSocket(url.replace(/^http/, 'ws') + path, { headers });
  const [, response] = await once(socket, 'unexpected-response');
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece);
  return {
    status: response.statusCode,
    body: readObject(JSON.parse(Buffer.concat(pieces).toString())),
    headers: response.headers,
  };
}
