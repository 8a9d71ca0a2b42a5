/**
 * What every protocol must satisfy, bundled or third-party. Its cases are folders of realistic exchanges:
 * `request.json`, `reply.json` and `reply.sse` (the same reply, if both exist), and `broken.sse`, a stream
 * that stops halfway.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  requestSchema,
  splice,
  type Block,
  type CanonicalRequest,
  type ClientCall,
  type ClientHeaders,
  type Match,
  type Model,
  type Protocol,
  type ReplyContext,
  type WireEvent,
} from '../../core/index.ts';
import { testBreaks } from './breaks.ts';
import { testErrors } from './error-laws.ts';
import { checkEvents } from './events.ts';
import { encodeOwn, testReplyLaws, testRequestLaws, type Arbitraries, type Examples } from './laws.ts';
import { decodeAll, fold, readStream } from './replies.ts';

export interface ProtocolFacts {
  readonly protocol: Protocol;
  /** The folder of the cases, with a slash at its end. */
  readonly cases: URL;
  /** The path's parameters in a case; a plain call by default. */
  readonly match?: (body: unknown) => Match;
  /** The client's headers, if the protocol reads them. */
  readonly headers?: ClientHeaders;
  /** A model that can take the request of a case. */
  readonly model: (body: unknown) => Model;
  /**
   * The body of a case as that model should receive it: with the edits the gateway makes on purpose, and
   * nothing else.
   */
  readonly sent: (body: unknown, model: Model) => unknown;
  /** Requests and replies at random; without them only what can be drawn from the cases is. */
  readonly arbitrary?: Arbitraries;
}

const plain: Match = { operation: 'generate' };

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Registers the suite; call it at the top of a test file. */
export function testProtocol(facts: ProtocolFacts): void {
  const cases = readdirSync(facts.cases).toSorted();
  const withFile = (name: string): string[] =>
    cases.filter((folder) => existsSync(new URL(`${folder}/${name}`, facts.cases)));
  const read = (folder: string, name: string): string =>
    readFileSync(new URL(`${folder}/${name}`, facts.cases), 'utf8');
  const readCall = (text: string): ClientCall => {
    const body: unknown = JSON.parse(text);
    return facts.protocol.client.read(body, text, facts.match?.(body) ?? plain, facts.headers ?? {});
  };

  describe(`${facts.protocol.name}, the contract`, () => {
    it('has at least one case', () => {
      const least = { 'request.json': 3, 'reply.json': 2, 'reply.sse': 2, 'broken.sse': 1 };
      for (const [name, count] of Object.entries(least))
        expect(
          withFile(name).length,
          `folders in ${facts.cases.pathname} with a ${name}`,
        ).toBeGreaterThanOrEqual(count);
    });

    describe.each(withFile('request.json'))('request of %s', (folder) => {
      testRequest(facts, read(folder, 'request.json'), readCall);
    });

    describe.each(withFile('reply.json'))('reply of %s', (folder) => {
      testReply(
        facts.protocol,
        JSON.parse(read(folder, 'reply.json')),
        readCall(read(folder, 'request.json')),
      );
    });

    describe.each(withFile('reply.sse'))('stream of %s', (folder) => {
      const call = readCall(read(folder, 'request.json'));
      testStream(facts.protocol, readFileSync(new URL(`${folder}/reply.sse`, facts.cases)), call);
      const whole = existsSync(new URL(`${folder}/reply.json`, facts.cases))
        ? read(folder, 'reply.json')
        : undefined;
      if (whole === undefined) return;
      it('says what the JSON reply says', () => {
        const streamed = decodeAll(
          facts.protocol.upstream.decodeEvents(call),
          readStream(Buffer.from(read(folder, 'reply.sse'))),
        );
        expect(fold(streamed)).toEqual(fold(facts.protocol.upstream.decodeReply(JSON.parse(whole), call)));
      });
    });

    it.each(withFile('broken.sse'))('%s never looks complete', (folder) => {
      const [first = ''] = withFile('request.json');
      const events = decodeAll(
        facts.protocol.upstream.decodeEvents(readCall(read(first, 'request.json'))),
        readStream(Buffer.from(read(folder, 'broken.sse'))),
      );
      checkEvents(events);
      expect(fold(events).complete).toBe(false);
    });

    testErrors(facts.protocol, readCall(read(withFile('request.json')[0] ?? '', 'request.json')));

    const examples: Examples = {
      requests: withFile('request.json').map((folder): unknown => JSON.parse(read(folder, 'request.json'))),
      events: withFile('reply.sse').flatMap((folder) =>
        readStream(Buffer.from(read(folder, 'reply.sse'))).flatMap(({ data }): unknown[] =>
          data.startsWith('{') ? [JSON.parse(data)] : [],
        ),
      ),
    };
    testRequestLaws(facts, examples, readCall);
    testReplyLaws(facts, examples, readCall);
  });
}

function testRequest(
  { protocol, model: modelFor, sent }: ProtocolFacts,
  text: string,
  callOf: (text: string) => ClientCall,
): void {
  const body: unknown = JSON.parse(text);
  const model = modelFor(body);
  const { upstream } = protocol;

  it('decodes to a canonical request', () => {
    const parsed = requestSchema.safeParse(callOf(text).decode());
    expect(parsed.error?.message).toBeUndefined();
  });

  it('is restored from a copy, and nothing is lost: the protocol keeps no state outside the request', () => {
    const restored = encodeOwn(protocol, { call: callOf(text), text, model });
    expect(restored).toEqual({ body: sent(body, model), losses: [] });
  });

  it.each([
    ['texts', changeTexts],
    ['turns', dropFirstTurn],
  ])('is sent as a plugin changed its %s, and the rest as the client wrote it', (_, change) => {
    const { body: changed } = encodeOwn(protocol, { call: callOf(text), text, model, change });
    const again = callOf(JSON.stringify(nameModel(changed, body)));
    expect(withoutPlaces(again.decode())).toEqual(withoutPlaces(change(callOf(text).decode())));
  });

  it('says the same to the model in the verbatim lane', () => {
    const call = callOf(text);
    const retargeted = splice(
      text,
      upstream.retarget({
        call,
        model: model.upstream,
        provider: 'vendor',
        outputLimit: undefined,
        capabilities: model.capabilities,
      }),
    );
    expect(JSON.parse(retargeted)).toEqual(sent(body, model));
  });

  it('is bounded by its size', () => {
    const { size } = callOf(text);
    const decoded = callOf(text).decode();
    const blocks = decoded.turns
      .flatMap((turn) => turn.blocks)
      .flatMap((block) => (block.type === 'tool-result' ? block.content : [block]));
    const media = blocks.filter((block) => block.type === 'media');
    // A screenshot is of one vendor alone, so it is no medium of the canonical request.
    const screens = [...text.matchAll(/"computer_screenshot"[^}]*?(?:;base64,([^"]*))?"\s*}/g)];
    const base64 = [
      ...media.map(({ source }) => (source.type === 'base64' ? source.data.length : 0)),
      ...screens.map(([, data = '']) => data.length),
    ].reduce((sum, length) => sum + length, 0);
    expect(size.images).toBe(media.filter(({ kind }) => kind === 'image').length + screens.length);
    expect(size.textBytes).toBe(Buffer.byteLength(text) - base64);
    // An answer in sound that the vendor keeps counts for as much as it may be long.
    const kept = text.match(/"audio":\s*\{\s*"id"/g)?.length ?? 0;
    expect(size.mediaBytes).toBeLessThanOrEqual(base64 + kept * 16_384);
  });
}

/** The body with the name by which the client's names its model. */
function nameModel(body: unknown, written: unknown): object {
  return { ...Object(body), ...('model' in Object(written) ? { model: Object(written).model } : {}) };
}

/** Some protocols make ids of calls from their places. */
const places = new Set(['at', 'id', 'callId']);

/** A request without the places of its parts in the client's body, which change with it. */
function withoutPlaces(request: CanonicalRequest): unknown {
  return JSON.parse(
    JSON.stringify(request, (name, value: unknown) => (places.has(name) ? undefined : value)),
  );
}

function changeTexts(request: CanonicalRequest): CanonicalRequest {
  const change = <Part extends Block>(block: Part): Part =>
    block.type === 'text' ? { ...block, text: `${block.text} (read)` } : block;
  const turns = request.turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.map((block) =>
      block.type === 'tool-result' ? { ...block, content: block.content.map(change) } : change(block),
    ),
  }));
  return { ...request, turns };
}

function dropFirstTurn(request: CanonicalRequest): CanonicalRequest {
  const first = request.turns.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return request.turns.length - first > 2
    ? { ...request, turns: request.turns.toSpliced(first, 1) }
    : request;
}

function buildContext(call: ClientCall): ReplyContext {
  return {
    id: 'ab12',
    model: call.model,
    created: 1_790_000_000,
    call: { ...call, usageWanted: true, decode: () => call.decode() },
  };
}

function testReply({ client, upstream }: Protocol, body: unknown, call: ClientCall): void {
  it('is read whole', () => {
    const events = upstream.decodeReply(body, call);
    checkEvents(events);
    expect(fold(events).complete).toBe(true);
  });

  it('says the same after it was written again', () => {
    const events = upstream.decodeReply(body, call);
    const again = upstream.decodeReply(asJson(client.encodeReply(events, buildContext(call))), call);
    checkEvents(again);
    expect(fold(again)).toEqual(fold(events));
  });

  it('says the same after it was written as a stream', () => {
    const events = upstream.decodeReply(body, call);
    const encoder = client.encodeEvents(buildContext(call));
    const frames = events.map((event) => encoder.push(event)).join('');
    expect(fold(decodeAll(upstream.decodeEvents(call), readStream(Buffer.from(frames))))).toEqual(
      fold(events),
    );
  });
}

function testStream(protocol: Protocol, bytes: Uint8Array, call: ClientCall): void {
  const { client, upstream } = protocol;
  const wire = readStream(bytes);
  const events = decodeAll(upstream.decodeEvents(call), wire);

  it('is read whole', () => {
    checkEvents(events);
    expect(fold(events).complete).toBe(true);
  });

  it('is read the same wherever it is cut into chunks', () => {
    // Comparing what the decoder is given is enough: it is a function of that.
    const isWhole = (parts: readonly WireEvent[]): boolean =>
      parts.length === wire.length &&
      parts.every(({ event, data }, at) => data === wire[at]?.data && event === wire[at].event);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const parts = readStream(bytes, cut);
      // `toEqual` alone would take most of the test's time.
      if (!isWhole(parts)) expect(parts, `cut at ${cut}`).toEqual(wire);
    }
    expect(decodeAll(upstream.decodeEvents(call), readStream(bytes, bytes.length >> 1))).toEqual(events);
  });

  it('never looks complete when it stops early', () => {
    for (let length = 0; length < wire.length; length += 1) {
      const cut = decodeAll(upstream.decodeEvents(call), wire.slice(0, length));
      checkEvents(cut);
      // A complete reply may lack its usage: it can arrive after the last text.
      if (fold(cut).complete)
        expect({ ...fold(cut), usage: {} }, `after ${length} events`).toEqual({ ...fold(events), usage: {} });
    }
    expect(fold(decodeAll(upstream.decodeEvents(call), wire.slice(0, 1))).complete).toBe(false);
  });

  testBreaks(protocol, wire, buildContext(call));

  it('says the same after it was written again', () => {
    const encoder = client.encodeEvents(buildContext(call));
    const frames = events.map((event) => encoder.push(event)).join('');
    const again = decodeAll(upstream.decodeEvents(call), readStream(Buffer.from(frames)));
    checkEvents(again);
    expect(fold(again)).toEqual(fold(events));
  });

  it('says the same after it was written as one reply', () => {
    const again = upstream.decodeReply(asJson(client.encodeReply(events, buildContext(call))), call);
    expect(fold(again)).toEqual(fold(events));
  });
}
