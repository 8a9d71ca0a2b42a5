/**
 * The pipeline: one call from its headers to its end. Every hook is called in this file, in order:
 * authenticate, replay, route, authorize, then for each attempt transformRequest, dispatch and
 * transformStream, and at the end meter and observe. What a step does in detail is in the file it calls.
 */
import { RunningAttempt, type Granted, awaitOutput, type StartedReply } from './attempt.ts';
import { computeCharge } from './billing/charge.ts';
import type { Core } from './core.ts';
import type { ChangedRequest, EncodedBody } from './crossing/pieces.ts';
import { correctType, isStream, unwrapCounted } from './crossing/reply-body.ts';
import { checkContext, sendWithinContext, removeReasoning } from './crossing/truncation.ts';
import { deliverReply } from './delivery.ts';
import {
  advance,
  buildEndFacts,
  type Attempt,
  type Authenticated,
  type End,
  type Failed,
  type Grant,
  type Parsed,
  type Planned,
  type Received,
  type Refused,
  type Replay,
  type Routed,
  type Target,
  mark,
} from './exchange.ts';
import { isTapped } from './host/taps.ts';
import { requireAccess, checkPermits, checkReplay } from './http/access.ts';
import { buildIdHeaders, type Call } from './http/arrival.ts';
import { buildReplyHeaders, sendError, buildStreamHeaders, noteDefaulted } from './http/reply-headers.ts';
import type { ReplyMemory } from './http/reply-memory.ts';
import type { Reply } from './http/reply.ts';
import { checkRequestHeaders } from './http/request-headers.ts';
import { crossReply, encodeTranslated, encodeVerbatim, isVerbatim } from './lanes.ts';
import { boundLosses, toLossError, type Loss } from './loss.ts';
import type { ReadBody } from './protocol.ts';
import type { UpstreamResponse } from './provider.ts';
import { toAttemptError, buildFinalError, classifyNoOutput, type Skipped } from './upstream/failures.ts';
import { planFirstAttempt, type Next, type NoneLeft } from './upstream/retries.ts';
import { sendSigned } from './upstream/signed-requests.ts';
import { allowTargets } from './upstream/targets.ts';
import { canCountTokens, translateCount, estimateCount } from './upstream/token-count.ts';
import { reportLoweredLimit } from './upstream/upstream-request.ts';
import { GatewayError, isGatewayError, toGatewayError } from './util/errors.ts';
import { rejectAfterCancel, withTimeout } from './util/timeouts.ts';

/** The client of one call: its body, not read yet, and where its reply goes. */
export interface Client extends Call {
  readonly reply: Reply;
  /** Reads the whole body as text and as a value. Throws `body_too_large` as soon as it is. */
  readBody(principal: Authenticated['principal']): Promise<ReadBody>;
}

/** Writes a call's end to the ledger, once. Resolves when the entry is durable, or after `longestHold`. */
export type Meter = (end: End) => Promise<void>;

/** Milliseconds that a finished reply waits for the ledger, which retries the entry after that. */
const longestHold = 5000;

/** Runs a call to its end. Never rejects: every error becomes the call's end. */
export function runCall(core: Core, received: Received, client: Client): Promise<End> {
  return runToEnd(core, received, client).then((end) => {
    void core.hooks.observe.promise(end);
    return end;
  });
}

async function runToEnd(core: Core, received: Received, client: Client): Promise<End> {
  let meter: Meter | undefined;
  try {
    const known = await core.hooks.authenticate.promise(received);
    const principal = requireAccess(known, 'user', received.method);
    checkPermits(principal, received);
    mark(received, 'authenticated');
    const parsed = parseCall(advance(received, { principal }), await client.readBody(principal), client);
    mark(parsed, 'read');
    noteDefaulted(client.reply, parsed.call);
    const replay = await core.hooks.replay.promise(parsed);
    mark(parsed, 'replayed');
    if (replay) {
      const [asked] = core.findTargets(parsed.call.model, parsed.protocol);
      checkReplay(replay, principal, asked?.model.id ?? parsed.call.model);
      // A replay has its own request id, whatever the stored headers say.
      client.reply.setHead(replay.status, { ...replay.headers, ...buildIdHeaders(parsed.id) });
      await sendReplay(core, replay, parsed, client);
      return { type: 'replayed', exchange: parsed, replay, ...buildEndFacts(parsed, []) };
    }
    const planned = advance(parsed, { targets: await routeCall(core, parsed) });
    mark(planned, 'routed');
    meter = createMeter(core, planned);
    const grant = await core.hooks.authorize.promise({ targets: planned.targets }, planned);
    mark(planned, 'authorized');
    return await tryTargets(core, { planned, grant }, client, meter);
  } catch (thrown) {
    const exchange: Received & Partial<Parsed> = received;
    const facts = buildEndFacts(received, []);
    const end: Refused = { type: 'refused', exchange, error: toGatewayError(thrown), ...facts };
    await meter?.(end);
    sendError(client, end.error, exchange.call);
    return end;
  }
}

/** What a replay sends as it comes ends with the client. */
async function sendReplay(
  core: Core,
  replay: Replay,
  { cancellation }: Parsed,
  client: Client,
): Promise<void> {
  const { reply, protocol } = client;
  if (replay.stream && protocol.client.keepAlive)
    reply.keepAlive(protocol.client.keepAlive, core.keepAliveEvery);
  for await (const text of replay.stream ?? []) {
    if (cancellation.clientLeft) break;
    await reply.write(text);
  }
  reply.finish(replay.body);
}

/** Reads and checks what the body of a call says. */
export function parseCall(
  exchange: Authenticated,
  { bytes, text, value, ownText }: ReadBody,
  { protocol, match, reply }: Call & { readonly reply: Pick<Reply, 'record'> },
): Parsed {
  const call = protocol.client.read(value, text, match, exchange.headers);
  checkRequestHeaders(exchange.headers, call);
  let request: ReturnType<typeof call.decode> | undefined;
  return advance(exchange, {
    protocol,
    bytes,
    text,
    ownText,
    call,
    getRequest: () => (request ??= call.decode()),
    record: (limit: number) => reply.record(limit),
  });
}

/** The targets of a call, in the order to try. */
export async function routeCall(core: Core, parsed: Parsed): Promise<readonly Target[]> {
  const found = core.findTargets(parsed.call.model, parsed.protocol);
  return allowTargets(core, parsed, await core.hooks.route.promise(found, parsed));
}

/** Once `authorize` is called, every end is metered exactly once, before the reply's last bytes. */
function createMeter({ hooks }: Core, planned: Planned): Meter {
  let metered: Promise<void> | undefined;
  return (end) =>
    withTimeout((metered ??= hooks.meter.promise(end)), longestHold).then(() => mark(planned, 'settled'));
}

/** What a call may use while its targets are tried. */
interface Walk {
  /** The grant without the targets that were skipped. */
  grant: Grant;
  /** What the current attempt may use. */
  own: Grant;
  readonly skipped: Skipped[];
}

/** Tries the granted targets, each as often as the retry policy decides, until one starts its reply. */
async function tryTargets(
  core: Core,
  { planned, grant }: Granted,
  client: Client,
  meter: Meter,
): Promise<End> {
  const { call, protocol } = planned;
  if (call.stream && protocol.client.keepAlive) {
    client.reply.setHead(200, { ...grant.headers, ...buildStreamHeaders(call) });
    client.reply.keepAlive(protocol.client.keepAlive, core.keepAliveEvery);
  }
  let attempts: readonly Attempt[] = [];
  const walk: Walk = { grant, own: grant, skipped: [] };
  let failure: Failed | undefined;
  for (let next: Next | NoneLeft = planFirstAttempt(grant.targets[0]); next.target;) {
    const running = new RunningAttempt(core, { planned, grant: walk.own }, next, attempts.length + 1);
    const { routed } = running;
    attempts = attempts.concat(routed.attempt);
    let started: StartedReply;
    try {
      started = await rejectAfterCancel(startReply(core, running, client), routed.attempt.cancellation);
    } catch (thrown) {
      running.end(toAttemptError(thrown, routed));
      next = await planAttempt(core, walk, routed, attempts);
      // The policy may have waited. If the client disconnected meanwhile, that is the error.
      const last = toAttemptError(thrown, routed);
      const error = buildFinalError(attempts, last, !next.target && next.isFinal, walk.skipped);
      const charge = computeCharge(classifyNoOutput(routed), routed, running.tally);
      failure = { type: 'failed', exchange: routed, error, charge, ...buildEndFacts(routed, attempts) };
      continue;
    }
    running.noteOutput();
    client.reply.setHead(200, buildReplyHeaders(routed, started.losses, started.estimated, started.type));
    return await deliverReply(running, started, { client, meter, attempts });
  }
  if (!failure)
    throw new GatewayError('model_not_found', 'No provider was left for this call.', { param: 'model' });
  await meter(failure);
  client.reply.setHead(200, { ...grant.headers, 'x-tollgate-attempts': String(attempts.length) });
  client.reply.addCost(failure.charge.cost);
  sendError(client, failure.error, call);
  return failure;
}

/**
 * Plans the attempt after a failed one, with what it may use. A target that a tap of `extend` refuses is
 * skipped, and the next one is planned.
 */
async function planAttempt(
  core: Core,
  walk: Walk,
  routed: Routed,
  attempts: readonly Attempt[],
): Promise<Next | NoneLeft> {
  for (;;) {
    const next = await core.retries.planNextAttempt(routed, attempts);
    if (!next.target || next.isRetry) return next;
    const { target } = next;
    const { targets } = walk.grant;
    try {
      walk.own = {
        ...(await core.hooks.extend.promise({ ...walk.grant, targets: [target] }, routed)),
        targets,
      };
      if (!routed.cancellation.cancelled) return next;
    } catch (thrown) {
      walk.skipped.push({ target, error: toGatewayError(thrown) });
      if (!isGatewayError(thrown)) routed.logger.error({ error: thrown, call: routed.id }, 'a tap failed');
      walk.grant = { ...walk.grant, targets: targets.filter((each) => each !== target) };
      advance(routed, { grant: { ...routed.grant, targets: walk.grant.targets } });
    }
    core.retries.skip(target);
  }
}

/**
 * Sends one attempt's request and waits for the first output of its reply. Whatever fails before that
 * concerns no client yet: the same target can be retried, or another one can take over.
 */
function startReply(core: Core, running: RunningAttempt, { reply }: Client): Promise<StartedReply> {
  const { routed } = running;
  const { memory } = reply;
  memory.reset();
  if (routed.operation === 'count' && !canCountTokens(routed.attempt.target))
    return awaitOutput(running, memory, estimateCount(routed), estimate);
  const stripped = routed.attempt.withoutReasoning ? removeReasoning(routed.getRequest()) : undefined;
  if (stripped) refuseLosses(core, routed, stripped.losses);
  const send = (shortened?: ChangedRequest): Promise<StartedReply> =>
    sendRequest(core, running, memory, shortened);
  return routed.call.truncates ? sendWithinContext(routed, stripped, send) : send(stripped);
}

const estimate = { losses: [], estimated: true } as const;

/** `shortened` replaces a request that was too long, or whose reasoning the provider refused. */
async function sendRequest(
  core: Core,
  running: RunningAttempt,
  memory: ReplyMemory,
  shortened?: ChangedRequest,
): Promise<StartedReply> {
  const { routed, tally } = running;
  const { transformStream } = core.hooks;
  const encoded = await encodeCall(core, routed, shortened);
  refuseLosses(core, routed, encoded.losses);
  const losses = [...encoded.losses, ...boundLosses(shortened?.losses ?? []), ...reportLoweredLimit(routed)];
  routed.attempt.losses = losses;

  const response = await dispatchBody(core, routed, memory, encoded);
  if (response.status !== 200) return awaitOutput(running, memory, estimateCount(routed), estimate);
  const pieces =
    routed.operation === 'count'
      ? translateCount(routed, response)
      : crossReply(
          routed,
          isStream(response) === routed.call.stream ? response : await correctType(response),
          { tally, memory },
          {
            ...encoded,
            transform: isTapped(transformStream, routed)
              ? (events) => transformStream.call(events, routed)
              : undefined,
            fetchOthers: encoded.others?.map(
              (body) => () => dispatchBody(core, routed, memory, { ...encoded, ...body }),
            ),
          },
        );
  return await awaitOutput(running, memory, pieces, { losses, estimated: false });
}

/** Signs and sends one body of a call. */
function dispatchBody(
  { hooks }: Core,
  routed: Routed,
  memory: ReplyMemory,
  encoded: EncodedBody,
): Promise<UpstreamResponse> {
  const { target } = routed.attempt;
  const { unwrap } = target.provider;
  return sendSigned(routed, encoded, async (request) => {
    const wrapped = await hooks.dispatch.promise(request, routed);
    if (!wrapped) throw new GatewayError('internal', 'No plugin dispatched the call.');
    return unwrap
      ? await unwrapCounted(wrapped, memory, (whole) => unwrap(whole, target, encoded.operation))
      : wrapped;
  });
}

/** The body for an attempt's target, in one of the two lanes. */
export async function encodeCall(
  { hooks }: Pick<Core, 'hooks'>,
  routed: Routed,
  shortened?: ChangedRequest,
): Promise<EncodedBody> {
  if (routed.operation === 'generate' && !shortened) checkContext(routed);
  if (!shortened && isVerbatim(hooks, routed)) return encodeVerbatim(routed);
  const asked = shortened?.request ?? routed.getRequest();
  if (!isTapped(hooks.transformRequest, routed)) return encodeTranslated(routed, asked);
  // A tap may change its request in place, and what it changes is found by comparing. A task is not copied:
  // its files may be on the disk.
  const { task, ...rest } = asked;
  const own = task === undefined ? structuredClone(asked) : { ...structuredClone(rest), task };
  return encodeTranslated(routed, await hooks.transformRequest.promise(own, routed));
}

export function refuseLosses(
  { rejectsLoss }: Pick<Core, 'rejectsLoss'>,
  { call, attempt }: Routed,
  losses: readonly Loss[],
): void {
  if (losses.length === 0 || !(rejectsLoss || call.preferences.require_parameters)) return;
  throw toLossError(losses, attempt.target.model.id);
}
