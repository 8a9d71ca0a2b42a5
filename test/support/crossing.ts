/** Takes a body, or a reply, through the gateway's whole translation without sockets. */
import { shortenTo } from '../../core/crossing/truncation.ts';
import { parseJson } from '../../core/http/json-body.ts';
import { ReplyBudget, ReplyMemory } from '../../core/http/reply-memory.ts';
import {
  freePrice,
  isGatewayError,
  type ClientHeaders,
  type Match,
  type Model,
  type Protocol,
  type Provider,
  type Routed,
} from '../../core/index.ts';
import { crossReply, encodeTranslated, encodeVerbatim } from '../../core/lanes.ts';
import { formatPaths } from '../../core/loss.ts';
import { Tally } from '../../core/tally.ts';
import { requireModel, protocol as images } from '../images/bodies.ts';
import { buildRouted } from './exchange.ts';
import { families, wires } from './families.ts';

export const sides = [...wires, 'images'] as const;
export type Side = (typeof sides)[number];

interface Facts {
  readonly protocol: Protocol;
  readonly headers: ClientHeaders;
  readonly model: Model;
  match(stream: boolean): Match;
}

function getFacts(side: Side): Facts {
  return side === 'images'
    ? {
        protocol: images,
        headers: {},
        model: requireModel('openai/gpt-image-1.5'),
        match: () => ({ operation: 'generate' }),
      }
    : families[side];
}

const provider: Provider = { name: 'house', endpoints: {}, sign: (request) => request };

/** The exchange of a client's body on its attempt at a provider's model. */
function buildExchange(client: Side, vendor: Side, body: Buffer, stream: boolean): Routed {
  const { protocol, match, headers } = getFacts(client);
  const { bytes, text, value } = parseJson(body);
  const call = protocol.client.read(value, text, match(stream), headers);
  const { model, protocol: wire } = getFacts(vendor);
  const canonical = call.decode();
  return {
    ...buildRouted({ provider, model, price: freePrice, protocol: wire }, { family: protocol.name }),
    bytes,
    text,
    call,
    protocol,
    getRequest: () => canonical,
  };
}

/** Returns a refusal's error; rethrows everything else. */
async function catchRefusal(run: () => Promise<void>): Promise<'done' | 'refused'> {
  try {
    await run();
    return 'done';
  } catch (error) {
    if (isGatewayError(error) && error.code !== 'internal') return 'refused';
    throw error;
  }
}

/** Reads a client's body, writes it for a provider, and shortens it as for a model without room. */
export function crossRequest(client: Side, vendor: Side, body: Buffer): Promise<'done' | 'refused'> {
  return catchRefusal(async () => {
    const exchange = buildExchange(client, vendor, body, false);
    exchange.call.suits?.(exchange.attempt.target.model);
    shortenTo(1 / 2, exchange.getRequest());
    const verbatim = client === vendor && client !== 'images';
    const { losses } = verbatim
      ? encodeVerbatim(exchange)
      : encodeTranslated(exchange, exchange.getRequest());
    formatPaths(losses.map(({ path }) => path));
  });
}

/** The shortest body of each client. */
export const leastBodies: Readonly<Record<Side, object>> = {
  'chat-completions': { model: 'a/b', messages: [{ role: 'user', content: 'Ahoy' }] },
  responses: { model: 'a/b', input: 'Ahoy' },
  messages: { model: 'a/b', max_tokens: 1000, messages: [{ role: 'user', content: 'Ahoy' }] },
  'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }] },
  images: { model: 'a/b', prompt: 'A heron', quality: 'low' },
};

async function* streamPieces(text: string, length: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

export interface VendorReply {
  readonly client: Side;
  readonly vendor: Side;
  readonly text: string;
  readonly streamed: boolean;
}

/** Crosses a provider's reply to a client that asked for it in the same form. */
export function crossAnswer({ client, vendor, text, streamed }: VendorReply): Promise<'done' | 'refused'> {
  return catchRefusal(async () => {
    const body = Buffer.from(
      JSON.stringify({
        ...leastBodies[client],
        ...(streamed && client !== 'generate-content' ? { stream: true } : {}),
      }),
    );
    const exchange = buildExchange(client, vendor, body, streamed);
    const headers = { 'content-type': streamed ? 'text/event-stream' : 'application/json' };
    const lane = {
      verbatim: client === vendor && client !== 'images',
      stops: [],
      expects: undefined,
      transform: undefined,
    };
    const pieces = crossReply(
      exchange,
      { status: 200, headers, body: streamPieces(text, 1000) },
      { tally: new Tally(), memory: new ReplyMemory(new ReplyBudget({ repliesLimit: Infinity })) },
      lane,
    );
    for await (const piece of pieces) void piece;
  });
}
