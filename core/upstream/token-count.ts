/**
 * Counting the tokens of an input. The vendor's own figure is asked for where it has an address for that; where it
 * has none the gateway answers with an estimate from bytes, which its reply says.
 */
import { inputEstimate } from '../billing/charge.ts';
import { readText } from '../crossing/reply-events.ts';
import { GatewayError } from '../errors.ts';
import type { Routed, Target } from '../exchange.ts';
import type { Piece } from '../lanes.ts';
import type { CountSide, Protocol } from '../protocol.ts';
import type { UpstreamResponse } from '../provider.ts';

/** Whether the target's vendor can be asked: its protocol knows how to count, and its provider has an address for calls. */
export function countsTokens({ protocol, provider }: Target): boolean {
  return protocol.count !== undefined && provider.endpoints[protocol.name] !== undefined;
}

/** Whether the vendor has nothing at the address of counts. */
export function lacksCount({ status }: UpstreamResponse): boolean {
  return status === 404 || status === 405 || status === 501;
}

/** A vendor's count in the client's words; its own text where these are the same. */
export async function* crossCount(
  { protocol, attempt }: Routed,
  response: UpstreamResponse,
): AsyncGenerator<Piece> {
  const vendor = attempt.target.protocol;
  const text = await readText(response);
  const tokens = decodeCount(vendor, text);
  yield {
    text: vendor === protocol ? text : JSON.stringify(sideOf(protocol).encodeReply(tokens)),
    last: true,
    opening: false,
  };
}

function decodeCount(vendor: Protocol, text: string): number {
  try {
    return sideOf(vendor).decodeReply(JSON.parse(text));
  } catch (error) {
    throw new GatewayError('upstream_failed', 'The provider sent a count that could not be read.', {
      cause: error,
    });
  }
}

function sideOf({ count, name }: Protocol): CountSide {
  if (count) return count;
  throw new GatewayError('internal', `The protocol "${name}" counts no tokens.`);
}

export async function* estimatedCount(exchange: Routed): AsyncGenerator<Piece> {
  yield {
    text: JSON.stringify(
      sideOf(exchange.protocol).encodeReply(inputEstimate(exchange.call, exchange.attempt.target.model)),
    ),
    last: true,
    opening: false,
  };
}
