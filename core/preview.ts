/**
 * Shows what the gateway would send for a call: for each target of the model and each wire, the request and
 * everything lost on the way. It takes the steps of a call, up to the signature. Nothing is sent, reserved
 * or charged, no hook but `route` and `transformRequest` runs, and no credential is in the result.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Run } from './attempt.ts';
import type { Core } from './core.ts';
import { reportLoweredLimit } from './crossing/output-limit.ts';
import type { EncodedBody } from './crossing/pieces.ts';
import { advance, type Authenticated, type Parsed, type Routed, type Target, Trace } from './exchange.ts';
import { describeForm } from './http/form.ts';
import { parseJson } from './http/json-body.ts';
import { createRequestId } from './http/request-id.ts';
import type { PreviewRequest, CrossingPreview, Preview } from './operations.ts';
import { encodeCall, parseCall, refuseLosses, routeCall } from './pipeline.ts';
import type { ErrorReply, Match, Protocol } from './protocol.ts';
import { canCountTokens } from './upstream/token-count.ts';
import { buildUnsigned } from './upstream/upstream-request.ts';
import { Cancellation } from './util/cancellation.ts';
import { GatewayError, toGatewayError } from './util/errors.ts';

/** Crossings shown at most. Each one encodes the whole request. */
const mostCrossings = 24;

type PreviewCore = Pick<Core, 'hooks' | 'protocols' | 'catalog' | 'findTargets' | 'logger' | 'rejectsLoss'>;

/** Throws `not_found` if no protocol has the path. */
export async function previewCall(core: Core, request: PreviewRequest): Promise<Preview> {
  const [protocol, match] = findProtocol(core, request);
  const received = receive(core, protocol, match, request);
  const encodeRefusal = (thrown: unknown): ErrorReply =>
    protocol.client.encodeError(toGatewayError(thrown), received.id, match);
  let parsed: Parsed | undefined;
  try {
    const body = parseJson(Buffer.from(request.body));
    parsed = parseCall(received, body, { protocol, match, reply: { record: () => undefined } });
    const chosen = await routeCall(core, parsed);
    const all = listCrossings(core, parsed, chosen, request.everyWire ?? false);
    const crossings: CrossingPreview[] = [];
    for (const crossing of all.slice(0, mostCrossings)) {
      crossings.push(await previewCrossing(core, parsed, crossing, encodeRefusal));
      await nextTurn();
    }
    const { model } = parsed.call;
    return {
      protocol: protocol.name,
      model,
      error: undefined,
      crossings,
      omitted: all.length - crossings.length,
    };
  } catch (thrown) {
    return {
      protocol: protocol.name,
      model: parsed?.call.model,
      error: encodeRefusal(thrown),
      crossings: [],
      omitted: 0,
    };
  }
}

function findProtocol({ protocols }: PreviewCore, { path, query }: PreviewRequest): [Protocol, Match] {
  for (const protocol of protocols.list()) {
    const match = protocol.client.match('POST', path, query);
    if (match) return [protocol, match];
  }
  throw new GatewayError('not_found', `No protocol has an endpoint at POST ${path.slice(0, 200)}.`, {
    param: 'path',
  });
}

/** The exchange of a preview: no client sent the call. */
function receive(
  { logger }: PreviewCore,
  protocol: Protocol,
  { operation }: Match,
  { path, query, headers = {} }: PreviewRequest,
): Authenticated {
  const cancellation = new Cancellation();
  return {
    id: createRequestId(),
    family: protocol.name,
    operation,
    access: 'user',
    method: 'POST',
    path,
    query: new URLSearchParams(query),
    headers,
    address: '127.0.0.1',
    receivedAt: Date.now(),
    startedAt: performance.now(),
    signal: cancellation.signal,
    cancellation,
    logger,
    trace: new Trace(),
    preview: true,
    principal: { kind: 'user', account: '', key: '' },
  };
}

interface Crossing extends Pick<CrossingPreview, 'isChosen' | 'isSpoken'> {
  readonly target: Target;
}

/** The chosen targets in order, then the others, each by all its wires. A provider's keys count as one. */
function listCrossings(
  core: PreviewCore,
  parsed: Parsed,
  chosen: readonly Target[],
  everyWire: boolean,
): Crossing[] {
  const offered = core.findTargets(parsed.call.model, parsed.protocol);
  const crossings = new Map<string, Crossing>();
  for (const target of [...chosen, ...offered]) {
    const spoken = new Set([target.protocol, ...(target.wires ?? [])]);
    const others = everyWire
      ? [...core.protocols.list()].filter((wire) => isComparable(wire, parsed, target))
      : [];
    for (const protocol of new Set([...spoken, ...others])) {
      const key = JSON.stringify([target.provider.name, target.model.id, protocol.name]);
      const isChosen = chosen.includes(target) && protocol === target.protocol;
      if (crossings.has(key)) continue;
      crossings.set(key, {
        target: protocol === target.protocol ? target : { ...target, protocol },
        isChosen,
        isSpoken: spoken.has(protocol),
      });
    }
  }
  return [...crossings.values()];
}

/** Whether a model could be called by this wire: a protocol of forms is for pictures. */
function isComparable({ body }: Protocol, { protocol }: Parsed, { model }: Target): boolean {
  return body === 'json' || protocol.body !== 'json' || model.output.includes('image');
}

async function previewCrossing(
  core: Core,
  parsed: Parsed,
  { target, isChosen, isSpoken }: Crossing,
  encodeRefusal: (thrown: unknown) => ErrorReply,
): Promise<CrossingPreview> {
  const { cancellation, operation } = parsed;
  const attempt = new Run({ target, isRetry: false, withoutReasoning: false }, 1, cancellation);
  const routed: Routed = advance({ ...parsed }, { targets: [target], grant: { targets: [target] }, attempt });
  const facts = {
    provider: target.provider.name,
    model: target.model.id,
    wire: target.protocol.name,
    isChosen,
    isSpoken,
  };
  const nothing = { ...facts, lane: undefined, request: undefined, losses: [], error: undefined };
  if (operation === 'count' && !canCountTokens(target)) return { ...nothing, lane: 'estimated' };
  let shown: CrossingPreview = nothing;
  try {
    const encoded = await encodeCall(core, routed);
    const losses = [...encoded.losses, ...reportLoweredLimit(routed)];
    shown = { ...nothing, lane: encoded.verbatim ? 'verbatim' : 'translated', losses };
    shown = { ...shown, request: describeRequest(routed, encoded, isSpoken) };
    refuseLosses(core, routed, encoded.losses);
    return shown;
  } catch (thrown) {
    return { ...shown, error: encodeRefusal(thrown) };
  }
}

function describeRequest(
  routed: Routed,
  encoded: EncodedBody,
  isSpoken: boolean,
): CrossingPreview['request'] {
  const text = typeof encoded.body === 'string' ? encoded.body : describeBytes(encoded);
  if (!isSpoken) return { method: 'POST', url: undefined, headers: {}, body: text };
  const { method, url, headers, body } = buildUnsigned(routed, encoded);
  return {
    method,
    url: omitUser(url),
    headers,
    body: body === encoded.body ? text : describeBytes({ ...encoded, body }),
  };
}

function describeBytes({ body, contentType }: EncodedBody): string {
  return typeof body === 'string' ? body : describeForm(body, contentType);
}

/** An operator may have put a name and a password into a base URL. */
function omitUser(address: string): string {
  if (!address.includes('@')) return address;
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}
