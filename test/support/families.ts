/**
 * The four text protocols side by side, for tests of all pairs: how a body is read, and a model for the other
 * side.
 */
import type { ClientCall, ClientHeaders, Match, Model, Protocol, ReplyContext } from '../../core/index.ts';
import { toClientPath } from '../../core/loss.ts';
import { protocol as chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { protocol as responses } from '../../plugins/protocols/responses/index.ts';
import * as chatBodies from '../chat-completions/bodies.ts';
import { encodeOwn, type OwnCall } from '../contract/laws.ts';
import * as generateBodies from '../generate-content/bodies.ts';
import * as messagesBodies from '../messages/bodies.ts';
import * as responsesBodies from '../responses/bodies.ts';
import { isObject, type Json } from './json.ts';
import { wires, type Wire } from './replaying-vendor.ts';

export { wires, type Wire };

export interface Family {
  readonly protocol: Protocol;
  readonly headers: ClientHeaders;
  /** What the path of a call contains. */
  match(stream: boolean): Match;
  /** A model of the wire's own provider that supports everything. */
  readonly model: Model;
}

export const families: Readonly<Record<Wire, Family>> = {
  'chat-completions': {
    protocol: chatCompletions,
    headers: {},
    match: () => ({ operation: 'generate' }),
    model: chatBodies.makeModel(),
  },
  responses: {
    protocol: responses,
    headers: {},
    match: () => ({ operation: 'generate' }),
    model: responsesBodies.makeModel(),
  },
  messages: {
    protocol: messagesBodies.protocol,
    headers: messagesBodies.version,
    match: () => ({ operation: 'generate' }),
    model: messagesBodies.makeModel(),
  },
  'generate-content': {
    protocol: generateBodies.protocol,
    headers: {},
    match: (stream) => generateBodies.makeMatch(stream),
    model: generateBodies.makeModel(),
  },
};

/** A body as its protocol's client side reads it. */
export function readCall(wire: Wire, body: unknown, stream = false): ClientCall {
  const { protocol, headers, match } = families[wire];
  const text = JSON.stringify(body);
  return protocol.client.read(JSON.parse(text), text, match(stream), headers);
}

const shortest: Readonly<Record<Wire, unknown>> = {
  'chat-completions': { model: 'a/b', messages: [{ role: 'user', content: 'Ahoy' }] },
  responses: { model: 'a/b', input: 'Ahoy' },
  messages: { model: 'a/b', max_tokens: 1000, messages: [{ role: 'user', content: 'Ahoy' }] },
  'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }] },
};

/** The call with the least that its wire requires. */
export function readShortest(wire: Wire, stream = false): ClientCall {
  return readCall(wire, shortest[wire], stream);
}

/** The reply to a call whose client wants to see usage and reasoning. */
export function makeContext(call: ClientCall): ReplyContext {
  return {
    id: 'ab12',
    model: 'owner/model',
    created: 1_790_000_000,
    call: { ...call, usageWanted: true, reasoningWanted: true, decode: () => call.decode() },
  };
}

interface SentOwn {
  readonly body: Json;
  /** The client's paths that were lost. */
  readonly lost: readonly string[];
}

/** What a provider of the client's own protocol is sent for a body that a plugin may have changed. */
export function sendOwn(
  wire: Wire,
  written: object,
  {
    model = families[wire].model,
    change,
  }: { readonly model?: Model; readonly change?: OwnCall['change'] } = {},
): SentOwn {
  const { protocol } = families[wire];
  const call = readCall(wire, written);
  const { body, losses } = encodeOwn(protocol, { call, text: JSON.stringify(written), model, change });
  if (!isObject(body)) throw new Error('no body');
  const { fieldNames } = protocol.client;
  return { body, lost: losses.map(({ path }) => toClientPath(path, call.decode(), fieldNames)) };
}
