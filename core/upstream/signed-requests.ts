/**
 * Sends a signed request, again if the provider refuses the key and there is another by now: keys are
 * replaced while calls go on, and no call should fail for that.
 */
import type { EncodedBody } from '../crossing/pieces.ts';
import type { Routed } from '../exchange.ts';
import type { UpstreamRequest, UpstreamResponse } from '../provider.ts';
import { decodeRefusal, isKeyRefused } from './failures.ts';
import { isCountUnsupported } from './token-count.ts';
import { buildRequest } from './upstream-request.ts';

/** The keys that one attempt shows at most: the one that is known, a new one, and the one it replaces. */
const mostKeys = 3;

/** Throws what the provider refuses the request with, except a count that it does not know. */
export async function sendSigned(
  routed: Routed,
  encoded: EncodedBody,
  send: (request: UpstreamRequest) => Promise<UpstreamResponse>,
): Promise<UpstreamResponse> {
  const { attempt, operation } = routed;
  const { target } = attempt;
  let request: UpstreamRequest | undefined = await buildRequest(routed, encoded);
  for (let shown = 1; ; shown += 1) {
    const response = await send(request);
    attempt.status = response.status;
    if (response.status === 200 || (operation === 'count' && isCountUnsupported(response))) return response;
    const refusal = await decodeRefusal(target, response, request);
    const isAboutKey = shown < mostKeys && isKeyRefused(refusal, response);
    request = isAboutKey ? await target.provider.renew?.(request) : undefined;
    if (!request) throw refusal;
  }
}
