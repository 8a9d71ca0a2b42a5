/**
 * What all vendors share: a URL, a key, a script for each model, a journal of what arrived, and how a call is
 * answered. A wire is a `Play`: it judges a request, and composes the reply of a model in both forms.
 */
import type { ServerResponse } from 'node:http';
import { deliver, type Delivery, type Frame, type WholeReply } from './delivery.ts';
import type { Scenario } from './scenario.ts';
import type { ScriptBook, Step } from './script-book.ts';
import { listen, type JournalEntry, type ReceivedRequest } from './server.ts';

export type { Step } from './script-book.ts';

export interface Stage<Request = unknown> {
  /** Its address as the vendor's SDK wants it. */
  readonly url: string;
  /** The only key it accepts. */
  readonly key: string;
  readonly requests: readonly ReceivedRequest[];
  readonly journal: readonly JournalEntry[];
  /**
   * Sets what a model does, by its exact name or by the end of one as `*-cut`. Each call takes the next step,
   * all later ones the last. A scripted model need not be known otherwise. Token counts take no step.
   */
  script(model: string, ...steps: readonly [Step<Request>, ...Step<Request>[]]): void;
  /** Forgets all scripts. */
  unscript(): void;
  openConnections(): number;
  close(): Promise<void>;
}

/** What a check throws at a request that the vendor does not accept. */
export class Refused extends Error {
  readonly reply: WholeReply;

  constructor(reply: WholeReply) {
    super('the vendor refuses the request');
    this.reply = reply;
  }
}

type Headers = Readonly<Record<string, string | readonly string[]>>;

/** A request that the wire accepts, and what its model says. */
interface Accepted<Request> {
  readonly model: string;
  readonly request: Request;
  readonly streamed: boolean;
  /** The content type of a stream. */
  readonly streamType?: string;
  compose(scenario: Scenario): {
    readonly whole: () => object;
    readonly frames: () => Iterable<Frame>;
    /** What an honest vendor bills for all of it. */
    readonly billed: { readonly prompt: number; readonly completion: number };
  };
}

export interface Play<Request> {
  readonly key: string;
  readonly scripts: ScriptBook<Request>;
  /** Names of headers that are its business though they would be a leak elsewhere. */
  readonly headers: readonly string[];
  /** Headers of every reply: most are about the vendor's account, and a gateway must not pass them on. */
  buildUsualHeaders(id: string): Headers;
  /** Throws `Refused`; answers what no model does, such as a token count, by itself. */
  judge(
    received: ReceivedRequest,
    entry: JournalEntry,
  ): WholeReply | Accepted<Request> | Promise<WholeReply | Accepted<Request>>;
}

function toBytes(body: WholeReply['body']): Buffer {
  return Buffer.from(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body));
}

export async function playCall<Request>(
  play: Play<Request>,
  received: ReceivedRequest,
  response: ServerResponse,
  entry: JournalEntry,
): Promise<void> {
  const usual = play.buildUsualHeaders(entry.id);
  async function respond(reply: WholeReply, delivery: Delivery = {}): Promise<void> {
    const bytes = toBytes(reply.body);
    // A reply that will break off has no length it could be held to.
    const length = delivery.cut?.how === 'end' ? {} : { 'content-length': String(bytes.length) };
    const headers = { 'content-type': 'application/json', ...usual, ...length, ...reply.headers };
    await deliver(response, { ...reply, headers }, [{ bytes, tokens: 0, event: true }], delivery, entry);
  }
  const judged = await Promise.try(() => play.judge(received, entry)).catch((error: unknown) => {
    if (error instanceof Refused) return error.reply;
    throw error;
  });
  if ('status' in judged) return respond(judged);
  const { model, request, streamed, streamType = 'text/event-stream; charset=utf-8' } = judged;
  entry.model = model;
  entry.stream = streamed;
  const scenario = await play.scripts.takeScenario(model, request, received);
  if (scenario.reply) return respond(scenario.reply, scenario);
  const { whole, frames, billed } = judged.compose(scenario);
  if (scenario.shape ? scenario.shape === 'stream' : streamed) {
    const type = { 'cache-control': 'no-cache', ...usual, 'content-type': streamType };
    const head = { status: 200, headers: { ...type, ...scenario.headers } };
    await deliver(response, head, frames(), scenario, entry);
  } else {
    await respond({ status: 200, headers: scenario.headers ?? {}, body: whole() }, scenario);
    entry.tokens = entry.end === 'complete' ? billed.completion : 0;
  }
  entry.billed = { prompt: billed.prompt, completion: entry.tokens };
}

/** Opens a vendor; `base` is the path of its SDK's base URL. */
export async function openStage<Request>(play: Play<Request>, base = ''): Promise<Stage<Request>> {
  const { origin, ...server } = await listen(
    (received, response, entry) => playCall(play, received, response, entry),
    play.headers,
  );
  return {
    ...server,
    url: `${origin}${base}`,
    key: play.key,
    script: (model, ...steps) => play.scripts.set(model, steps),
    unscript: () => play.scripts.clear(),
  };
}
