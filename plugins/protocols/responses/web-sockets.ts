/**
 * Responses over WebSocket: a client keeps one connection for many responses, and sends only what is new. A
 * frame becomes a call of the responses protocol, so any provider can answer it, and it is limited, logged
 * and charged like a call by HTTP.
 */
import { LRUCache } from 'lru-cache';
import { WebSocketServer } from 'ws';
import { z } from 'zod';
import { definePlugin, secondsOption } from '../../../core/index.ts';
import { defineGauge } from '../../shared/metric.ts';
import { bases, protocolName } from './encoding.ts';
import { Connection } from './web-sockets/connection.ts';
import { Memory } from './web-sockets/memory.ts';
import type { TurnContext } from './web-sockets/turn.ts';

const mebibyte = 1024 * 1024;
const count = z.int().positive();
/** Milliseconds for a client to answer that the connection closes. */
const longestClose = 2000;

export const socketOptions = z.strictObject({
  /** Web pages that may connect: their origins, such as `https://app.example.com`. */
  origins: z.array(z.url({ protocol: /^https?$/ })).default([]),
  /** Open connections of one key in a process, and of all keys. */
  perKey: count.default(100),
  all: count.default(5000),
  /** Lanes (`stream_id`) that one connection may use at once, and frames that may wait in them. */
  lanes: count.default(16),
  waiting: count.default(16),
  /** Maximum bytes of a frame. `server.bodyLimit` bounds the call that it becomes. */
  frameLimit: count.default(16 * mebibyte),
  /** Seconds between two pings. A client that answers neither of two is disconnected. */
  ping: secondsOption.prefault(30),
  /** Seconds without a frame or a running response after which a connection is closed. */
  idle: secondsOption.prefault(900),
  /** Seconds that a connection may last. OpenAI's last an hour. */
  life: secondsOption.prefault(3600),
  /** What `previous_response_id` can name: responses and bytes of one connection, and bytes of all. */
  memory: z
    .strictObject({
      responses: count.default(16),
      bytes: count.default(8 * mebibyte),
      all: count.default(64 * mebibyte),
    })
    .prefault({}),
});

export type SocketOptions = z.output<typeof socketOptions>;

const paths: ReadonlySet<string> = new Set(bases.map((base) => `${base}/responses`));

export const webSockets = definePlugin({
  name: 'web-sockets',
  options: socketOptions,
  apply(host, options) {
    const open = defineGauge(host.metrics, 'tollgate_websockets', 'Open WebSockets.');
    // The connection that was used longest ago forgets first.
    const memories = new LRUCache<Memory, number>({
      maxSize: options.memory.all,
      sizeCalculation: (bytes) => bytes,
      disposeAfter: (_bytes, memory, reason) => void (reason === 'evict' && memory.forget()),
    });
    const settings = {
      noServer: true,
      clientTracking: false,
      // The data of a stream hardly repeats, and each compressed connection would take 300 kB.
      perMessageDeflate: false,
      maxPayload: options.frameLimit,
      closeTimeout: longestClose,
      // Browsers send their keys as protocols, which servers log.
      handleProtocols: () => false as const,
    };
    const server = new WebSocketServer(settings);
    const readCall: TurnContext['readCall'] = (value) =>
      host.protocols.get(protocolName).client.read(value, '', { operation: 'count' }, {});
    host.onApplied(() => host.protocols.get(protocolName));
    host.upgrades.add({
      name: 'web-sockets',
      protocol: protocolName,
      matches: (path) => paths.has(path),
      origins: options.origins,
      limits: options,
      take(upgraded) {
        let connection: Connection | undefined;
        server.handleUpgrade(upgraded.request, upgraded.socket, upgraded.head, (socket) => {
          open.inc();
          socket.on('close', () => open.dec());
          const memory = new Memory(options.memory, memories);
          connection = new Connection(socket, upgraded, options, { memory, readCall });
        });
        return () => connection?.drain();
      },
    });
  },
});
