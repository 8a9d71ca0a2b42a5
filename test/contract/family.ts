/**
 * What every family of calls that are no conversations must satisfy, bundled or third-party: a client of each
 * of its wires reaches a vendor of each, nothing is lost in silence, and a reply that is not whole never
 * becomes one.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  isGatewayError,
  type ClientCall,
  type EncodedRequest,
  type Model,
  type Plugin,
  type Protocol,
  type Usage,
} from '../../core/index.ts';
import { toClientPath } from '../../core/loss.ts';
import { createHost } from '../support/host.ts';
import { testRefusals } from './error-laws.ts';
import { mutate } from './mutation.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What clients of one wire send and read. */
export interface FamilyClient {
  readonly wire: string;
  readonly path: string;
  /** Bodies that each of the vendors can answer. No member has a value that means the same as none. */
  readonly bodies: fc.Arbitrary<Fields>;
  /** Members that only the gateway reads, or that say how the reply is written. */
  readonly local?: readonly string[];
  /** The answers in a reply, in a form that compares. Throws if the reply is not whole. */
  readAnswers(reply: unknown, body: Fields): readonly unknown[];
  /** The answers that vendors give to a body. */
  expectAnswers(body: Fields): readonly unknown[];
}

/** A vendor of one wire. */
export interface FamilyVendor {
  readonly model: Model;
  /**
   * Answers one body, as strictly as the vendor: it throws for what the vendor refuses. `tokens` are its
   * usage, if it reports any.
   */
  answer(body: unknown, tokens: number): unknown;
  /** The usage that a reply with so many tokens means; undefined if it reports none. */
  toUsage(tokens: number): Usage | undefined;
}

export interface FamilyFacts {
  readonly plugin: Plugin;
  /** One or several of each wire that clients speak. */
  readonly clients: readonly FamilyClient[];
  /** One of each wire, by its name. */
  readonly vendors: Readonly<Record<string, FamilyVendor>>;
}

/** Runs each law, which takes milliseconds, for so many calls. */
const runs = { numRuns: 40 };

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Makes a change to it throw. */
function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
  return value;
}

function readCall({ client }: Protocol, path: string, body: Fields): ClientCall {
  const match = client.match('POST', path);
  if (!match) throw new Error(`${path} is no call.`);
  return client.read(freeze(structuredClone(body)), JSON.stringify(body), match, {});
}

function listBodies({ body, others = [] }: EncodedRequest): unknown[] {
  return [body, ...others].map(asJson);
}

interface Pair {
  readonly protocol: Protocol;
  readonly wire: Protocol;
  readonly client: FamilyClient;
  readonly vendor: FamilyVendor;
}

/** What the vendor is sent, and the client's members that it is told are lost. */
function encode({ protocol, wire, client, vendor }: Pair, body: Fields): { sent: unknown[]; lost: string[] } {
  const call = readCall(protocol, client.path, body);
  const encoded = wire.upstream.encodeRequest(call.decode(), vendor.model, undefined);
  const { fieldNames } = protocol.client;
  const lost = encoded.losses.map(({ path }) => toClientPath(path, call.decode(), fieldNames));
  return { sent: listBodies(encoded), lost };
}

interface Relayed {
  readonly text: string;
  readonly reported: readonly Usage[];
}

/** Writes the client's reply from the vendor's replies, given as texts. */
async function relay(
  { protocol, wire, client, vendor }: Pair,
  body: Fields,
  replies: readonly string[],
): Promise<Relayed> {
  const call = readCall(protocol, client.path, body);
  const reported: Usage[] = [];
  const written = protocol.client.joinReplies?.(
    {
      wire,
      model: vendor.model,
      request: freeze(call.decode()),
      count: replies.length,
      fetch: async (index) => Buffer.from(replies[index] ?? ''),
      report: (usage) => void reported.push(usage),
      findCharged: () => undefined,
    },
    { id: 'ab12', model: vendor.model.id, created: 1_790_000_000, call },
  );
  let text = '';
  for await (const piece of written ?? [])
    text += typeof piece === 'string' ? piece : Buffer.from(piece).toString();
  return { text, reported };
}

/** The same, if it is refused in the way that replies may be: the reason, which clients can be told. */
async function relayHostile(pair: Pair, body: Fields, replies: readonly string[]): Promise<string> {
  try {
    return (await relay(pair, body, replies)).text;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    expect(error.status).toBeGreaterThanOrEqual(500);
    return '';
  }
}

function answerAll({ vendor }: Pair, sent: readonly unknown[], tokens: number): unknown[] {
  return sent.map((each) => vendor.answer(each, tokens));
}

function sumCounts(usages: readonly Usage[]): Usage {
  return Object.fromEntries(
    Object.entries(usages[0] ?? {}).map(([name, first]) => [name, Number(first) * usages.length]),
  );
}

const tokenCount = fc.integer({ min: 0, max: 2 ** 31 });

function testCrossing(pair: Pair): void {
  const { client, vendor } = pair;

  it('answers what is asked, in its order, with the usage of all replies', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, tokenCount, async (body, tokens) => {
        const { sent } = encode(pair, body);
        const { text, reported } = await relay(
          pair,
          body,
          answerAll(pair, sent, tokens).map((reply) => JSON.stringify(reply)),
        );
        expect(client.readAnswers(JSON.parse(text), body)).toEqual(client.expectAnswers(body));
        // A vendor that writes 0 has not counted.
        const usage = tokens > 0 ? vendor.toUsage(tokens) : undefined;
        expect(reported).toEqual(usage ? [sumCounts(sent.map(() => usage))] : []);
      }),
      runs,
    ));

  it('is sent the same each time it is encoded', () =>
    fc.assert(
      fc.property(client.bodies, (body) => {
        expect(encode(pair, body)).toEqual(encode(pair, body));
      }),
      runs,
    ));

  it('loses no member of a body in silence', () =>
    fc.assert(
      fc.property(client.bodies, (body) => {
        for (const name of Object.keys(body)) {
          if (client.local?.includes(name)) continue;
          const { [name]: _, ...rest } = body;
          const without = encodeOptional(pair, rest);
          if (without)
            expect(encode(pair, body), `"${name}" of ${JSON.stringify(body)}`).not.toEqual(without);
        }
      }),
      runs,
    ));
}

/** Undefined if the body lacks a required member. */
function encodeOptional(pair: Pair, body: Fields): ReturnType<typeof encode> | undefined {
  try {
    return encode(pair, body);
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}

function replaceLast<Item>(items: readonly Item[], last: Item): Item[] {
  return [...items.slice(0, -1), last];
}

const noReplies = [
  '',
  '{',
  'null',
  '[]',
  '{}',
  '"text"',
  '12',
  '<html>',
  '{"error":{"message":"no"}}',
  `[${'['.repeat(50_000)}`,
  `{"data":"${'x'.repeat(1_000_000)}"}`,
];

function testHostileReplies(pair: Pair): void {
  const { client } = pair;
  const expectWhole = (text: string, body: Fields): void => {
    if (text === '') return;
    expect(client.readAnswers(JSON.parse(text), body)).toHaveLength(client.expectAnswers(body).length);
  };

  it('never completes with what is no reply', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, fc.constantFrom(...noReplies), async (body, bad) => {
        const { sent } = encode(pair, body);
        const good = answerAll(pair, sent, 7).map((reply) => JSON.stringify(reply));
        expect(await relayHostile(pair, body, replaceLast(good, bad))).toBe('');
      }),
      runs,
    ));

  it('never completes with a reply that is cut', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, fc.nat(), async (body, cut) => {
        const { sent } = encode(pair, body);
        const good = answerAll(pair, sent, 7).map((reply) => JSON.stringify(reply));
        const last = good.at(-1) ?? '';
        expect(await relayHostile(pair, body, replaceLast(good, last.slice(0, cut % last.length)))).toBe('');
      }),
      runs,
    ));

  it('fails, or answers everything, if one thing in a reply is wrong', () =>
    fc.assert(
      fc.asyncProperty(
        client.bodies.chain((body) => {
          const replies = answerAll(pair, encode(pair, body).sent, 7);
          return fc.tuple(fc.constant({ body, replies }), mutate(replies.slice(-1)));
        }),
        async ([{ body, replies }, wrong]) => {
          const texts = replaceLast(replies, wrong).map((reply) => JSON.stringify(reply) ?? '');
          expectWhole(await relayHostile(pair, body, texts), body);
        },
      ),
      { numRuns: 150 },
    ));

  it('never passes on a number that JSON cannot have', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, fc.constantFrom('1e999', '-1e999', '1e300'), async (body, number) => {
        const { sent } = encode(pair, body);
        const texts = answerAll(pair, sent, 7).map((reply) =>
          JSON.stringify(reply).replace(/-?\d+\.\d+/, number),
        );
        expectWhole(await relayHostile(pair, body, texts), body);
      }),
      runs,
    ));
}

function testClient(protocol: Protocol, { path, bodies }: FamilyClient): void {
  it('refuses bodies that are none, and says so', () =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue({ maxDepth: 3 }),
          bodies.chain((body) => mutate([body])),
        ),
        (body) => {
          const match = protocol.client.match('POST', path);
          if (!match) throw new Error(`${path} is no call.`);
          try {
            protocol.client.read(body, JSON.stringify(body) ?? '', match, {}).decode();
          } catch (error) {
            if (!isGatewayError(error)) throw error;
            expect(error.status).toBe(400);
          }
        },
      ),
      { numRuns: 300 },
    ));

  it('refuses other models to fall back to, by name', () =>
    fc.assert(
      fc.property(bodies, (body) => {
        const asking = { ...body, provider: { fallback: ['other/model'] } };
        expect(() => readCall(protocol, path, asking)).toThrow(
          expect.objectContaining({ details: expect.objectContaining({ param: 'provider.fallback' }) }),
        );
      }),
      { numRuns: 5 },
    ));
}

type Losses = EncodedRequest['losses'];

const examples = z.array(z.looseObject({}));

/** What one vendor of each wire makes of a body; undefined: the call is refused. */
async function listLosses(
  protocol: Protocol,
  [wire, { model, answer }]: readonly [Protocol, FamilyVendor],
  ask: Fields,
): Promise<Losses | undefined> {
  const { path = '', body } = (await protocol.describeCalls?.())?.[0] ?? {};
  const [example] = examples.parse(body?.['application/json']?.meta()?.['examples']);
  try {
    const call = readCall(protocol, path.replace('{model}', model.id), { ...example, ...ask });
    const encoded = wire.upstream.encodeRequest(call.decode(), model, undefined);
    for (const each of listBodies(encoded)) answer(each, 7);
    return encoded.losses;
  } catch (error) {
    if (isGatewayError(error) && error.status === 400) return undefined;
    throw error;
  }
}

/** Losses that the example alone has do not count. */
function judge(losses: Losses | undefined, usual: Losses = []): string {
  if (!losses) return 'refused';
  const own = losses.filter(({ path, code }) => !usual.some((one) => one.path === path && one.code === code));
  if (own.length === 0) return 'works';
  return own.every(({ code }) => code === 'approximated') ? 'approximated' : 'lost';
}

async function measureAbility(
  protocol: Protocol,
  wires: readonly (readonly [Protocol, FamilyVendor])[],
  ask: Fields,
): Promise<Record<string, string>> {
  const judged = wires.map(async (way) => {
    const usual = await listLosses(protocol, way, {});
    return [way[0].name, judge(await listLosses(protocol, way, ask), usual)] as const;
  });
  return Object.fromEntries(await Promise.all(judged));
}

/** Registers the suite; call it at the top of a test file. */
export function testFamily({ plugin, clients, vendors }: FamilyFacts): void {
  const { protocols } = createHost([plugin]);
  const own = [...protocols.list()];
  const find = (name: string): Protocol => {
    const protocol = protocols.find(name);
    if (!protocol) throw new Error(`${plugin.name} has no wire "${name}".`);
    return protocol;
  };

  describe(`${plugin.name}, the contract`, () => {
    it('is tested with a vendor of each wire, and all make the same', () => {
      expect(Object.keys(vendors).toSorted()).toEqual(own.map(({ name }) => name).toSorted());
      expect(new Set(own.map(({ makes }) => makes)).size).toBe(1);
    });

    describe.each(own.map(({ name }) => name))('%s', (name) => {
      testRefusals(find(name));
    });

    it.each(own.filter(({ describeAbilities }) => describeAbilities))(
      'states what clients of $name can ask for, and how it fares on each wire',
      async (protocol) => {
        const wires = Object.entries(vendors).map(([name, vendor]) => [find(name), vendor] as const);
        const stated = (await protocol.describeAbilities?.()) ?? {};
        expect(stated).not.toEqual({});
        for (const [name, { ask, wires: outcomes }] of Object.entries(stated))
          expect({ [name]: await measureAbility(protocol, wires, ask) }).toEqual({ [name]: outcomes });
      },
    );

    describe.each(clients.map((client) => [client.wire, client.path, client] as const))(
      'a client of %s at %s',
      (name, _path, client) => {
        const protocol = find(name);
        testClient(protocol, client);

        describe.each(Object.entries(vendors))('and a vendor of %s', (wire, vendor) => {
          const pair = { protocol, wire: find(wire), client, vendor };
          testCrossing(pair);
          testHostileReplies(pair);
        });
      },
    );
  });
}
