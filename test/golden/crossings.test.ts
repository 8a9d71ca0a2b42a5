/**
 * Every case of a family, as every other family sees it: its request as the other wire is sent it, with what is
 * lost, and its reply as a client of the other family is shown it, whole and streamed. The files are
 * `<family>/<case>/request.<other>.json`, `reply.<other>.json` and `reply.<other>.sse`: the listing is the coverage.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isGatewayError, type CanonicalEvent, type ClientCall, type GatewayError, type ReplyContext } from '../../core/index.ts';
import { clientPath, inClientWords } from '../../core/loss.ts';
import { decodeAll, readStream } from '../contract/replies.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';
import { expectSnapshot } from '../support/snapshot.ts';

const shortest: Readonly<Record<Wire, unknown>> = {
  'chat-completions': { model: 'a/b', messages: [{ role: 'user', content: 'Ahoy' }] },
  responses: { model: 'a/b', input: 'Ahoy' },
  messages: { model: 'a/b', max_tokens: 1000, messages: [{ role: 'user', content: 'Ahoy' }] },
  'generate-content': { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }] },
};

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** What an encoder gives, or the error by which it refuses. */
function attempted<Result>(run: () => Result): Result | GatewayError {
  try {
    return run();
  } catch (thrown) {
    if (isGatewayError(thrown)) return thrown;
    throw thrown;
  }
}

function contextOf(call: ClientCall): ReplyContext {
  return { id: 'ab12', model: 'owner/model', created: 1_790_000_000, call: { ...call, usageWanted: true, decode: () => call.decode() } };
}

/** The request of a case as it is sent to a model of another wire. */
function requestOn(other: Wire, own: Wire, body: unknown): string {
  const request = readCall(own, body).decode();
  const { protocol, model } = families[other];
  const { fieldNames } = families[own].protocol.client;
  const sent = attempted(() => inClientWords(() => protocol.upstream.encodeRequest(request, model, undefined), fieldNames));
  if (isGatewayError(sent)) return json({ refused: sent.message, param: sent.details.param, code: sent.code });
  const { body: encoded, losses } = sent;
  return json({ lost: Object.fromEntries(losses.map(({ path, reason }) => [clientPath(path, request, fieldNames), reason])), body: encoded });
}

function shownWhole(other: Wire, events: readonly CanonicalEvent[]): string {
  return json(families[other].protocol.client.encodeReply(events, contextOf(readCall(other, shortest[other]))));
}

function shownAsStream(other: Wire, events: readonly CanonicalEvent[]): string {
  const encoder = families[other].protocol.client.encodeEvents(contextOf(readCall(other, shortest[other], true)));
  return events.map((event) => encoder.push(event)).join('');
}

describe.each(wires)('the cases of %s', (own) => {
  const folder = new URL(`${own}/`, import.meta.url);
  const file = (name: string, kind: string): URL => new URL(`${name}/${kind}`, folder);
  const cases = (kind: string): string[] => readdirSync(folder).filter((name) => existsSync(file(name, kind))).toSorted();
  const { upstream } = families[own].protocol;

  describe.each(wires.filter((other) => other !== own))('on %s', (other) => {
    it.each(cases('request.json'))('the request of %s', (name) => {
      const body: unknown = JSON.parse(readFileSync(file(name, 'request.json'), 'utf8'));
      expectSnapshot(file(name, `request.${other}.json`), requestOn(other, own, body));
    });

    it.each(cases('reply.json'))('the reply of %s', (name) => {
      const call = readCall(own, JSON.parse(readFileSync(file(name, 'request.json'), 'utf8')));
      const events = upstream.decodeReply(JSON.parse(readFileSync(file(name, 'reply.json'), 'utf8')), call);
      expectSnapshot(file(name, `reply.${other}.json`), shownWhole(other, events));
    });

    it.each(cases('reply.sse'))('the stream of %s', (name) => {
      const call = readCall(own, JSON.parse(readFileSync(file(name, 'request.json'), 'utf8')), true);
      const events = decodeAll(upstream.decodeEvents(call), readStream(readFileSync(file(name, 'reply.sse'))));
      expectSnapshot(file(name, `reply.${other}.sse`), shownAsStream(other, events));
    });
  });

  it('has no snapshot without a case', () => {
    const made = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /\/(request|reply)\.[a-z-]+\.(json|sse)$/.test(path));
    const strays = made.filter((path) => {
      const [, name = '', kind = '', other = '', form = ''] = /^(.+)\/(request|reply)\.([a-z-]+)\.(json|sse)$/.exec(path) ?? [];
      return other === own || !wires.some((wire) => wire === other) || !existsSync(file(name, `${kind}.${form}`));
    });
    expect(strays).toEqual([]);
  });
});
