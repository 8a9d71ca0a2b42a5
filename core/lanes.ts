/**
 * Verbatim and translated: the two ways a body crosses. In the verbatim lane, taken when client and vendor speak
 * the same protocol and no tap wants the body, the sender's own bytes go on with a few edits spliced in, and a
 * copy is read for metering. In the translated lane the body goes through the canonical form.
 */
import { isOpening } from './billing/reply-progress.ts';
import type { CanonicalEvent } from './canonical/events.ts';
import type { CanonicalRequest } from './canonical/request.ts';
import { checkedJson } from './crossing/json-check.ts';
import { modelRenamer, renamedReply, type BlockWriter } from './crossing/rename-model.ts';
import {
  type Batches,
  cutShort,
  decodeReply,
  heaviest,
  readWhole,
  type Reading,
  repliedEvents,
  streamedEvents,
} from './crossing/reply-events.ts';
import { spliceBytes } from './crossing/splice.ts';
import { frame, longestBlock, type SseBlock, SseReader } from './crossing/sse.ts';
import { stopAt } from './crossing/stop-sequences.ts';
import { answeredApart, answeredOnce, type Answered } from './crossing/tool-results.ts';
import { GatewayError } from './errors.ts';
import type { Routed } from './exchange.ts';
import type { CoreHooks } from './hooks.ts';
import { conditionOf } from './host/taps.ts';
import { Form, writeForm } from './http/form.ts';
import { boundLosses, clientPath, inClientWords, type Loss } from './loss.ts';
import type { EncodedRequest, Operation, Protocol, ReplyContext } from './protocol.ts';
import type { UpstreamResponse } from './provider.ts';
import { heeding } from './util/timeouts.ts';

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
  /** What its text is checked for. */
  readonly expects: EncodedRequest['expects'];
}

/** Whether the call goes to this attempt's target in the client's own bytes. */
export function isVerbatim({ transformRequest, transformStream }: CoreHooks, exchange: Routed): boolean {
  const {
    protocol,
    call,
    attempt: { target },
  } = exchange;
  return (
    protocol === target.protocol &&
    protocol.body === 'json' &&
    !call.carriesState &&
    (call.suits?.(target.model) ?? true) &&
    !isTapped(transformRequest, exchange) &&
    !isTapped(transformStream, exchange)
  );
}

/** Whether a tap of a hook that changes bodies applies to the exchange. */
function isTapped(
  { taps }: { readonly taps: readonly { readonly name: string }[] },
  exchange: Routed,
): boolean {
  return taps.some((tap) => conditionOf(tap)(exchange));
}

const json = 'application/json';

/** Writes the request body for the target of the attempt at hand. `shortened` stands in for a request that was too long for its model. */
export async function encodeBody(
  hooks: CoreHooks,
  exchange: Routed,
  verbatim: boolean,
  shortened?: CanonicalRequest,
): Promise<EncodedBody> {
  const { call, bytes, text, attempt, grant, operation } = exchange;
  const { upstream } = attempt.target.protocol;
  const { model } = attempt.target;
  if (verbatim) {
    const edits = upstream.retarget({
      call,
      model: model.upstream,
      outputLimit: grant.outputLimit,
      capabilities: model.capabilities,
    });
    return {
      body: spliceBytes(bytes, text, edits),
      contentType: json,
      operation,
      losses: [],
      stops: [],
      expects: undefined,
    };
  }
  const { request, losses: answers } = answered(
    await hooks.transformRequest.promise(shortened ?? exchange.canonical(), exchange),
    exchange,
  );
  const { count } = attempt.target.protocol;
  const { fieldNames } = exchange.protocol.client;
  const encode = (): EncodedRequest =>
    count && operation === 'count'
      ? count.encodeRequest(request, model)
      : upstream.encodeRequest(request, model, grant.outputLimit);
  const {
    body,
    losses: lost,
    stops = [],
    expects,
    operation: asked = operation,
  } = inClientWords(encode, { ...fieldNames, ...request.names });
  const told = boundLosses(lost).map((loss) => ({
    ...loss,
    path: clientPath(loss.path, request, fieldNames),
  }));
  const losses = [...boundLosses(answers), ...told];
  return {
    ...(body instanceof Form ? writeForm(body) : { body: JSON.stringify(body), contentType: json }),
    operation: asked,
    losses,
    stops,
    expects,
  };
}

/** The request with one result for each call, and where another protocol is to take it, each where that wants it. */
function answered(asked: CanonicalRequest, { protocol, attempt }: Routed): Answered {
  const once = answeredOnce(asked);
  if (protocol === attempt.target.protocol) return once;
  const { request, losses } = answeredApart(once.request);
  return { request, losses: [...once.losses, ...losses] };
}

/** How the reply to a request crosses, which follows from how the request did. */
export interface ReplyLane {
  readonly verbatim: boolean;
  /** Stop sequences that the reply has to be watched for. */
  readonly stops: readonly string[];
  /** What its text is checked for. */
  readonly expects?: EncodedRequest['expects'];
}

/**
 * A vendor's reply as text for the client, piece by piece; the first that is not `opening` is the commit point. Ends
 * with a piece that is `last`, or throws: a reply that stops before it is complete is an error.
 */
export function crossReply(
  hooks: CoreHooks,
  exchange: Routed,
  response: UpstreamResponse,
  reading: Reading,
  lane: ReplyLane,
): AsyncGenerator<Piece> {
  const { verbatim, stops } = lane;
  const { tally } = reading;
  const { call, attempt, protocol } = exchange;
  const { target } = attempt;
  const streamed = String(response.headers['content-type'] ?? '')
    .toLowerCase()
    .includes('text/event-stream');
  if (verbatim && streamed === call.stream)
    return streamed
      ? verbatimStream(exchange, response, reading)
      : verbatimReply(exchange, response, reading);
  const context: ReplyContext = {
    id: exchange.id,
    model: target.model.id,
    created: Math.floor(exchange.receivedAt / 1000),
    now: () => Math.floor(Date.now() / 1000),
    call,
    lost: (kind, reason) => tally.lost(kind, reason),
    capabilities: target.model.capabilities,
  };
  const decoded = streamed
    ? streamedEvents(target.protocol, exchange, response, reading)
    : repliedEvents(target.protocol, exchange, response, reading);
  const changed =
    stops.length > 0 || isTapped(hooks.transformStream, exchange)
      ? transformed(hooks, exchange, decoded, stops)
      : decoded;
  const batches = lane.expects ? checkedJson(changed, lane.expects, tally) : changed;
  return call.stream
    ? translatedStream(protocol, context, batches)
    : translatedReply(protocol, context, batches);
}

async function* verbatimStream(
  exchange: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): AsyncGenerator<Piece> {
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
      for (const each of events) tally.read(each);
      if (event && events.length === 0) tally.keptLength += event.data.length;
      const isTerminator =
        event !== undefined &&
        event.data.length <= upstream.terminator.length &&
        frame(event.data) === upstream.terminator;
      // A reply that is not complete must not look it.
      if (events[0]?.type === 'unreadable' || (isTerminator && !tally.complete)) continue;
      opened ||= event !== undefined;
      if (event && !begun)
        begun =
          event.event !== undefined && upstream.openings
            ? !upstream.openings.has(event.event)
            : !events.every(isOpening);
      terminated = isTerminator;
      const written = isUnaskedUsage(events, call.usageWanted) ? '' : write(raw, event?.data);
      const isLast = tally.complete || (upstream.ending === 'silence' && tally.hasFinished(call.candidates));
      if (isLast) lastWord += written;
      else text += written;
      if (lastWord.length > longestBlock)
        throw new GatewayError(
          'upstream_failed',
          'The provider went on for too long behind the end of its reply.',
        );
    }
  };
  /** Takes what is there to be sent. Not a generator: with a `yield*` from one, replies stayed in memory long after their calls. */
  const taken = (): Piece => {
    const piece = { text, last: false, opening: !begun };
    text = '';
    return piece;
  };
  const reader = new SseReader();
  const held = memory.slot();
  for await (const chunk of response.body) {
    if (tally.complete) continue;
    const blocks = reader.push(chunk);
    held.set(reader.waiting + heaviest(blocks) + text.length + lastWord.length + tally.keptLength);
    // Where a chunk cannot be read to its end, what came before that place is sent all the same.
    try {
      forward(blocks);
    } finally {
      // Comments before the first event do not open a reply.
      if (opened && text) yield taken();
    }
    if (tally.complete)
      yield { text: lastWord + (terminated ? '' : upstream.terminator), last: true, opening: false };
  }
  if (tally.complete) return;
  forward(reader.end());
  if (opened && text) yield taken();
  if (!tally.complete) for (const event of decoder.end()) tally.read(event);
  if (!tally.complete) throw cutShort();
  yield {
    text: lastWord + (terminated ? '' : upstream.terminator) + (call.framing === 'array' ? ']' : ''),
    last: true,
    opening: false,
  };
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

async function* verbatimReply(
  exchange: Routed,
  response: UpstreamResponse,
  { tally, memory }: Reading,
): AsyncGenerator<Piece> {
  const { target } = exchange.attempt;
  const text = await readWhole(response, memory);
  for (const event of decodeReply(target.protocol, exchange, text)) tally.read(event);
  if (!tally.complete) throw cutShort();
  yield {
    text: renamedReply(text, target.protocol.upstream.modelPaths, target.model.id),
    last: true,
    opening: false,
  };
}

async function* translatedStream(
  protocol: Protocol,
  context: ReplyContext,
  batches: Batches,
): AsyncGenerator<Piece> {
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

async function* translatedReply(
  protocol: Protocol,
  context: ReplyContext,
  batches: Batches,
): AsyncGenerator<Piece> {
  const all: CanonicalEvent[] = [];
  for await (const events of batches) for (const event of events) all.push(event);
  if (all.at(-1)?.type !== 'response-end') throw cutShort();
  yield { text: JSON.stringify(protocol.client.encodeReply(all, context)), last: true, opening: false };
}

/** The events as stop sequences and taps leave them. Both are given one event at a time. */
async function* transformed(
  hooks: CoreHooks,
  exchange: Routed,
  batches: Batches,
  stops: readonly string[],
): Batches {
  const events = oneByOne(batches);
  const transformed = hooks.transformStream.call(stops.length > 0 ? stopAt(events, stops) : events, exchange);
  const tapped = transformed[Symbol.asyncIterator]();
  const next = (): Promise<IteratorResult<CanonicalEvent>> =>
    heeding(tapped.next(), exchange.attempt.cancellation);
  try {
    for (let step = await next(); !step.done; step = await next()) yield [step.value];
  } finally {
    // Not waited for: one that never answered does not answer now.
    tapped.return?.().catch(() => undefined);
  }
}

async function* oneByOne(batches: Batches): AsyncGenerator<CanonicalEvent> {
  for await (const events of batches) yield* events;
}
