/**
 * Taps that fail in every possible way, at any hook, with clients that disconnect at any moment. Each call
 * ends once.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import {
  checkModel,
  definePlugin,
  GatewayError,
  type CanonicalEvent,
  type Host,
  type Received,
  type UpstreamRequest,
} from '../../core/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { houseModel } from '../support/house-model.ts';
import { plain } from '../support/plain-protocol.ts';

const hooks = [
  'authenticate',
  'replay',
  'route',
  'authorize',
  'when',
  'transformRequest',
  'dispatch',
  'transformStream',
  'attempt',
  'meter',
  'observe',
] as const;
type Hook = (typeof hooks)[number];
/** `slow` answers correctly, later; `never` not at all. */
const faults = ['throws', 'rejects', 'refuses', 'nonsense', 'slow', 'never'] as const;
type Fault = (typeof faults)[number];

interface Plan {
  readonly faults: Partial<Record<Hook, Fault>>;
  readonly stream: boolean;
  /**
   * When the client disconnects: as a hook is reached, or after it has read a piece; undefined if it stays.
   */
  readonly leaves: Hook | 'reply' | undefined;
}

const plans = fc.record({
  faults: fc.dictionary(fc.constantFrom(...hooks), fc.constantFrom(...faults), { maxKeys: 2 }),
  stream: fc.boolean(),
  leaves: fc.option(fc.constantFrom(...hooks, 'reply' as const), { nil: undefined }),
});

/** The running calls, by the number that each of them sends. */
const running = new Map<string, { readonly plan: Plan; readonly client: AbortController }>();
const authorized: string[] = [];
const metered: string[] = [];

/** What a plugin in plain JavaScript may do, past the types. */
function eraseType(value: unknown): never {
  return value as never;
}

function readName({ headers }: Received): string {
  return String(headers['x-plan']);
}

/** Does at a hook what the call's plan says; returns `usual` if it says nothing. */
function misbehave<Value>(hook: Hook, exchange: Received, usual: Value): Value | Promise<Value> {
  const known = running.get(readName(exchange));
  if (known?.plan.leaves === hook) known.client.abort();
  const fault = known?.plan.faults[hook];
  if (fault === 'throws') throw new TypeError('a slip');
  if (fault === 'refuses') throw new GatewayError('forbidden', 'Not today.');
  if (fault === 'rejects') return Promise.reject(new Error('out of luck'));
  if (fault === 'never') return new Promise(() => undefined);
  if (fault === 'slow') return sleep(5).then(() => usual);
  return fault === 'nonsense' ? JSON.parse('{"status":"nonsense","targets":7}') : usual;
}

async function* disturbEvents(
  events: AsyncIterable<CanonicalEvent>,
  exchange: Received,
): AsyncGenerator<CanonicalEvent> {
  for await (const event of events) {
    yield event;
    if (event.type === 'block-delta') await misbehave('transformStream', exchange, undefined);
  }
}

const inHouse = definePlugin({
  name: 'house',
  options: z.strictObject({}),
  apply({
    hooks: {
      authenticate,
      replay,
      route,
      authorize,
      transformRequest,
      transformStream,
      dispatch,
      attempt,
      meter,
      observe,
    },
    providers,
    catalog,
  }: Host) {
    authenticate.tapPromise('unruly', async (received) => misbehave('authenticate', received, undefined));
    authenticate.tap('anyone', () => ({ kind: 'user', account: 'a', key: 'k' }));
    replay.tapPromise('unruly', async (parsed) => misbehave('replay', parsed, undefined));
    route.tapPromise('unruly', async (targets, parsed) => misbehave('route', parsed, targets));
    authorize.tap(
      { name: 'books', stage: -1 },
      (grant, planned) => (authorized.push(readName(planned)), grant),
    );
    authorize.tapPromise('unruly', async (grant, planned) => misbehave('authorize', planned, grant));
    transformRequest.tapPromise(
      { name: 'unruly', when: eraseType((exchange: Received) => misbehave('when', exchange, true)) },
      async (request, exchange) => misbehave('transformRequest', exchange, request),
    );
    transformStream.tap({ name: 'unruly', when: () => true }, disturbEvents);
    attempt.tap(
      'unruly',
      eraseType((_: unknown, exchange: Received) => misbehave('attempt', exchange, undefined)),
    );
    meter.tapPromise('unruly', async ({ exchange }) => misbehave('meter', exchange, undefined));
    meter.tap({ name: 'books', stage: -1 }, ({ exchange }) => void metered.push(readName(exchange)));
    observe.tapPromise('unruly', async ({ exchange }) => misbehave('observe', exchange, undefined));
    for (const name of ['first', 'second']) {
      const provider = {
        name,
        endpoints: { plain: `http://${name}.invalid/` },
        sign: (request: UpstreamRequest) => request,
      };
      providers.add(provider);
      catalog.offer(provider, [
        checkModel({ ...houseModel, upstream: 'model', free: undefined, price: { input: '1', output: '2' } }),
      ]);
    }
    dispatch.tapPromise('unruly', async (_, exchange) => {
      exchange.attempt.sent = true;
      const response = {
        status: 200,
        headers: { 'content-type': exchange.call.stream ? 'text/event-stream' : 'application/json' },
        body: replyTo(exchange.call.stream),
      };
      return misbehave('dispatch', exchange, response);
    });
  },
});

async function* replyTo(stream: boolean): AsyncGenerator<Uint8Array> {
  if (!stream) return yield Buffer.from('{"model":"m","text":"hello","in":3,"out":4}');
  for (const text of ['one', 'two']) {
    yield Buffer.from(`data: ${JSON.stringify({ model: 'm', text })}\n\n`);
    await setImmediate();
  }
  yield Buffer.from('data: {"done":true,"in":3,"out":4}\n\n');
}

let gateway: TestGateway;
const lost: unknown[] = [];
const lose = (error: unknown): void => void lost.push(error);
beforeAll(async () => {
  process.on('unhandledRejection', lose);
  gateway = await startGateway({
    plugins: [plain(), inHouse()],
    timeouts: { firstEvent: 0.2, reply: 0.2, call: 2 },
  });
});
afterAll(async () => {
  process.off('unhandledRejection', lose);
});

/** What its client receives: a status and a text, or nothing if it has disconnected. */
async function call(
  name: string,
  { stream, leaves }: Plan,
  client: AbortController,
): Promise<readonly [number, string] | undefined> {
  try {
    const response = await fetch(`${gateway.url}/plain`, {
      method: 'POST',
      headers: { 'x-plan': name },
      body: JSON.stringify({ model: 'house/model', prompt: 'hi', stream }),
      signal: client.signal,
    });
    const reader = response.body?.getReader();
    let text = '';
    for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) {
      text += Buffer.from(step.value).toString();
      if (leaves === 'reply') client.abort();
    }
    return [response.status, text];
  } catch (error) {
    if (client.signal.aborted) return undefined;
    throw error;
  }
}

/** Hooks that the gateway awaits, or awaits for five seconds (the ledger). */
const patient: readonly Hook[] = ['authenticate', 'replay', 'route', 'authorize', 'meter'];
const mayEnd = (plan: Plan): boolean => patient.every((hook) => plan.faults[hook] !== 'never');

let count = 0;

it('the gateway ends and, if authorized, meters each call once, and answers clients that stay', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(plans.filter(mayEnd), { minLength: 200, maxLength: 300 }), async (all) => {
      const calls = all.map((plan) => ({ plan, name: String((count += 1)), client: new AbortController() }));
      for (const { name, ...known } of calls) running.set(name, known);
      const replies = await Promise.all(calls.map(({ plan, name, client }) => call(name, plan, client)));
      for (const [index, { plan, name }] of calls.entries()) {
        const what = JSON.stringify(plan);
        await expect
          .poll(() => gateway.ends.filter(({ exchange }) => readName(exchange) === name).length, {
            message: what,
          })
          .toBe(1);
        expect(metered.filter((each) => each === name).length, what).toBe(
          authorized.filter((each) => each === name).length,
        );
        if (plan.leaves === undefined) expect(replies[index]?.[1], what).toMatch(/plain_error|"in":3/);
      }
      await setImmediate();
      expect(lost.splice(0)).toEqual([]);
    }),
    { numRuns: 1 },
  );
});
