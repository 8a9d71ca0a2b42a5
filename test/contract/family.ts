/**
 * What every family of calls that are no conversations must satisfy, bundled or third-party: a client of each
 * of its wires reaches a vendor of each, nothing is lost in silence, and a reply that is not whole never
 * becomes one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  GatewayError,
  isGatewayError,
  isSource,
  type ClientCall,
  type EncodedRequest,
  type LargeForms,
  type Model,
  type Plugin,
  type Protocol,
  type Usage,
} from '../../core/index.ts';
import { toClientPath } from '../../core/loss.ts';
import { encodeForm, Form, readForm, requireBytes } from '../../plugins/shared/forms.ts';
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
  /** Makes a form of a body, if its path takes forms. */
  readonly toForm?: (body: Fields) => Form;
  /** Members that only the gateway reads, or that say how the reply is written. */
  readonly local?: readonly string[];
  /** The answers in a reply, JSON or a `ByteAnswer`, in a form that compares. Throws if it is not whole. */
  readAnswers(reply: unknown, body: Fields): readonly unknown[];
  /** The answers that vendors give to a body. */
  expectAnswers(body: Fields): readonly unknown[];
}

/** A reply that is no JSON. */
export class ByteAnswer {
  readonly type: string;
  readonly bytes: Buffer;

  constructor(type: string, bytes: Buffer) {
    this.type = type;
    this.bytes = bytes;
  }
}

/** A vendor of one wire. */
export interface FamilyVendor {
  readonly model: Model;
  /**
   * Answers one body, JSON or a `Form`, as strictly as the vendor: it throws for what the vendor refuses. A
   * reply that is no JSON is a `ByteAnswer`. `tokens` are its usage, if it reports any.
   */
  answer(body: unknown, tokens: number): unknown;
  /** The usage that a reply with so many tokens means; undefined if it reports none. */
  toUsage(tokens: number, body: Fields): Usage | undefined;
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

type Called = Pick<FamilyClient, 'path' | 'toForm'>;

function readCall({ client }: Protocol, { path, toForm }: Called, body: Fields): ClientCall {
  const match = client.match('POST', path);
  if (!match) throw new Error(`${path} is no call.`);
  const sent = toForm ? toForm(body) : freeze(structuredClone(body));
  return client.read(sent, JSON.stringify(body), match, {});
}

/** What a vendor reads. The boundary of a form differs each time. */
function listBodies({ body, others = [], contentType = '' }: EncodedRequest): Promise<unknown[]> {
  const bodies = [body, ...others].map(async (each) => {
    const bytes = isSource(each) ? Buffer.concat(await Array.fromAsync(each.read())) : each;
    return bytes instanceof Uint8Array ? readForm(Buffer.from(bytes), contentType) : asJson(each);
  });
  return Promise.all(bodies);
}

interface Pair {
  readonly protocol: Protocol;
  readonly wire: Protocol;
  readonly client: FamilyClient;
  readonly vendor: FamilyVendor;
}

/** What the vendor is sent, and the client's members that it is told are lost. */
async function encode(
  { protocol, wire, client, vendor }: Pair,
  body: Fields,
): Promise<{ sent: unknown[]; lost: string[] }> {
  const call = readCall(protocol, client, body);
  const encoded = wire.upstream.encodeRequest(call.decode(), vendor.model, undefined);
  const { fieldNames } = protocol.client;
  const lost = encoded.losses.map(({ path }) => toClientPath(path, call.decode(), fieldNames));
  return { sent: await listBodies(encoded), lost };
}

type Reply = string | ByteAnswer;

function toReply(answer: unknown): Reply {
  return answer instanceof ByteAnswer ? answer : (JSON.stringify(answer) ?? '');
}

const chunkLength = 5;

/** In chunks; a broken one does not come to its end. */
async function* streamReply(reply: Reply, isBroken: boolean): AsyncGenerator<Uint8Array> {
  const bytes = typeof reply === 'string' ? Buffer.from(reply) : reply.bytes;
  for (let at = 0; at < bytes.length; at += chunkLength) yield bytes.subarray(at, at + chunkLength);
  if (isBroken) throw new GatewayError('upstream_failed', 'The provider broke off.');
}

interface Relayed {
  readonly text: string;
  readonly type: string | undefined;
  readonly bytes: Buffer;
  readonly reported: readonly Usage[];
}

/** Writes the client's reply from the vendor's, of which one of bytes may break off. */
async function relay(
  { protocol, wire, client, vendor }: Pair,
  body: Fields,
  replies: readonly Reply[],
  isBroken = false,
): Promise<Relayed> {
  const call = readCall(protocol, client, body);
  const [first = ''] = replies;
  const reported: Usage[] = [];
  let type: string | undefined;
  const written = protocol.client.joinReplies?.(
    {
      wire,
      model: vendor.model,
      first: {
        status: 200,
        headers: { 'content-type': typeof first === 'string' ? 'application/json' : first.type },
        body: streamReply(first, isBroken),
      },
      setType: (stated) => void (type = stated),
      count: replies.length,
      fetch: async (index) => {
        const reply = replies[index] ?? '';
        return typeof reply === 'string' ? Buffer.from(reply) : reply.bytes;
      },
      report: (usage) => void reported.push(usage),
      findCharged: () => undefined,
    },
    { id: 'ab12', model: vendor.model.id, created: 1_790_000_000, call },
  );
  const pieces: Buffer[] = [];
  for await (const piece of written ?? []) pieces.push(Buffer.from(piece));
  const bytes = Buffer.concat(pieces);
  return { text: bytes.toString(), type, bytes, reported };
}

function readAnswers({ client }: Pair, { text, type, bytes }: Relayed, body: Fields): readonly unknown[] {
  return client.readAnswers(type === undefined ? JSON.parse(text) : new ByteAnswer(type, bytes), body);
}

/** The same; undefined if it is refused in the way that replies may be: with a reason for clients. */
async function relayHostile(
  pair: Pair,
  body: Fields,
  replies: readonly Reply[],
  isBroken = false,
): Promise<Relayed | undefined> {
  try {
    return await relay(pair, body, replies, isBroken);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    expect(error.status).toBeGreaterThanOrEqual(500);
    return undefined;
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
        const { sent } = await encode(pair, body);
        const relayed = await relay(pair, body, answerAll(pair, sent, tokens).map(toReply));
        const { reported } = relayed;
        expect(readAnswers(pair, relayed, body)).toEqual(client.expectAnswers(body));
        // A vendor that writes 0 has not counted.
        const usage = vendor.toUsage(tokens, body);
        const isCounted = usage && Object.values(usage).some((count) => Number(count) > 0);
        expect(reported.slice(-1)).toEqual(isCounted ? [sumCounts(sent.map(() => usage))] : []);
      }),
      runs,
    ));

  it('is sent the same each time it is encoded', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, async (body) => {
        expect(await encode(pair, body)).toEqual(await encode(pair, body));
      }),
      runs,
    ));

  it('loses no member of a body in silence', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, async (body) => {
        const whole = await encode(pair, body);
        for (const name of Object.keys(body)) {
          if (client.local?.includes(name)) continue;
          const { [name]: _, ...rest } = body;
          const without = await encodeOptional(pair, rest);
          if (without) expect(whole, `"${name}" of ${JSON.stringify(body)}`).not.toEqual(without);
        }
      }),
      runs,
    ));
}

/** Undefined if the body lacks a required member. */
async function encodeOptional(
  pair: Pair,
  body: Fields,
): Promise<Awaited<ReturnType<typeof encode>> | undefined> {
  try {
    return await encode(pair, body);
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}

/** Reads a form as it arrives, with files that are too long for memory. Closes it after `use`. */
async function passLargeForm(
  forms: LargeForms,
  { fields, files }: Form,
  use: (kept: Form, same: Form) => Promise<void>,
): Promise<void> {
  const longer = files.map((file) => ({
    ...file,
    bytes: Buffer.concat([requireBytes(file), Buffer.alloc(forms.held, file.filename)]),
  }));
  const { body, contentType } = encodeForm(new Form(fields, longer));
  if (isSource(body)) throw new Error('The form is in memory.');
  const reading = forms.open(contentType, { key: 'k', account: 'a' });
  try {
    for (let at = 0; at < body.length; at += 50_000)
      await reading.write(Buffer.from(body.subarray(at, at + 50_000)));
    const kept = await reading.end();
    if (!(kept instanceof Form)) throw new Error('What was read is no form.');
    await use(kept, await readForm(Buffer.from(body), contentType));
  } finally {
    reading.close();
  }
}

function testLargeForms(pair: Pair, forms: LargeForms): void {
  it('sends files that are not in memory as it sends others, or refuses them by name', () =>
    fc.assert(
      fc.asyncProperty(pair.client.bodies, async (body) => {
        const { toForm } = pair.client;
        if (!toForm) throw new Error('A client of large forms needs "toForm".');
        const encodeAs = (form: Form) =>
          encode({ ...pair, client: { ...pair.client, toForm: () => form } }, body);
        await passLargeForm(forms, toForm(body), async (kept, same) => {
          expect(kept.files.every(({ bytes }) => isSource(bytes))).toBe(true);
          // A call that comes again is recognised by it.
          expect(JSON.stringify(kept)).toBe(JSON.stringify(same));
          try {
            expect(await encodeAs(kept)).toEqual(await encodeAs(same));
          } catch (error) {
            if (!isGatewayError(error)) throw error;
            expect([error.status, kept.files.map(({ name }) => name)]).toEqual([
              413,
              expect.arrayContaining([error.details.param]),
            ]);
          }
        });
      }),
      { numRuns: 3 },
    ));
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
  const expectWhole = (relayed: Relayed | undefined, body: Fields): void => {
    if (relayed) expect(readAnswers(pair, relayed, body)).toHaveLength(client.expectAnswers(body).length);
  };

  it('never completes with what is no reply', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, fc.constantFrom(...noReplies), async (body, bad) => {
        const { sent } = await encode(pair, body);
        const good = answerAll(pair, sent, 7).map(toReply);
        expect(await relayHostile(pair, body, replaceLast(good, bad))).toBeUndefined();
      }),
      runs,
    ));

  it('never completes with a reply that is cut', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, fc.nat(), async (body, cut) => {
        const { sent } = await encode(pair, body);
        const good = answerAll(pair, sent, 7).map(toReply);
        const last = good.at(-1) ?? '';
        // Of bytes the connection alone says where they end.
        const isText = typeof last === 'string';
        const replies = isText ? replaceLast(good, last.slice(0, cut % last.length)) : good;
        expect(await relayHostile(pair, body, replies, !isText)).toBeUndefined();
      }),
      runs,
    ));

  it('fails, or answers everything, if one thing in a reply is wrong', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, fc.gen(), async (body, gen) => {
        const replies = answerAll(pair, (await encode(pair, body)).sent, 7);
        const wrong = gen(() => mutate(replies.slice(-1)));
        expectWhole(await relayHostile(pair, body, replaceLast(replies, wrong).map(toReply)), body);
      }),
      { numRuns: 150 },
    ));

  it('never passes on a number that JSON cannot have', () =>
    fc.assert(
      fc.asyncProperty(client.bodies, fc.constantFrom('1e999', '-1e999', '1e300'), async (body, number) => {
        const { sent } = await encode(pair, body);
        const texts = answerAll(pair, sent, 7)
          .map(toReply)
          .map((reply) => (typeof reply === 'string' ? reply.replace(/-?\d+\.\d+/, number) : reply));
        expectWhole(await relayHostile(pair, body, texts), body);
      }),
      runs,
    ));
}

function testClient(protocol: Protocol, client: FamilyClient): void {
  const { path, bodies } = client;

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
        expect(() => readCall(protocol, client, asking)).toThrow(
          expect.objectContaining({ details: expect.objectContaining({ param: 'provider.fallback' }) }),
        );
      }),
      { numRuns: 5 },
    ));
}

type Losses = EncodedRequest['losses'];

const examples = z.array(z.looseObject({}));

/** A wire, and a vendor of it. */
export type Way = readonly [wire: Protocol, vendor: Pick<FamilyVendor, 'model' | 'answer'>];

/** What one vendor of each wire makes of a body; undefined: the call is refused. */
async function listLosses(
  protocol: Protocol,
  [wire, { model, answer }]: Way,
  ask: Fields,
): Promise<Losses | undefined> {
  const { path = '', body } = (await protocol.describeCalls?.())?.[0] ?? {};
  const [example] = examples.parse(body?.['application/json']?.meta()?.['examples']);
  try {
    const call = readCall(protocol, { path: path.replace('{model}', model.id) }, { ...example, ...ask });
    const encoded = wire.upstream.encodeRequest(call.decode(), model, undefined);
    for (const each of await listBodies(encoded)) answer(each, 7);
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
  ways: readonly Way[],
  ask: Fields,
): Promise<Record<string, string>> {
  const judged = ways.map(async (way) => {
    const usual = await listLosses(protocol, way, {});
    return [way[0].name, judge(await listLosses(protocol, way, ask), usual)] as const;
  });
  return Object.fromEntries(await Promise.all(judged));
}

/** Expects that the rows of a protocol on the capability page are what is measured. */
export function testAbilities(protocol: Protocol, ways: readonly Way[]): void {
  it(`states what clients of ${protocol.name} can ask for, and how it fares on each wire`, async () => {
    const stated = (await protocol.describeAbilities?.()) ?? {};
    expect(stated).not.toEqual({});
    for (const [name, { ask, wires }] of Object.entries(stated))
      expect({ [name]: await measureAbility(protocol, ways, ask) }).toEqual({ [name]: wires });
  });
}

/** Registers the suite; call it at the top of a test file. */
export function testFamily({ plugin, clients, vendors }: FamilyFacts): void {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const { protocols } = createHost([plugin], undefined, undefined, folder);
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

    const ways = Object.entries(vendors).map(([name, vendor]) => [find(name), vendor] as const);
    for (const protocol of own) if (protocol.describeAbilities) testAbilities(protocol, ways);

    describe.each(clients.map((client) => [client.wire, client.path, client] as const))(
      'a client of %s at %s',
      (name, _path, client) => {
        const protocol = find(name);
        testClient(protocol, client);

        describe.each(Object.entries(vendors))('and a vendor of %s', (wire, vendor) => {
          const pair = { protocol, wire: find(wire), client, vendor };
          testCrossing(pair);
          testHostileReplies(pair);
          const { largeForms } = protocol.client;
          if (largeForms) testLargeForms(pair, largeForms);
        });
      },
    );
  });
}
