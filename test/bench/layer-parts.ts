/** The parts with some steps of a call's work: core's own functions, with nothing of the pipeline between. */
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Koa from 'koa';
import { computeCharge } from '../../core/billing/charge.ts';
import type { Gateway } from '../../core/gateway.ts';
import { parseJson } from '../../core/http/json-body.ts';
import { ReplyBudget, ReplyMemory } from '../../core/http/reply-memory.ts';
import type { Routed, UpstreamResponse } from '../../core/index.ts';
import { crossReply, encodeTranslated, encodeVerbatim, isVerbatim } from '../../core/lanes.ts';
import { Tally } from '../../core/tally.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { buildRouted } from '../support/exchange.ts';
import { steps, type Step } from './layer-names.ts';
import { fill, reserveOne, settleOne } from './pairs.ts';
import { createSender } from './sender.ts';

async function readAll(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The exchange that core has when it makes an attempt, as far as the steps need it. */
function buildExchange(
  { findTargets, protocols }: Gateway,
  path: string,
  headers: IncomingMessage['headers'],
  body: Buffer,
): Routed {
  const protocol = [...protocols.list()].find(({ client }) => client.match('POST', path));
  if (!protocol) throw new Error(`no protocol for ${path}`);
  const read = parseJson(body);
  const call = protocol.client.read(read.value, read.text, { operation: 'generate' }, headers);
  const [target] = findTargets(call.model, protocol);
  if (!target) throw new Error(`no target for ${call.model}`);
  return { ...buildRouted(target), ...read, protocol, call, getRequest: () => call.decode() };
}

interface Place {
  readonly vendor: string;
  readonly folder: string;
}

/** The steps of one layer, and the exchange that each kind of call is made into. */
class Parts {
  readonly #depth: number;
  readonly #gateway: Gateway;
  readonly #samples = new Map<string, Routed>();

  constructor(layer: Step, gateway: Gateway) {
    this.#depth = steps.indexOf(layer);
    this.#gateway = gateway;
  }

  has(step: Step): boolean {
    return this.#depth >= steps.indexOf(step);
  }

  /** Reads and checks a body, as far as this layer does. */
  read({ headers }: IncomingMessage, path: string, body: Buffer): Routed {
    const kind = `${path} ${headers.accept}`;
    const sample = this.#samples.get(kind) ?? buildExchange(this.#gateway, path, headers, body);
    this.#samples.set(kind, sample);
    if (!this.has('read')) return sample;
    const read = parseJson(body);
    if (!this.has('check')) return { ...sample, ...read };
    const call = sample.protocol.client.read(read.value, read.text, { operation: 'generate' }, headers);
    return { ...sample, ...read, call, getRequest: () => call.decode() };
  }

  /** The body for the vendor. */
  write(exchange: Routed, asked: Buffer): string | Uint8Array {
    if (!this.has('edit')) return asked;
    if (isVerbatim(this.#gateway.hooks, exchange)) return encodeVerbatim(exchange).body;
    return encodeTranslated(exchange, exchange.getRequest()).body;
  }

  /** What the client is sent, piece by piece. */
  async *cross(exchange: Routed, reply: UpstreamResponse): AsyncGenerator<string | Uint8Array> {
    if (!this.has('reply')) {
      if (exchange.call.stream) yield* reply.body;
      else yield await readAll(reply.body);
      return;
    }
    const memory = new ReplyMemory(new ReplyBudget({ repliesLimit: 2 ** 30 }));
    const tally = new Tally();
    const verbatim = isVerbatim(this.#gateway.hooks, exchange);
    const lane = { verbatim, stops: [], expects: undefined, transform: undefined };
    for await (const { text } of crossReply(exchange, reply, { tally, memory }, lane)) yield text;
    computeCharge('completed', exchange, tally);
  }
}

/** Answers the port. */
export async function openParts(layer: Step, gateway: Gateway, { vendor, folder }: Place): Promise<number> {
  const parts = new Parts(layer, gateway);
  const store = parts.has('ledger') ? await openSqlite({ file: join(folder, 'parts.db') }) : undefined;
  if (store) await fill(store);
  const sendOn = createSender();
  const app = new Koa();
  app.use(async (context) => {
    const { req, res, path } = context;
    context.respond = false;
    const asked = await readAll(req);
    const exchange = parts.read(req, path, asked);
    const id = store ? await reserveOne(store) : '';
    const accept = exchange.call.stream ? 'text/event-stream' : 'application/json';
    const headers = { authorization: 'Bearer sk-vendor', 'content-type': 'application/json', accept };
    const url = `${vendor}/v1/chat/completions`;
    const reply = await sendOn(context, {
      url,
      method: 'POST',
      headers,
      body: parts.write(exchange, asked),
    });
    let held: string | Uint8Array = '';
    for await (const piece of parts.cross(exchange, reply)) {
      if (exchange.call.stream && !res.headersSent) res.writeHead(200, { 'content-type': accept });
      if (held.length > 0) res.write(held);
      held = piece;
    }
    if (store) await settleOne(store, id);
    if (!exchange.call.stream)
      res.writeHead(200, { 'content-type': accept, 'content-length': Buffer.byteLength(held) });
    res.end(held);
  });
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address: AddressInfo | string | null = server.address();
  if (typeof address !== 'object' || !address) throw new Error('the parts do not listen');
  return address.port;
}
