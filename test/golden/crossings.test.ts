/**
 * Every case of a family, as every other family sees it. `<family>/<case>/crossings.json` holds the request
 * that each other wire is sent, with what is lost, and the reply that clients of each other family are shown.
 * Streams are compared with whole replies instead of being recorded. Read what changed after
 * `UPDATE_GOLDEN=1`.
 */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isGatewayError, type CanonicalEvent, type ClientCall, type GatewayError } from '../../core/index.ts';
import { toClientPath, encodeInClientWords } from '../../core/loss.ts';
import { decodeAll, fold, readStream } from '../contract/replies.ts';
import { families, makeContext, readCall, readShortest, wires, type Wire } from '../support/families.ts';
import { decodeGolden, listGolden, readGolden, toGoldenUrl } from '../support/golden.ts';
import { expectSnapshot } from '../support/snapshot.ts';

/** What chunks of chat completions and of generate content have that a package reads in one place. */
const chunk = z.looseObject({
  choices: z.array(z.looseObject({ index: z.number(), delta: z.looseObject({}).optional() })).optional(),
  candidates: z
    .array(
      z.looseObject({
        content: z.looseObject({ parts: z.array(z.looseObject({})).optional() }).optional(),
        finishReason: z.string().optional(),
      }),
    )
    .optional(),
  usageMetadata: z.unknown().optional(),
});
type Chunk = z.output<typeof chunk>;

/** What packages of clients need of a stream beyond its protocol. */
const packageRules: readonly {
  readonly wire: Wire;
  readonly rule: string;
  check(chunks: readonly Chunk[]): void;
}[] = [
  {
    // The `openai` package keeps the last list of citations only.
    wire: 'chat-completions',
    rule: 'cites at most once',
    check(chunks) {
      const citing = chunks.flatMap(({ choices = [] }) => choices.filter(({ delta }) => delta?.annotations));
      expect(new Set(citing.map(({ index }) => index)).size).toBe(citing.length);
    },
  },
  {
    // Python's google-genai 1.x runs the calls of the last chunk only.
    wire: 'generate-content',
    rule: 'has its calls, reason and usage in its last chunk',
    check(chunks) {
      const last = chunks.at(-1);
      const calling = chunks.filter(({ candidates = [] }) =>
        candidates.some(({ content }) => content?.parts?.some((part) => 'functionCall' in part)),
      );
      expect(calling.every((each) => each === last)).toBe(true);
      expect(last?.usageMetadata).toEqual(chunks.findLast((each) => each.usageMetadata)?.usageMetadata);
      expect(last?.candidates?.every(({ finishReason }) => finishReason)).toBe(true);
    },
  },
];

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** What an encoder gives, or the error by which it refuses. */
function attempt<Result>(run: () => Result): Result | GatewayError {
  try {
    return run();
  } catch (thrown) {
    if (isGatewayError(thrown)) return thrown;
    throw thrown;
  }
}

/** The request of a case as it is sent to a model of another wire. */
function crossRequest(other: Wire, own: Wire, body: unknown): unknown {
  const request = readCall(own, body).decode();
  const { protocol, model } = families[other];
  const { fieldNames } = families[own].protocol.client;
  const sent = attempt(() =>
    encodeInClientWords(() => protocol.upstream.encodeRequest(request, model, undefined), fieldNames),
  );
  if (isGatewayError(sent)) return { refused: sent.message, param: sent.details.param, code: sent.code };
  const { body: encoded, losses, unwraps } = sent;
  return {
    lost: Object.fromEntries(
      losses.map(({ path, reason }) => [toClientPath(path, request, fieldNames), reason]),
    ),
    body: encoded,
    unwraps,
  };
}

function encodeWhole(other: Wire, events: readonly CanonicalEvent[]): unknown {
  return asJson(families[other].protocol.client.encodeReply(events, makeContext(readShortest(other))));
}

function encodeStream(other: Wire, events: readonly CanonicalEvent[]): string {
  const encoder = families[other].protocol.client.encodeEvents(makeContext(readShortest(other, true)));
  return events.map((event) => encoder.push(event)).join('');
}

/** Arguments as values: messages keeps text that is no JSON object as `_raw`, and only in whole replies. */
function parseArguments(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const raw: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, '_raw') : undefined;
    return raw ?? value;
  } catch {
    return text;
  }
}

/**
 * What a reply says, apart from how its arguments are spelled. Messages shows the signature of a text in a
 * block before that text. A stream has sent the text when Google's signature arrives, so it carries none.
 */
function describeReply(events: readonly CanonicalEvent[], withoutSeals: boolean): unknown {
  const { candidates, ...rest } = fold(events);
  const said = Object.values(candidates).map((one) => ({
    ...one,
    ...(withoutSeals && { sealed: [] }),
    calls: one.calls.map((call) => ({ ...call, arguments: parseArguments(call.arguments) })),
  }));
  return { said, ...rest };
}

describe.each(wires)('cases of %s', (own) => {
  const others = wires.filter((other) => other !== own);
  const read = (name: string, file: string): unknown => JSON.parse(readGolden(own, name, file));
  const readCase = (name: string, stream = false): ClientCall =>
    readCall(own, read(name, 'request.json'), stream);
  const requests = listGolden(own, 'request.json');
  const wholes = listGolden(own, 'reply.json');
  const { protocol } = families[own];
  const mapOthers = <Result>(run: (other: Wire) => Result): Record<string, Result> =>
    Object.fromEntries(others.map((other) => [other, run(other)]));

  it.each(requests)('the request and reply of %s cross to the others as recorded', (name) => {
    const request = mapOthers((other) => crossRequest(other, own, read(name, 'request.json')));
    const reply = (): Record<string, unknown> => {
      const events = protocol.upstream.decodeReply(read(name, 'reply.json'), readCase(name));
      return mapOthers((other) => encodeWhole(other, events));
    };
    const crossed = wholes.includes(name) ? { request, reply: reply() } : { request };
    expectSnapshot(toGoldenUrl(own, name, 'crossings.json'), `${JSON.stringify(crossed, undefined, 2)}\n`);
  });

  describe.each(others)('streams to %s', (other) => {
    it.each(listGolden(own, 'reply.sse'))('the stream of %s says there what the whole reply says', (name) => {
      const events = decodeGolden(protocol, name, readCase(name, true));
      const reader = families[other].protocol.upstream;
      const call = readShortest(other, true);
      const streamed = decodeAll(
        reader.decodeEvents(call),
        readStream(Buffer.from(encodeStream(other, events))),
      );
      const whole = reader.decodeReply(encodeWhole(other, events), call);
      const isSignedLate = own === 'generate-content' && other === 'messages' && name === 'tool-results';
      expect(describeReply(streamed, isSignedLate)).toEqual(describeReply(whole, isSignedLate));
    });
  });

  describe.each(others.flatMap((other) => packageRules.filter(({ wire }) => wire === other)))(
    'streams to the packages of $wire',
    ({ wire, rule, check }) => {
      it.each(listGolden(own, 'reply.sse'))(`the stream of %s ${rule}`, (name) => {
        const stream = encodeStream(wire, decodeGolden(protocol, name, readCase(name, true)));
        const frames = readStream(Buffer.from(stream)).filter(({ data }) => data !== '[DONE]');
        check(frames.map(({ data }) => chunk.parse(JSON.parse(data))));
      });
    },
  );

  it('has nothing recorded but its cases', () => {
    const folder = new URL(`${own}/`, import.meta.url);
    const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (path) => !/^[^/]+(\/(request|reply|crossings)\.json|\/(reply|broken)\.sse)?$/.test(path),
    );
    expect(found).toEqual([]);
    expect(listGolden(own, 'crossings.json')).toEqual(requests);
  });
});
