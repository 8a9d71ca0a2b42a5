/**
 * Counts the tokens of an input. The provider is asked if it has an endpoint for that. Otherwise the gateway
 * estimates from bytes, and the reply says so.
 */
import { estimateTokens } from '../billing/cost-bounds.ts';
import type { Piece } from '../crossing/pieces.ts';
import { readText } from '../crossing/reply-body.ts';
import type { Routed, Target } from '../exchange.ts';
import type { CountSide, Protocol } from '../protocol.ts';
import type { UpstreamResponse } from '../provider.ts';
import { GatewayError } from '../util/errors.ts';

/** True if the target can count tokens: its protocol defines a count, and its provider has an endpoint. */
export function canCountTokens({ protocol, provider }: Target): boolean {
  return protocol.count !== undefined && provider.endpoints[protocol.name] !== undefined;
}

/** True if the provider has no endpoint for counts. */
export function isCountUnsupported({ status }: UpstreamResponse): boolean {
  return status === 404 || status === 405 || status === 501;
}

/** Translates a count to the client's protocol; its text is unchanged if both protocols are the same. */
export async function* translateCount(
  { protocol, attempt }: Routed,
  response: UpstreamResponse,
): AsyncGenerator<Piece> {
  const vendor = attempt.target.protocol;
  const text = await readText(response);
  const tokens = decodeCount(vendor, text);
  yield { text: vendor === protocol ? text : encodeCount(protocol, tokens), last: true, opening: false };
}

export async function* estimateCount({ protocol, call, attempt }: Routed): AsyncGenerator<Piece> {
  const tokens = estimateTokens(call, attempt.target.model);
  yield { text: encodeCount(protocol, tokens), last: true, opening: false };
}

function encodeCount(protocol: Protocol, tokens: number): string {
  return JSON.stringify(requireCountSide(protocol).encodeReply(tokens));
}

function decodeCount(vendor: Protocol, text: string): number {
  try {
    return requireCountSide(vendor).decodeReply(JSON.parse(text));
  } catch (error) {
    throw new GatewayError('upstream_failed', 'The provider sent a count that could not be read.', {
      cause: error,
    });
  }
}

function requireCountSide({ count, name }: Protocol): CountSide {
  if (count) return count;
  throw new GatewayError('internal', `The protocol "${name}" cannot count tokens.`);
}
