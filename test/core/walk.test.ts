/** The path of one call, hook by hook. The provider is a tap on `dispatch`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ConfigInput } from '../../core/config.ts';
import {
  checkModel,
  definePlugin,
  GatewayError,
  type End,
  type Host,
  type PluginFactory,
  type Routed,
  type UpstreamRequest,
} from '../../core/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { houseModel } from '../support/house-model.ts';
import { plain } from '../support/plain-protocol.ts';

type Behaviour = (
  request: UpstreamRequest,
  exchange: Routed,
) => Promise<{
  status?: number;
  type?: string;
  headers?: Record<string, string>;
  body: AsyncIterable<string> | string;
}>;

let running: TestGateway | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function* encoded(parts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const part of parts) yield Buffer.from(part);
}

/** A provider that serves `house/model` and does what a test says. */
function vendor(name: string, behaviour: Behaviour): PluginFactory<z.ZodObject> {
  return definePlugin({
    name,
    options: z.strictObject({}),
    apply(host) {
      const provider = {
        name,
        endpoints: { plain: `http://${name}.invalid/` },
        sign: (request: UpstreamRequest) => request,
      };
      host.providers.add(provider);
      host.catalog.offer(provider, [
        checkModel({ ...houseModel, upstream: 'model', free: undefined, price: { input: '1', output: '2' } }),
      ]);
      host.hooks.dispatch.tapPromise(name, async (request, exchange) => {
        if (exchange.attempt.target.provider !== provider) return undefined;
        exchange.attempt.sent = true;
        const { status = 200, type = 'application/json', headers, body } = await behaviour(request, exchange);
        return {
          status,
          headers: { 'content-type': type, ...headers },
          body: typeof body === 'string' ? once(body) : encoded(body),
        };
      });
    },
  });
}

/** A plugin with one test's own taps; it authenticates everyone unless the test taps that itself. */
function taps(apply: (host: Host) => void, open = true): PluginFactory<z.ZodObject> {
  return definePlugin({
    name: 'taps',
    options: z.strictObject({}),
    apply(host) {
      apply(host);
      if (open)
        host.hooks.authenticate.tapPromise('anyone', async () => ({ kind: 'user', account: 'a', key: 'k' }));
    },
  });
}

const open = taps(() => undefined);
const whole: Behaviour = async () => ({ body: '{"model":"m","text":"hello","in":3,"out":4}' });

function streaming(parts: () => AsyncIterable<string>): Behaviour {
  return async () => ({ type: 'text/event-stream', body: parts() });
}

const streamed = streaming(async function* () {
  yield 'data: {"model":"m","text":"one"}\n\n';
  yield 'data: {"model":"m","text":"two"}\n\n';
  yield 'data: {"done":true,"in":3,"out":4}\n\n';
});

async function gateway(
  plugins: ConfigInput['plugins'],
  settings: Partial<ConfigInput> = {},
): Promise<TestGateway> {
  running = await startGateway({ ...settings, plugins: [plain(), ...plugins] });
  return running;
}

function call({ url }: TestGateway, body: unknown = {}, init: RequestInit = {}): Promise<Response> {
  const text =
    typeof body === 'string'
      ? body
      : JSON.stringify({
          model: 'house/model',
          prompt: 'hi',
          ...z.record(z.string(), z.unknown()).parse(body),
        });
  return fetch(`${url}/plain`, { method: 'POST', body: text, ...init });
}

async function onlyEnd(of: TestGateway): Promise<End> {
  const [end] = await of.ended(1);
  if (!end) throw new Error('no end was observed');
  return end;
}

describe('the order of a call', () => {
  it('fires the hooks in order', async () => {
    const order: string[] = [];
    const note = (name: string) => void order.push(name);
    const every = taps(({ hooks }) => {
      hooks.authenticate.tapPromise('a', async () => (note('authenticate'), undefined));
      hooks.replay.tapPromise('a', async () => (note('replay'), undefined));
      hooks.route.tapPromise('a', async (targets) => (note('route'), targets));
      hooks.authorize.tapPromise('a', async (grant) => (note('authorize'), grant));
      hooks.transformRequest.tapPromise(
        { name: 'a', when: () => true },
        async (request) => (note('transformRequest'), request),
      );
      hooks.transformStream.tap(
        { name: 'a', when: () => true },
        (events) => (note('transformStream'), events),
      );
      hooks.attempt.tap('a', ({ phase }) => note(`attempt ${phase}`) ?? undefined);
      hooks.dispatch.tapPromise('a', async () => (note('dispatch'), undefined));
      hooks.meter.tapPromise('a', async () => note('meter'));
      hooks.observe.tapPromise('a', async () => note('observe'));
    });
    const started = await gateway([every(), vendor('v', whole)()]);
    expect(await (await call(started)).json()).toEqual({
      model: 'house/model',
      text: 'hello',
      in: 3,
      out: 4,
    });
    await started.ended(1);
    expect(order).toEqual([
      'authenticate',
      'replay',
      'route',
      'authorize',
      'attempt start',
      'transformRequest',
      'dispatch',
      'transformStream',
      'attempt first-event',
      'attempt end',
      'meter',
      'observe',
    ]);
  });

  it('computes usage and cost before the meter runs', async () => {
    const metered: End[] = [];
    const started = await gateway([
      taps(({ hooks }) => hooks.meter.tapPromise('m', async (end) => void metered.push(end)))(),
      vendor('v', whole)(),
    ]);
    await (await call(started)).text();
    expect(metered).toMatchObject([
      {
        type: 'answered',
        outcome: 'completed',
        charge: { cost: 11_000n, usage: { input: 3, output: 4 }, basis: 'usage' },
      },
    ]);
  });
});

describe('refusals', () => {
  it('refuses a bad credential before it reads the body', async () => {
    const door = taps(({ hooks }) => {
      hooks.authenticate.tapPromise('door', async () => {
        throw new GatewayError('invalid_api_key', 'This key is disabled.');
      });
    }, false);
    const started = await gateway([door(), vendor('v', whole)()]);
    const response = await call(started, '{ not even JSON');
    expect([response.status, await response.json()]).toEqual([
      401,
      { plain_error: 'invalid_api_key', message: 'This key is disabled.' },
    ]);
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(await onlyEnd(started)).toMatchObject({ type: 'refused', attempts: [] });
  });

  it('reports a missing key if no scheme recognises the credential', async () => {
    const started = await gateway([taps(() => undefined, false)(), vendor('v', whole)()]);
    expect((await call(started)).status).toBe(401);
  });

  it('names the model that does not exist', async () => {
    const started = await gateway([open(), vendor('v', whole)()]);
    const response = await call(started, { model: 'house/other' });
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { plain_error: 'model_not_found', param: 'model' },
    ]);
  });

  it('meters a refusal by authorize once, and calls no provider', async () => {
    const metered: string[] = [];
    let asked = 0;
    const refusing = taps(({ hooks }) => {
      hooks.authorize.tapPromise('r', async () => {
        throw new GatewayError('out_of_balance', 'Top up.');
      });
      hooks.meter.tapPromise('r', async ({ type }) => void metered.push(type));
    });
    const started = await gateway([refusing(), vendor('v', (...given) => ((asked += 1), whole(...given)))()]);
    expect((await call(started)).status).toBe(402);
    expect([metered, asked]).toEqual([['refused'], 0]);
  });

  it('never shows internal errors to the client', async () => {
    const breaking = taps(({ hooks }) => {
      hooks.route.tapPromise('b', async () => {
        throw new Error('password=hunter2');
      });
    });
    const started = await gateway([breaking(), vendor('v', whole)()]);
    const response = await call(started);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('hunter2');
  });
});

describe('replays', () => {
  it('sends the stored reply, calls no provider and meters nothing', async () => {
    const metered: string[] = [];
    const replaying = taps(({ hooks }) => {
      hooks.replay.tapPromise('r', async () => ({
        status: 200,
        headers: { 'content-type': 'application/json', 'x-replayed': 'yes' },
        body: Buffer.from('{"stored":true}'),
      }));
      hooks.meter.tapPromise('r', async ({ type }) => void metered.push(type));
    });
    const started = await gateway([replaying(), vendor('v', async () => ({ status: 500, body: '' }))()]);
    const response = await call(started);
    expect([response.headers.get('x-replayed'), await response.json()]).toEqual(['yes', { stored: true }]);
    expect([(await onlyEnd(started)).type, metered]).toEqual(['replayed', []]);
  });

  it.each([
    [false, '{"model":"house/model","text":"hello","in":3,"out":4}'],
    [
      true,
      'data: {"model":"house/model","text":"one"}\n\ndata: {"model":"house/model","text":"two"}\n\n' +
        'data: {"done":true,"in":3,"out":4}\n\n',
    ],
  ])('records a reply as it was sent to the client (stream: %s)', async (stream, sent) => {
    const recordings: unknown[] = [];
    const recorder = taps(({ hooks }) => {
      hooks.replay.tapPromise('r', async (parsed) => (parsed.record(10_000), undefined));
      hooks.meter.tapPromise(
        'r',
        async (end) =>
          void recordings.push(
            end.recording && { ...end.recording, body: Buffer.from(end.recording.body).toString() },
          ),
      );
    });
    const started = await gateway([recorder(), vendor('v', stream ? streamed : whole)()]);
    expect(await (await call(started, { stream })).text()).toBe(sent);
    expect(recordings).toMatchObject([{ status: 200, body: sent, whole: true }]);
  });
});

describe('fallback', () => {
  it.each([
    ['a server error', async () => ({ status: 503, body: 'busy' })],
    ['a broken connection', () => Promise.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))],
    ['garbage', async () => ({ body: '<html>' })],
    ['a reply that ends before its first event', streaming(async function* () {})],
    [
      'comments and nothing else',
      streaming(async function* () {
        yield ': hold the line\n\n';
      }),
    ],
  ] satisfies [string, Behaviour][])(
    'continues with the next target after %s, and charges that one alone',
    async (what, behaviour) => {
      const stream = what.includes('event') || what.includes('comments');
      const started = await gateway([
        open(),
        vendor('first', behaviour)(),
        vendor('second', stream ? streamed : whole)(),
      ]);
      const response = await call(started, { stream });
      expect([
        response.status,
        response.headers.get('x-tollgate-provider'),
        response.headers.get('x-tollgate-attempts'),
      ]).toEqual([200, 'second', '3']);
      await response.text();
      const end = await onlyEnd(started);
      expect(end).toMatchObject({ type: 'answered', charge: { cost: 11_000n } });
      expect(end.attempts.map(({ target, error }) => [target.provider.name, error?.code])).toEqual([
        ['first', 'upstream_failed'],
        ['first', 'upstream_failed'],
        ['second', undefined],
      ]);
    },
  );

  it('does not fall back if the request itself is invalid', async () => {
    const started = await gateway([
      open(),
      vendor('first', async () => ({ status: 400, body: 'bad' }))(),
      vendor('second', whole)(),
    ]);
    expect((await call(started)).status).toBe(400);
    expect((await onlyEnd(started)).attempts).toHaveLength(1);
  });

  it('never falls back after the first event: the stream ends in an error, never as complete', async () => {
    const cut = streaming(async function* () {
      yield 'data: {"model":"m","text":"one"}\n\n';
    });
    const started = await gateway([open(), vendor('first', cut)(), vendor('second', streamed)()]);
    const text = await (await call(started, { stream: true })).text();
    expect(text).toBe(
      'data: {"model":"house/model","text":"one"}\n\ndata: {"plain_error":"upstream_failed"}\n\n',
    );
    expect(await onlyEnd(started)).toMatchObject({
      type: 'answered',
      outcome: 'cut',
      charge: { basis: 'estimate', usage: { output: 1 } },
    });
  });

  it.each([
    ['are spent, and tells the client not to retry', { 'retry-after-ms': '20' }, ['1', 'false', '5']],
    ['would take too long, and tells the client when to retry', { 'retry-after': '12' }, ['12', null, '2']],
  ])('ends with one error when the retries at every target %s', async (_, headers, told) => {
    const failing: Behaviour = async () => ({ status: 500, headers, body: '' });
    const started = await gateway([open(), vendor('first', failing)(), vendor('second', failing)()]);
    const response = await call(started);
    const heads = ['retry-after', 'x-should-retry', 'x-tollgate-attempts'].map((name) =>
      response.headers.get(name),
    );
    expect([response.status, heads]).toEqual([503, told]);
    expect(await onlyEnd(started)).toMatchObject({ type: 'failed', charge: { cost: 0n, basis: 'none' } });
  });

  it('falls back when the first event is late', async () => {
    const silent: Behaviour = async (_, { attempt }) =>
      new Promise((_resolve, reject) =>
        attempt.signal.addEventListener('abort', () => reject(new Error('aborted'))),
      );
    const started = await gateway([open(), vendor('first', silent)(), vendor('second', whole)()], {
      timeouts: { reply: 0.05 },
    });
    const response = await call(started);
    expect(response.headers.get('x-tollgate-provider')).toBe('second');
    await response.text();
    expect((await onlyEnd(started)).attempts[0]?.error?.code).toBe('timeout');
  });

  it('falls back when a dispatch tap ignores its cancellation', async () => {
    const started = await gateway(
      [open(), vendor('first', () => new Promise(() => undefined))(), vendor('second', whole)()],
      { timeouts: { reply: 0.05 } },
    );
    expect((await call(started)).headers.get('x-tollgate-provider')).toBe('second');
    expect((await onlyEnd(started)).attempts[0]?.error?.code).toBe('timeout');
  });
});

describe('the last bytes of a reply', () => {
  function holding(): { plugin: PluginFactory<z.ZodObject>; release: () => void; held: Promise<void> } {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const plugin = taps(({ hooks }) =>
      hooks.meter.tapPromise('hold', async () => {
        reached.resolve();
        await gate.promise;
      }),
    );
    return { plugin, release: gate.resolve, held: reached.promise };
  }

  it('waits for the ledger before the last bytes of a stream, but not before earlier ones', async () => {
    const { plugin, release, held } = holding();
    const started = await gateway([plugin(), vendor('v', streamed)()]);
    const response = await call(started, { stream: true });
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
    let text = '';
    const reading = (async () => {
      for (let step = await reader.read(); !step.done; step = await reader.read())
        text += Buffer.from(step.value).toString();
    })();
    await held;
    await sleep(50);
    expect(text).toContain('two');
    expect(text).not.toContain('done');
    release();
    await reading;
    expect(text).toContain('done');
  });

  it('waits for the ledger before a JSON reply', async () => {
    const { plugin, release, held } = holding();
    const started = await gateway([plugin(), vendor('v', whole)()]);
    let answered = false;
    const reply = call(started).then((response) => ((answered = true), response.text()));
    await held;
    await sleep(50);
    expect(answered).toBe(false);
    release();
    expect(await reply).toContain('hello');
  });

  it('holds the last bytes for five seconds at most', async () => {
    const { plugin, release } = holding();
    const started = await gateway([plugin(), vendor('v', whole)()]);
    expect(await (await call(started)).text()).toContain('hello');
    release();
  });

  it('charges a complete reply if the client disconnects while its last bytes are held', async () => {
    const { plugin, release, held } = holding();
    const started = await gateway([plugin(), vendor('v', streamed)()]);
    const leaving = new AbortController();
    const response = await call(started, { stream: true }, { signal: leaving.signal });
    await held;
    leaving.abort();
    await expect(response.text()).rejects.toThrow();
    release();
    expect(await onlyEnd(started)).toMatchObject({
      type: 'answered',
      outcome: 'completed',
      charge: { cost: 11_000n },
    });
  });
});

describe('client disconnects', () => {
  it('stops the provider at once and charges the input and what was delivered', async () => {
    let stopped = false;
    const endless = streaming(async function* () {
      try {
        for (;;) {
          yield 'data: {"model":"m","text":"four"}\n\n';
          await sleep(5);
        }
      } finally {
        stopped = true;
      }
    });
    const started = await gateway([open(), vendor('v', endless)()]);
    const leaving = new AbortController();
    const response = await call(
      started,
      { stream: true, prompt: 'twelve bytes' },
      { signal: leaving.signal },
    );
    await response.body?.getReader().read();
    leaving.abort();
    const end = await onlyEnd(started);
    expect(end).toMatchObject({
      type: 'answered',
      outcome: 'aborted',
      error: { code: 'client_gone' },
      charge: { basis: 'estimate', usage: { input: 3 } },
    });
    expect(end.type === 'answered' && end.charge.usage.output).toBeGreaterThan(0);
    await expect.poll(() => stopped).toBe(true);
  });

  it('charges only the input if the client disconnects after sending but before output', async () => {
    const sent = Promise.withResolvers<void>();
    const silent: Behaviour = async (_, { attempt }) => {
      sent.resolve();
      return new Promise((_resolve, reject) =>
        attempt.signal.addEventListener('abort', () => reject(new Error('aborted'))),
      );
    };
    const started = await gateway([open(), vendor('v', silent)()]);
    const leaving = new AbortController();
    const response = call(started, { prompt: 'twelve bytes' }, { signal: leaving.signal });
    await sent.promise;
    leaving.abort();
    await expect(response).rejects.toThrow();
    expect(await onlyEnd(started)).toMatchObject({
      type: 'failed',
      error: { code: 'client_gone' },
      charge: { usage: { input: 3, output: 0 }, basis: 'estimate' },
    });
  });
});

describe('lanes', () => {
  it("keeps the client's bytes unless an applicable tap needs the body", async () => {
    const bodies: unknown[] = [];
    const watching: Behaviour = async (request, exchange) => (
      bodies.push(String(request.body)),
      exchange.call.stream ? streamed(request, exchange) : whole(request, exchange)
    );
    const shouting = taps(({ hooks }) =>
      hooks.transformRequest.tapPromise(
        { name: 'shout', when: (exchange) => exchange.call.stream },
        async (request) => ({ ...request, temperature: 1 }),
      ),
    );
    const started = await gateway([shouting(), vendor('v', watching)()]);
    const odd = '{ "prompt":"hi" ,"model": "house/model"}';
    await (await call(started, odd)).text();
    const translated = await call(started, { stream: true });
    await translated.text();
    expect(bodies).toEqual([odd, '{"model":"model","prompt":"hi","stream":true}']);
    expect(translated.headers.get('x-tollgate-dropped')).toBe('temperature');
  });

  it('refuses a loss if the operator configured that, naming the field', async () => {
    const warming = taps(({ hooks }) =>
      hooks.transformRequest.tapPromise({ name: 'warm', when: () => true }, async (request) => ({
        ...request,
        temperature: 1,
      })),
    );
    const started = await gateway([warming(), vendor('v', whole)()], { loss: 'reject' });
    const response = await call(started);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { plain_error: 'unsupported_parameter', param: 'temperature' },
    ]);
  });

  it.each([
    [true, whole, 'data: {"model":"house/model","text":"hello"}\n\ndata: {"done":true,"in":3,"out":4}\n\n'],
    [false, streamed, '{"model":"house/model","text":"onetwo","in":3,"out":4}'],
  ])(
    'sends the client the form that it asked for although the provider sent the other (stream: %s)',
    async (stream, behaviour, sent) => {
      const started = await gateway([open(), vendor('v', behaviour)()]);
      expect(await (await call(started, { stream })).text()).toBe(sent);
    },
  );

  it('runs a stream transform once around the events of a whole reply', async () => {
    let times = 0;
    const doubling = taps(({ hooks }) =>
      hooks.transformStream.tap({ name: 'double', when: () => true }, (events) => {
        times += 1;
        return (async function* () {
          for await (const event of events) {
            yield event;
            if (event.type === 'block-delta') yield event;
          }
        })();
      }),
    );
    const started = await gateway([doubling(), vendor('v', streamed)()]);
    expect(await (await call(started)).json()).toMatchObject({ text: 'oneonetwotwo' });
    expect(times).toBe(1);
  });
});

describe('keep-alives', () => {
  it('sends keep-alives during silence, still falls back, and streams a final error', async () => {
    const slowly: Behaviour = async () => (await sleep(120), { status: 503, body: '' });
    const started = await gateway([open(), vendor('first', slowly)(), vendor('second', slowly)()], {
      timeouts: { keepAlive: 0.05 },
    });
    const response = await call(started, { stream: true });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toMatch(/^(: plain\n\n){2,}data: {"plain_error":"upstream_overloaded"}\n\n$/);
    expect((await onlyEnd(started)).attempts).toHaveLength(5);
  });
});
