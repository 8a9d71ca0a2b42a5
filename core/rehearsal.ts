/**
 * Takes the steps of a call up to the signature, for previews. Nothing is sent, reserved or charged, no hook
 * but `route` and `transformRequest` runs, and no credential is in the result.
 */
import { Run } from './attempt.ts';
import type { Core } from './core.ts';
import { advance, type Authenticated, type Parsed, type Routed, type Target } from './exchange.ts';
import { Arrival } from './http/arrival.ts';
import { parseJson } from './http/json-body.ts';
import type { RehearsedCall, RehearsedRequest, Rehearsal } from './operations.ts';
import { encodeCall, parseCall, refuseLosses, routeCall } from './pipeline.ts';
import type { ErrorReply } from './protocol.ts';
import { canCountTokens } from './upstream/token-count.ts';
import { buildUnsigned, reportLoweredLimit } from './upstream/upstream-request.ts';
import { toGatewayError } from './util/errors.ts';

export async function rehearseCall(core: Core, call: RehearsedCall): Promise<Rehearsal> {
  const { protocol, match } = call;
  const received = receive(core, call);
  const encodeRefusal = (thrown: unknown): ErrorReply =>
    protocol.client.encodeError(toGatewayError(thrown), received.id, match);
  let parsed: Parsed | undefined;
  try {
    const own = parseJson(Buffer.from(call.body));
    const { account } = received.principal;
    const body = (await protocol.client.expand?.(own, { account, match })) ?? own;
    const known = parseCall(received, body, { protocol, match, reply: { record: () => undefined } });
    parsed = known;
    return {
      model: known.call.model,
      error: undefined,
      chosen: await routeCall(core, known),
      offered: core.findTargets(known.call.model, protocol),
      encode: (target, isSpoken) =>
        encodeFor(core, advance(receive(core, call), pickParsed(known)), { target, isSpoken }, encodeRefusal),
    };
  } catch (thrown) {
    return { model: parsed?.call.model, error: encodeRefusal(thrown) };
  }
}

/** The exchange of a call that no client sent. */
function receive(core: Core, call: RehearsedCall): Authenticated {
  const { protocol, match, path, query, headers } = call;
  const req = { headers, socket: { remoteAddress: '127.0.0.1' } };
  const received = new Arrival(
    core,
    { method: 'POST', path, querystring: query, req },
    { family: protocol.name, operation: match.operation },
  );
  const caller: Pick<Authenticated, 'preview' | 'principal'> = {
    preview: true,
    principal: call.principal ?? { kind: 'user', account: '', key: '' },
  };
  return advance(received, caller);
}

/** What parsing added to an exchange. Each target has one of its own, so that they can be encoded at once. */
function pickParsed({ protocol, bytes, text, ownText, call, getRequest, record }: Parsed) {
  return { protocol, bytes, text, ownText, call, getRequest, record };
}

async function encodeFor(
  core: Core,
  parsed: Parsed,
  { target, isSpoken }: { readonly target: Target; readonly isSpoken: boolean },
  encodeRefusal: (thrown: unknown) => ErrorReply,
): Promise<RehearsedRequest> {
  const { cancellation, operation } = parsed;
  const attempt = new Run({ target, isRetry: false, withoutReasoning: false }, 1, cancellation);
  const routed: Routed = advance(parsed, { targets: [target], grant: { targets: [target] }, attempt });
  let known: RehearsedRequest = { lane: undefined, request: undefined, losses: [], error: undefined };
  if (operation === 'count' && !canCountTokens(target)) return { ...known, lane: 'estimated' };
  try {
    const encoded = await encodeCall(core, routed);
    const { verbatim, body, contentType } = encoded;
    const losses = [...encoded.losses, ...reportLoweredLimit(routed)];
    known = { ...known, lane: verbatim ? 'verbatim' : 'translated', losses };
    const request: RehearsedRequest['request'] = isSpoken
      ? buildUnsigned(routed, encoded)
      : { method: 'POST', url: undefined, headers: { 'content-type': contentType }, body };
    known = { ...known, request };
    refuseLosses(core, routed, encoded.losses);
    return known;
  } catch (thrown) {
    return { ...known, error: encodeRefusal(thrown) };
  }
}
