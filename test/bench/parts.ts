/**
 * The parts Tollgate is made of, and nothing between them: Koa, http-proxy-3, and a ledger that is on
 * disk before a call goes on and before the end of its reply does. It knows no key, checks nothing and
 * forwards streams unread. With `rewritten` it parses and writes whole bodies again, as a translation does.
 * No gateway of these parts can take less on this machine.
 *
 * node parts.ts <port> <vendor> <folder> [rewritten]
 */
import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import Koa from 'koa';
import type { UpstreamResponse } from '../../core/index.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { fill, reserveOne, settleOne } from './pairs.ts';
import { createSender } from './sender.ts';

const [port, vendor, folder, rewritten] = process.argv.slice(2);
if (!port || !vendor || !folder) throw new Error('usage: node parts.ts <port> <vendor> <folder> [rewritten]');

const ledger = await openSqlite({ file: join(folder, `parts-${port}.db`) });
await fill(ledger);
const send = createSender();

async function read(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) throw new Error('no UTF-8');
  return bytes.toString();
}

function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => resolve(Buffer.concat(chunks)))
      .on('error', reject);
  });
}

/** The text to send on, and whether it asks for a stream. */
function parse(text: string): { text: string; isStream: boolean } {
  const value: unknown = JSON.parse(text);
  const isStream = typeof value === 'object' && value !== null && 'stream' in value && value.stream === true;
  return { text: rewritten ? JSON.stringify(value) : text, isStream };
}

/** Forwards a reply as it comes, except for its end, which waits for the ledger. */
async function forward(reply: UpstreamResponse, response: ServerResponse, id: string): Promise<void> {
  response.writeHead(reply.status, { 'content-type': 'text/event-stream' });
  for await (const chunk of reply.body) if (!response.write(chunk)) await once(response, 'drain');
  await settleOne(ledger, id);
  response.end();
}

const app = new Koa();
app.use(async (context) => {
  if (context.method === 'GET') {
    context.body = 'ok';
    return;
  }
  const bytes = await readBody(context.req);
  if (!isUtf8(bytes)) throw new Error('no UTF-8');
  const { text: body, isStream } = parse(bytes.toString());
  const id = await reserveOne(ledger);
  const headers = {
    authorization: 'Bearer sk-vendor',
    'content-type': 'application/json',
    accept: isStream ? 'text/event-stream' : 'application/json',
  };
  const reply = await send(context, {
    url: `${vendor}/v1/chat/completions`,
    method: 'POST',
    headers,
    body,
  });
  context.respond = false;
  if (isStream) return forward(reply, context.res, id);
  const { text } = parse(await read(reply.body));
  await settleOne(ledger, id);
  context.res
    .writeHead(reply.status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    })
    .end(text);
});
app.listen(Number(port), '127.0.0.1');
