/**
 * Verbatim and translated: the two ways a body crosses. In the verbatim lane, taken when client and vendor speak
 * the same protocol and no tap wants the body, the sender's own bytes go on with a few edits spliced in, and a
 * copy is read for metering. In the translated lane the body goes through the canonical form.
 */
import { answeredOnce } from './answers.ts';
import type { CanonicalEvent } from './canonical/events.ts';
import type { CanonicalRequest } from './canonical/request.ts';
import { GatewayError, isGatewayError } from './errors.ts';
import type { Routed } from './exchange.ts';
import { Form, writeForm } from './form.ts';
import type { CoreHooks } from './hooks.ts';
import { clientPath, inClientWords, type Loss } from './loss.ts';
import type { EncodedRequest, Operation, Protocol, ReplyContext } from './protocol.ts';
import type { UpstreamResponse } from './provider.ts';
import { modelRenamer, renamedReply, type BlockWriter } from './renaming.ts';
import { spliceBytes } from './splice.ts';
import { stopAt } from './stop-sequences.ts';
import { frame, longestBlock, type SseBlock, SseReader } from './sse.ts';
import { isOpening, type Tally } from './tally.ts';
import { conditionOf } from './taps.ts';

/** Text for the client; `last` means success, and is held until the call is settled. */
export interface Piece {
  readonly text: string;
  readonly last: boolean;
  /** Whether all so far only opens the reply: the client need not be sent it yet. */
  readonly opening: boolean;
}

export interface EncodedBody {
  readonly body: string | Uint8Array;
  readonly contentType: string;
  readonly operation: Operation;
  readonly losses: readonly Loss[];
  /** Stop sequences that the reply has to be watched for. */
  readonly stops: readonly string[];
}

/** A reply that has to be held whole is bounded: no vendor's JSON is larger. */
const longestReply = 256 * 1024 * 1024;

export function isVerbatim(hooks: CoreHooks, exchange: Routed): boolean {
  const applies = (tap: { name: string }): boolean => conditionOf(tap)(exchange);
  return exchange.protocol === exchange.attempt.target.protocol && exchange.protocol.body === 'json' && !exchange.call.carriesState && (exchange.call.suits?.(exchange.attempt.target.model) ?? true) && !hooks.transformRequest.taps.some(applies) && !isTransformed(hooks, exchange);
}

function isTransformed({ transformStream }: CoreHooks, exchange: Routed): boolean {
  return transformStream.taps.some((tap) => conditionOf(tap)(exchange));
}

const json = 'application/json';

/** The request body for the target of the attempt at hand, and what it could not say; of a request that had to be shortened, where it was. */
export async function encodeBody(hooks: CoreHooks, exchange: Routed, verbatim: boolean, shortened?: CanonicalRequest): Promise<EncodedBody> {
  const { call, bytes, text, attempt, grant, operation } = exchange;
  const { upstream } = attempt.target.protocol;
  const { model } = attempt.target;
  if (verbatim) {
    const edits = upstream.retarget({ call, model: model.upstream, outputLimit: grant.outputLimit, capabilities: model.capabilities });
    return { body: spliceBytes(bytes, text, edits), contentType: json, operation, losses: [], stops: [] };
  }
  const { request, losses: answers } = answeredOnce(await hooks.transformRequest.promise(shortened ?? exchange.canonical(), exchange));
  const { count } = attempt.target.protocol;
  const { fieldNames } = exchange.protocol.client;
  const encode = (): EncodedRequest => (count && operation === 'count' ? count.encodeRequest(request, model) : upstream.encodeRequest(request, model, grant.outputLimit));
  const { body, losses: lost, stops = [], operation: asked = operation } = inClientWords(encode, { ...fieldNames, ...request.names });
  const losses = [...answers, ...lost.map((loss) => ({ ...loss, path: clientPath(loss.path, request, fieldNames) }))];
  return { ...(body instanceof Form ? writeForm(body) : { body: JSON.stringify(body), contentType: json }), operation: asked, losses, stops };
}

/**
 * A vendor's reply as text for the client, piece by piece; the first that is not `opening` is the commit point. Ends
 * with a piece that is `last`, or throws: a reply that stops before it is complete is an error.
 */
export function crossReply(hooks: CoreHooks, exchange: Routed, response: UpstreamResponse, tally: Tally, { verbatim, stops }: { readonly verbatim: boolean; readonly stops: readonly string[] }): AsyncGenerator<Piece> {
  const { call, attempt, protocol } = exchange;
  const { target } = attempt;
  const streamed = String(response.headers['content-type'] ?? '').toLowerCase().includes('text/event-stream');
  if (verbatim && streamed === call.stream) return streamed ? verbatimStream(exchange, response, tally) : verbatimReply(exchange, response, tally);
  const context: ReplyContext = { id: exchange.id, model: target.model.id, created: Math.floor(exchange.receivedAt / 1000), call, lost: (kind, reason) => tally.lost(kind, reason), capabilities: target.model.capabilities };
  const decoded = streamed ? streamedEvents(target.protocol, exchange, response, tally) : repliedEvents(target.protocol, exchange, response, tally);
  const batches = stops.length > 0 || isTransformed(hooks, exchange) ? transformed(hooks, exchange, decoded, stops) : decoded;
  return call.stream ? translatedStream(protocol, context, batches) : translatedReply(protocol, context, batches);
}

async function* verbatimStream(exchange: Routed, response: UpstreamResponse, tally: Tally): AsyncGenerator<Piece> {
  const { call, attempt } = exchange;
  const { upstream } = attempt.target.protocol;
  const decoder = upstream.decodeEvents(call, attempt.target.model);
  const rename = modelRenamer(upstream.modelPaths, attempt.target.model.id);
  const write = call.framing === 'array' ? arrayWriter(rename) : rename;
  let text = '';
  let lastWord = '';
  let opened = false;
  let begun = false;
  /** Whether the vendor said the frame that ends every stream: a reply may be complete by an event before it. */
  let terminated = false;
  const forward = (blocks: readonly SseBlock[]): void => {
    for (const { raw, event } of blocks) {
      if (tally.complete) break;
      const events = event ? decoder.push(event) : [];
      opened ||= event !== undefined;
      for (const each of events) tally.read(each);
      begun ||= event !== undefined && (event.event !== undefined && upstream.openings ? !upstream.openings.has(event.event) : !events.every(isOpening));
      terminated = tally.complete && event !== undefined && frame(event.data) === upstream.terminator;
      const written = isUnaskedUsage(events, call.usageWanted) ? '' : write(raw, event?.data);
      const isLast = tally.complete || (upstream.ending === 'silence' && tally.hasFinished(call.candidates));
      if (isLast) lastWord += written;
      else text += written;
      if (lastWord.length > longestBlock) throw new GatewayError('upstream_failed', 'The provider went on for too long behind the end of its reply.');
    }
  };
  /** What is there to be sent; comments before the first event do not even open a reply. Not a generator: with a `yield*` from one, replies outlived their calls by many collections. */
  const taken = (): Piece => {
    const piece = { text, last: false, opening: !begun };
    text = '';
    return piece;
  };
  const reader = new SseReader();
  for await (const chunk of response.body) {
    if (tally.complete) continue;
    // What came before that which could not be read is sent all the same.
    try {
      forward(reader.push(chunk));
    } finally {
      if (opened && text) yield taken();
    }
    if (tally.complete) yield { text: lastWord + (terminated ? '' : upstream.terminator), last: true, opening: false };
  }
  if (tally.complete) return;
  forward(reader.end());
  if (opened && text) yield taken();
  if (!tally.complete) for (const event of decoder.end()) tally.read(event);
  if (!tally.complete) throw cutShort();
  yield { text: lastWord + (terminated ? '' : upstream.terminator) + (call.framing === 'array' ? ']' : ''), last: true, opening: false };
}

/** The events of a stream as the elements of one JSON array; its end is the last word's. */
function arrayWriter(rename: BlockWriter): BlockWriter {
  let opening = '[';
  return (_, data) => {
    if (data === undefined) return '';
    const element = opening + rename(data, data);
    opening = ',\r\n';
    return element;
  };
}

/** The figures we asked the vendor for on our own account are not for a client that did not. */
function isUnaskedUsage(events: readonly CanonicalEvent[], wanted: boolean): boolean {
  return !wanted && events.length > 0 && events.every(({ type }) => type === 'usage');
}

async function* verbatimReply(exchange: Routed, response: UpstreamResponse, tally: Tally): AsyncGenerator<Piece> {
  const { target } = exchange.attempt;
  const text = await readText(response);
  for (const event of decodeReply(target.protocol, exchange, text)) tally.read(event);
  if (!tally.complete) throw cutShort();
  yield { text: renamedReply(text, target.protocol.upstream.modelPaths, target.model.id), last: true, opening: false };
}

/**
 * The events of a reply, all that one chunk held at a time: to wait for each of them, and to send it by itself, costs
 * several times what translating it does.
 */
type Batches = AsyncIterable<readonly CanonicalEvent[]>;

async function* translatedStream(protocol: Protocol, context: ReplyContext, batches: Batches): AsyncGenerator<Piece> {
  const encoder = protocol.client.encodeEvents(context);
  let opening = true;
  let lastWord: string | undefined;
  for await (const events of batches) {
    if (lastWord !== undefined) continue;
    let text = '';
    for (const event of events) {
      const frames = encoder.push(event);
      opening &&= isOpening(event);
      if (event.type === 'response-end') lastWord = frames;
      else text += frames;
    }
    if (text || opening) yield { text, last: false, opening };
    if (lastWord !== undefined) yield { text: lastWord, last: true, opening: false };
  }
  if (lastWord === undefined) throw cutShort();
}

async function* translatedReply(protocol: Protocol, context: ReplyContext, batches: Batches): AsyncGenerator<Piece> {
  const all: CanonicalEvent[] = [];
  for await (const events of batches) for (const event of events) all.push(event);
  if (all.at(-1)?.type !== 'response-end') throw cutShort();
  yield { text: JSON.stringify(protocol.client.encodeReply(all, context)), last: true, opening: false };
}

/** The events as stop sequences and taps leave them, which see them one by one. */
async function* transformed(hooks: CoreHooks, exchange: Routed, batches: Batches, stops: readonly string[]): AsyncGenerator<readonly CanonicalEvent[]> {
  const events = oneByOne(batches);
  for await (const event of hooks.transformStream.call(stops.length > 0 ? stopAt(events, stops) : events, exchange)) yield [event];
}

async function* oneByOne(batches: Batches): AsyncGenerator<CanonicalEvent> {
  for await (const events of batches) yield* events;
}

async function* streamedEvents(protocol: Protocol, { call, attempt }: Routed, response: UpstreamResponse, tally: Tally): AsyncGenerator<readonly CanonicalEvent[]> {
  const reader = new SseReader();
  const decoder = protocol.upstream.decodeEvents(call, attempt.target.model);
  const decode = ({ event }: SseBlock): readonly CanonicalEvent[] => (event ? decoder.push(event) : noEvents);
  for await (const chunk of response.body) {
    if (!tally.complete) yield* counted(reader.push(chunk), decode, tally);
  }
  if (tally.complete) return;
  yield* counted(reader.end(), decode, tally);
  if (!tally.complete) yield* counted([decoder.end()], asDecoded, tally);
}

const noEvents: readonly CanonicalEvent[] = [];
const asDecoded = (events: readonly CanonicalEvent[]): readonly CanonicalEvent[] => events;

async function* repliedEvents(protocol: Protocol, exchange: Routed, response: UpstreamResponse, tally: Tally): AsyncGenerator<readonly CanonicalEvent[]> {
  // Handed on and not awaited: this generator would hold the text for as long as it runs.
  yield* counted([await readText(response).then((text) => decodeReply(protocol, exchange, text))], asDecoded, tally);
}

/** Events as they are read, if there are any; nothing comes after a reply's end. What stops the reading is thrown behind those before it. */
function* counted<Source>(sources: readonly Source[], decode: (source: Source) => readonly CanonicalEvent[], tally: Tally): Generator<readonly CanonicalEvent[]> {
  const batch: CanonicalEvent[] = [];
  try {
    for (const source of sources) {
      for (const event of decode(source)) {
        tally.read(event);
        batch.push(event);
        if (tally.complete) return;
      }
    }
  } finally {
    if (batch.length > 0) yield batch;
  }
}

function decodeReply(protocol: Protocol, { call, attempt }: Routed, text: string): CanonicalEvent[] {
  try {
    return protocol.upstream.decodeReply(JSON.parse(text), call, attempt.target.model);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    throw new GatewayError('upstream_failed', 'The provider sent a reply that could not be read.', { cause: error });
  }
}

/** Keeps every byte: without this a mark of the byte order would be taken off. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** A body as text; bounded, since a vendor's length is nothing to trust. */
export async function readText({ body }: UpstreamResponse, limit = longestReply): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw new GatewayError('upstream_failed', 'The provider sent a longer reply than the gateway accepts.');
    chunks.push(chunk);
  }
  const [only] = chunks;
  return utf8.decode(only && chunks.length === 1 ? only : Buffer.concat(chunks));
}

function cutShort(): GatewayError {
  return new GatewayError('upstream_failed', 'The provider broke off before its reply was complete.');
}
