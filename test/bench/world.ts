/**
 * The vendor and the clients of one gateway that is measured in another process: both write ready-made bytes
 * to raw sockets, so that they take little of the machine.
 */
import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { replies, type Call } from './payload.ts';

const headEnd = '\r\n\r\n';
const chunkedEnd = '0\r\n\r\n';

/** Calls back with the head of each message that a socket has received whole. */
function onMessage(socket: Socket, take: (head: string) => void): void {
  let text = '';
  let head: string | undefined;
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
    if (head === undefined) {
      const at = text.indexOf(headEnd);
      if (at < 0) return;
      head = text.slice(0, at).toLowerCase();
      text = text.slice(at + headEnd.length);
    }
    const length = /content-length: (\d+)/.exec(head)?.[1];
    if (length === undefined ? !text.endsWith(chunkedEnd) : text.length < Number(length)) return;
    const whole = head;
    head = undefined;
    text = '';
    take(whole);
  });
}

const head = 'HTTP/1.1 200 OK\r\nx-request-id: req_5d1c2b7a90e34f68\r\nopenai-version: 2020-10-01\r\n';
const completion =
  `${head}content-type: application/json\r\ncontent-length: ${replies.completion.length}\r\n\r\n` +
  `${replies.completion}`;

function buildChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** A stream as the vendor writes it: so many events at a time. */
function listWrites(eventsPerWrite: number): string[] {
  const events = `${replies.events}${replies.done}`.match(/[^]+?\n\n/g) ?? [];
  const writes: string[] = [];
  for (let from = 0; from < events.length; from += eventsPerWrite)
    writes.push(
      events
        .slice(from, from + eventsPerWrite)
        .map(buildChunk)
        .join(''),
    );
  writes[0] = `${head}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${writes[0]}`;
  writes.push(`${writes.pop()}${chunkedEnd}`);
  return writes;
}

const [bursts, steps] = [listWrites(10), listWrites(1)];
/** Whether the vendor sends an event only when the client has the one before it. */
let isStepwise = false;
/** Emits `data` when a client has received something. */
const clients = new EventEmitter();

function writeStream(socket: Socket, writes = isStepwise ? steps : bursts, at = 0): void {
  socket.write(writes[at] ?? '');
  if (at + 1 === writes.length) return;
  const writeNext = (): void => writeStream(socket, writes, at + 1);
  if (writes === steps) clients.once('data', writeNext);
  else setImmediate(writeNext);
}

export interface World {
  /** Where the vendor answers. */
  readonly origin: string;
  close(): void;
}

export async function openWorld(): Promise<World> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    onMessage(socket, (asked) => {
      if (asked.includes('text/event-stream')) writeStream(socket);
      else socket.write(completion);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

export interface Load {
  readonly port: number;
  readonly key: string;
  readonly connections: number;
  readonly calls: number;
}

/** Makes so many calls, one after the other on each connection. Throws unless all are answered with 200. */
export async function makeCalls(
  { path, accept, body, headers, stepwise = false }: Call,
  load: Load,
): Promise<void> {
  isStepwise = stepwise;
  const lines = Object.entries({
    host: '127.0.0.1',
    authorization: `Bearer ${load.key}`,
    'content-type': 'application/json',
    accept,
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
  });
  const request =
    `POST ${path} HTTP/1.1\r\n` +
    `${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
  let left = load.calls;
  const runClient = async (): Promise<void> => {
    const socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    socket.on('data', () => clients.emit('data'));
    await new Promise<void>((resolve, reject) => {
      const next = (): void => {
        if (left <= 0) return resolve();
        left -= 1;
        socket.write(request);
      };
      onMessage(socket, (answered) => {
        if (answered.startsWith('http/1.1 200')) next();
        else reject(new Error(`a call was answered with ${answered}`));
      });
      socket.on('error', reject).on('close', () => reject(new Error('the gateway closed a connection')));
      next();
    });
    socket.destroy();
  };
  await Promise.all(Array.from({ length: load.connections }, runClient));
}
