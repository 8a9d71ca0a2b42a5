/**
 * The calls that replay a recording: its own client, and every other one that can make it, each with the
 * reply whole and in pieces.
 */
import { isGatewayError } from '../../core/index.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';
import { isObject, type Json } from '../support/json.ts';
import { isTextProtocol, type Recording } from './recordings.ts';
import type { Trial } from './stage.ts';

const user = [{ role: 'user', content: 'What do you see from the lighthouse?' }];

/** The shortest request of each wire, for recordings that have none. */
const shortest: Readonly<Record<Wire | 'images', Json>> = {
  'chat-completions': { messages: user },
  responses: { input: user },
  messages: { max_tokens: 4000, thinking: { type: 'adaptive' }, messages: user },
  'generate-content': {
    contents: [{ role: 'user', parts: [{ text: 'What do you see from the lighthouse?' }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  },
  images: { prompt: 'A lighthouse at dusk' },
};

function addStreaming(client: Wire | 'images', body: Json, streamed: boolean): Json {
  if (client === 'generate-content' || !streamed) return body;
  const usage = client === 'chat-completions' ? { stream_options: { include_usage: true } } : {};
  return { ...body, stream: true, ...usage };
}

/** Adds what makes a client be shown reasoning, unless the request decides it. */
function askForReasoning(client: Wire, body: Json): Json {
  const { thinking = { type: 'adaptive' }, generationConfig: config } = body;
  if (client === 'messages') return { max_tokens: 4000, ...body, thinking };
  if (client !== 'generate-content') return body;
  const { thinkingConfig = { includeThoughts: true }, ...others } = isObject(config) ? config : {};
  return { ...body, generationConfig: { ...others, thinkingConfig } };
}

/**
 * The recorded request as a client of another protocol puts it; the shortest one where that protocol cannot
 * say it.
 */
function buildBody(client: Wire, { protocol, request, streamed }: Recording): Json {
  if (!request || !isTextProtocol(protocol)) return addStreaming(client, shortest[client], streamed);
  try {
    const canonical = readCall(protocol, { ...request, model: 'recorded/model' }, streamed).decode();
    const { protocol: other, model } = families[client];
    const { body } = other.upstream.encodeRequest(canonical, model, undefined);
    if (!isObject(body)) throw new Error(`${client} encodes no object`);
    const { model: _model, stream: _stream, stream_options: _options, ...rest } = body;
    return addStreaming(client, askForReasoning(client, rest), streamed);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return addStreaming(client, shortest[client], streamed);
  }
}

export function buildTrials(recording: Recording): Trial[] {
  const { protocol, request, streamed, operation } = recording;
  const own: Json = request ?? addStreaming(protocol, shortest[protocol], streamed);
  const bodies: (readonly [client: Trial['client'], body: Json])[] = [[protocol, own]];
  if (isTextProtocol(protocol) && operation === 'generate') {
    for (const client of wires) if (client !== protocol) bodies.push([client, buildBody(client, recording)]);
  }
  return bodies.flatMap(([client, body]) =>
    [false, true].map((inPieces) => ({ recording, client, inPieces, body })),
  );
}
