/**
 * The part of a fake vendor that knows only HTTP: a server on loopback that records every request as
 * received, notices when the peer disconnects, and writes down the outcome of each call.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { closeInTime } from '../closing.ts';
import { serve } from '../serve.ts';
import type { Sent } from './delivery.ts';

export interface ReceivedRequest {
  /** Which request it is, from 1, and on which connection of the vendor's, from 1. */
  readonly number: number;
  readonly connection: number;
  readonly method: string;
  /** As sent, with its query. */
  readonly path: string;
  /** Names and values in turn, as sent, repeated ones repeated. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingHttpHeaders;
  /** Names of headers no vendor should ever see from a gateway. */
  readonly leaked: readonly string[];
  /** Empty until all of it has arrived. */
  body: Buffer;
  /** Milliseconds of the monotonic clock. */
  readonly receivedAt: number;
  /** When the peer closed before it had its reply; undefined: it did not. */
  closedByPeerAt: number | undefined;
}

/** What became of one call: the vendor's own books, to be held against the gateway's. */
export interface JournalEntry extends Sent {
  /** The `x-request-id` the reply carried. */
  readonly id: string;
  readonly received: ReceivedRequest;
  model: string | undefined;
  stream: boolean;
  /** Tokens an honest vendor would bill for what went out; undefined if it refused. */
  billed: { readonly prompt: number; readonly completion: number } | undefined;
}

/** Takes a request with its body and where to answer and take notes; resolves when it is done. */
export type Answer = (
  received: ReceivedRequest,
  response: ServerResponse,
  entry: JournalEntry,
) => Promise<void>;

export interface VendorServer {
  readonly origin: string;
  readonly requests: ReceivedRequest[];
  readonly journal: JournalEntry[];
  /** How many connections to the vendor are open now. */
  openConnections(): number;
  /** Ends every connection and stops. Rejects if answering a call failed by a mistake in the test itself. */
  close(): Promise<void>;
}

/** Hop-by-hop headers, and client headers that do not concern the vendor. */
const unwelcome = new Set([
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'forwarded',
  'via',
  'x-real-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'cookie',
  'origin',
  'referer',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-partner-api-key',
  'partner-version',
  'anthropic-version',
  'idempotency-key',
]);

const single = new Set(['authorization', 'host', 'content-type', 'content-length']);

function listLeaks(rawHeaders: readonly string[], welcome: readonly string[]): string[] {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const twice = names.filter((name, index) => single.has(name) && names.indexOf(name) < index);
  const strange = names.filter(
    (name) =>
      (unwelcome.has(name) && !welcome.includes(name)) ||
      name.startsWith('x-forwarded-') ||
      name.startsWith('x-tollgate-'),
  );
  const connection = rawHeaders.filter(
    (_, index) => index % 2 === 1 && names[(index - 1) / 2] === 'connection',
  );
  const upgrades = connection.some((value) => !/^(keep-alive|close)$/i.test(value)) ? ['connection'] : [];
  return [...new Set([...strange, ...twice, ...upgrades])];
}

function receive(
  request: IncomingMessage,
  number: number,
  connection: number,
  welcome: readonly string[],
): ReceivedRequest {
  return {
    number,
    connection,
    method: request.method ?? '',
    path: request.url ?? '',
    rawHeaders: request.rawHeaders,
    headers: request.headers,
    leaked: listLeaks(request.rawHeaders, welcome),
    body: Buffer.alloc(0),
    receivedAt: performance.now(),
    closedByPeerAt: undefined,
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) parts.push(part);
  } catch {
    return undefined;
  }
  return Buffer.concat(parts);
}

function createEntry(received: ReceivedRequest): JournalEntry {
  const id = `req_fake${String(received.number).padStart(8, '0')}`;
  return {
    id,
    received,
    model: undefined,
    stream: false,
    status: undefined,
    events: 0,
    bytes: 0,
    tokens: 0,
    billed: undefined,
    end: 'open',
  };
}

/** Starts a server on a free port of loopback; `welcome` are headers that are no leak here. */
export async function listen(answer: Answer, welcome: readonly string[] = []): Promise<VendorServer> {
  const requests: ReceivedRequest[] = [];
  const journal: JournalEntry[] = [];
  const connections = new WeakMap<Socket, number>();
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let opened = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = receive(request, requests.length + 1, connections.get(request.socket) ?? 0, welcome);
    const entry = createEntry(received);
    requests.push(received);
    journal.push(entry);
    response.on('close', () => {
      if (entry.end === 'complete' || entry.end === 'cut' || response.writableFinished) return;
      received.closedByPeerAt = performance.now();
      entry.end = 'closed-by-peer';
    });
    const body = await readBody(request);
    if (!body) return;
    received.body = body;
    await answer(received, response, entry);
  }

  const server = createServer((request, response) => {
    const work = handle(request, response).catch((error: unknown) => {
      failures.push(error);
      response.destroy();
    });
    running.add(work);
    void work.finally(() => running.delete(work));
  });
  server.on('connection', (socket) => {
    opened += 1;
    connections.set(socket, opened);
  });
  const { origin, openConnections, close } = await serve(server);
  return {
    origin,
    requests,
    journal,
    openConnections,
    close: closeInTime(async () => {
      await Promise.all([close(), ...running]);
      if (failures.length)
        throw new AggregateError(
          failures,
          `the fake vendor could not answer: ${failures.map(String).join('; ')}`,
        );
    }),
  };
}
