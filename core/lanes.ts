/**
 * Verbatim and translated: the two ways a body crosses. In the verbatim lane, taken if client and provider
 * speak the same protocol and no tap wants the body, the sender's own bytes go on with a few edits in place,
 * and a copy is read for metering. In the translated lane the body goes through the canonical form; changes
 * to a request on its own protocol are made in the client's JSON.
 */
import type { CanonicalRequest } from './canonical/request.ts';
import { applyStopSequences, checkJson, unwrapAnswers } from './crossing/emulations.ts';
import type { Pieces, EncodedBody, ReplyLane } from './crossing/pieces.ts';
import { isStream } from './crossing/reply-body.ts';
import { decodeWholeReply, decodeStream, type Reading } from './crossing/reply-events.ts';
import { restoreRequest } from './crossing/restore.ts';
import { spliceBytes } from './crossing/splice.ts';
import { checkArguments, repairToolResults } from './crossing/tool-results.ts';
import { joinReplies, transformEvents, writeReply, writeStream } from './crossing/translated-reply.ts';
import { forwardReply, forwardStream } from './crossing/verbatim-reply.ts';
import type { Routed } from './exchange.ts';
import type { CoreHooks } from './hooks.ts';
import { isTapped } from './host/taps.ts';
import { boundLosses, toClientPath, encodeInClientWords } from './loss.ts';
import { isSource, type EncodedRequest } from './protocol.ts';
import type { UpstreamResponse } from './provider.ts';
import { listLostWishes } from './upstream/upstream-request.ts';

const json = 'application/json';

/** Whether the call goes to this attempt's target in the client's own bytes. */
export function isVerbatim({ transformRequest, transformStream }: CoreHooks, exchange: Routed): boolean {
  const { protocol, call, attempt } = exchange;
  const { target } = attempt;
  return (
    protocol === target.protocol &&
    protocol.body === 'json' &&
    !call.carriesState &&
    (call.suits?.(target.model) ?? true) &&
    !isTapped(transformRequest, exchange) &&
    !isTapped(transformStream, exchange)
  );
}

export function encodeVerbatim(exchange: Routed): EncodedBody {
  const { call, bytes, text, attempt, grant, operation } = exchange;
  const { model, protocol, provider } = attempt.target;
  const edits = protocol.upstream.retarget({
    call,
    model: model.upstream,
    provider: provider.name,
    outputLimit: grant.outputLimit,
    capabilities: model.capabilities,
  });
  const body = spliceBytes(bytes, text, edits);
  return { verbatim: true, body, contentType: json, operation, losses: listLostWishes(exchange), stops: [] };
}

/** Text and bytes stay as they are. */
function encodeBody(body: unknown): Pick<EncodedBody, 'body' | 'source'> {
  if (isSource(body)) return { body: '', source: body };
  const isWritten = typeof body === 'string' || body instanceof Uint8Array;
  return { body: isWritten ? body : JSON.stringify(body), source: undefined };
}

export function encodeTranslated(exchange: Routed, asked: CanonicalRequest): EncodedBody {
  checkArguments(asked);
  const { attempt, grant, operation } = exchange;
  const { model, protocol, provider } = attempt.target;
  const { count, upstream } = protocol;
  const { request, losses: answers } = repairToolResults(asked, protocol !== exchange.protocol);
  const { fieldNames } = exchange.protocol.client;
  const encode = (): EncodedRequest => {
    if (count && operation === 'count') return count.encodeRequest(request, model);
    const { outputLimit } = grant;
    if (!upstream.parts || protocol !== exchange.protocol)
      return upstream.encodeRequest(request, model, outputLimit);
    const { call, text } = exchange;
    const before = exchange.getRequest();
    return restoreRequest(upstream, upstream.parts, {
      call,
      text,
      before,
      after: request,
      model,
      provider: provider.name,
      outputLimit,
    });
  };
  const encoded = encodeInClientWords(encode, { ...fieldNames, ...request.names });
  const lost = boundLosses(encoded.losses).map((loss) => ({
    ...loss,
    path: toClientPath(loss.path, request, fieldNames),
  }));
  return {
    verbatim: false,
    ...encodeBody(encoded.body),
    others: encoded.others?.map(encodeBody),
    contentType: encoded.contentType ?? json,
    operation: encoded.operation ?? operation,
    losses: [...boundLosses(answers), ...lost, ...listLostWishes(exchange)],
    stops: encoded.stops ?? [],
    expects: encoded.expects,
    unwraps: encoded.unwraps,
  };
}

/**
 * A provider's reply as text for the client, piece by piece. The first piece that is not `opening` is the
 * commit point. It ends with a piece that is `last`, or throws: a reply that stops before it is complete is
 * an error.
 */
export function crossReply(
  exchange: Routed,
  response: UpstreamResponse,
  reading: Reading,
  { verbatim, stops, expects, unwraps, transform, fetchOthers = [] }: ReplyLane,
): Pieces {
  const { call, attempt, protocol } = exchange;
  const { target } = attempt;
  const streamed = isStream(response);
  if (verbatim && streamed === call.stream)
    return streamed ? forwardStream(exchange, response, reading) : forwardReply(exchange, response, reading);
  if (protocol.client.joinReplies) return joinReplies(exchange, [response, ...fetchOthers], reading);
  const decode = streamed ? decodeStream : decodeWholeReply;
  const { tally } = reading;
  let batches = decode(target.protocol, exchange, response, reading);
  if (unwraps !== undefined) batches = unwrapAnswers(batches, unwraps);
  if (stops.length > 0) batches = applyStopSequences(batches, stops);
  if (transform) batches = transformEvents(exchange, batches, transform, tally);
  if (expects) batches = checkJson(batches, expects, tally);
  return (call.stream ? writeStream : writeReply)(exchange, batches, tally);
}
