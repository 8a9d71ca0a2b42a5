/**
 * Takes calls: counts their bodies, and runs them while a stop waits for them. Plugins post calls whose
 * client has no request of its own: those of a WebSocket, and those whose client does not wait. Their replies
 * are handed over as they come, with no buffer between, so what takes them sets the pace of the provider.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Core } from './core.ts';
import { SseReader, type SseBlock } from './crossing/sse.ts';
import type { End, Principal, Received } from './exchange.ts';
import { Arrival, type Call } from './http/arrival.ts';
import type { BodyShare } from './http/bodies.ts';
import { parseJson } from './http/json-body.ts';
import { Reply } from './http/reply.ts';
import { runCall } from './pipeline.ts';
import type { PostedCall, PostedReply } from './plugin.ts';
import type { Protocol, ReadBody } from './protocol.ts';
import { takeTurn } from './util/turns.ts';

interface TakenCall extends Call {
  readonly reply: Reply;
  /** Reads the body, and counts it in the share. */
  read(share: BodyShare): Promise<ReadBody>;
}

/** Runs a call to its end, then gives back the memory of its body. Never rejects. */
export async function takeCall(core: Core, received: Received, call: TakenCall): Promise<End> {
  const { protocol, match, reply } = call;
  let share: BodyShare | undefined;
  const running = core.calls.begin(received);
  try {
    return await runCall(core, received, {
      protocol,
      match,
      reply,
      readBody(principal) {
        core.replies.checkRoom();
        share = core.bodies.openShare(principal);
        return protocol.client.expand ? expandBody(call, principal, share) : call.read(share);
      },
    });
  } finally {
    core.calls.end(running);
    share?.release();
    reply.tape?.release();
  }
}

/** The body with what it refers to, which takes memory of the same share and has the same limit. */
async function expandBody(
  { protocol, match, read }: TakenCall,
  { account }: Principal,
  share: BodyShare,
): Promise<ReadBody> {
  const body = await read(share);
  const whole = await protocol.client.expand?.(body, { account, match });
  if (!whole) return body;
  share.takeWhole(whole.bytes);
  return whole;
}

/** Hands each event over as soon as it is complete, and keeps the text of an error. */
class HandedReply extends Reply {
  started = false;
  text = '';
  readonly #take: PostedCall['take'];
  readonly #reader = new SseReader();

  constructor(id: string, { replies }: Core, take: PostedCall['take']) {
    super(id, replies);
    this.#take = take;
  }

  write(text: string | Uint8Array): Promise<void> | undefined {
    this.started = true;
    this.tape?.add(text);
    return this.#deliver(this.#reader.push(Buffer.from(text)));
  }

  #deliver(blocks: readonly SseBlock[]): Promise<void> | undefined {
    let catchingUp: Promise<void> | undefined;
    for (const { event } of blocks) if (event) catchingUp = this.#take(event.data);
    return catchingUp;
  }

  finish(text: string | Uint8Array = ''): void {
    if (this.status !== 200) return void (this.text = Buffer.from(text).toString());
    void this.write(text);
    void this.#deliver(this.#reader.end());
  }

  keepAlive(): void {
    // Only connections of HTTP are closed because they are silent.
  }

  describe(): Awaited<PostedReply['end']> {
    return { status: this.status, headers: this.headers, text: this.text };
  }
}

/** The client's own request, whose credentials the call has. */
export interface CallOrigin extends Pick<Received, 'path' | 'transport'> {
  readonly protocol: Protocol;
  readonly headers: IncomingHttpHeaders;
  readonly query?: URLSearchParams;
  readonly remoteAddress: string | undefined;
}

const encoder = new TextEncoder();

export function postCall(core: Core, origin: CallOrigin, { body, signal, take }: PostedCall): PostedReply {
  const { protocol, path, headers, query, remoteAddress, transport } = origin;
  const querystring = String(query ?? '');
  const match = protocol.client.match('POST', path, querystring) ?? { operation: 'generate' };
  const request = { method: 'POST', path, querystring, req: { headers, socket: { remoteAddress } } };
  const route = { family: protocol.name, operation: match.operation, transport };
  const received = new Arrival(core, request, route);
  const reply = new HandedReply(received.id, core, take);
  const leave = (): void => {
    received.cancellation.cancel();
    reply.memory.release();
  };
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave);
  const read = async (share: BodyShare): Promise<ReadBody> => {
    // A part of Node's pool would keep all of that alive while a client reads slowly.
    const { buffer, byteOffset, length } = encoder.encode(body);
    const bytes = Buffer.from(buffer, byteOffset, length);
    share.takeWhole(bytes);
    await takeTurn(bytes.length);
    return parseJson(bytes);
  };
  const end = takeCall(core, received, { protocol, match, reply, read }).finally(() => {
    signal.removeEventListener('abort', leave);
    reply.memory.release();
  });
  return { id: received.id, end: end.then(() => reply.describe()) };
}
