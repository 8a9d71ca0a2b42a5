/** The path of one call, hook by hook. The provider is a tap on `dispatch`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createHooks } from '../../core/hooks.ts';
import { GatewayError, type End } from '../../core/index.ts';
import { startGateway } from '../support/gateway.ts';
import { plain } from '../support/plain-protocol.ts';
import { withCounts } from '../support/rates.ts';
import {
  type Behaviour,
  call,
  openGateway,
  waitForEnd,
  open,
  answerStream,
  defineTaps,
  buildVendor,
  answerWhole,
} from './one-call.ts';

it('a call fires every hook, and `extend` before the attempt at a further target', async () => {
  const order: string[] = [];
  const note = (name: string) => void order.push(name);
  const every = defineTaps(({ hooks }) => {
    hooks.authenticate.tapPromise('a', async () => (note('authenticate'), undefined));
    hooks.replay.tapPromise('a', async () => (note('replay'), undefined));
    hooks.route.tapPromise('a', async (targets) => (note('route'), targets));
    hooks.authorize.tapPromise('a', async (grant) => (note('authorize'), grant));
    hooks.extend.tapPromise('a', async (grant) => (note('extend'), grant));
    hooks.transformRequest.tapPromise(
      { name: 'a', when: () => true },
      async (request) => (note('transformRequest'), request),
    );
    hooks.transformStream.tap({ name: 'a', when: () => true }, (events) => (note('transformStream'), events));
    hooks.attempt.tap('a', ({ phase }) => note(`attempt ${phase}`) ?? undefined);
    hooks.dispatch.tapPromise('a', async () => (note('dispatch'), undefined));
    for (const name of ['ready', 'meter', 'observe', 'close'] as const)
      hooks[name].tapPromise('a', async () => note(name));
  });
  // The first one lacks the model, so that the call needs a second.
  const lacking: Behaviour = async () => {
    throw new GatewayError('model_not_found', 'No such model.');
  };
  const plugins = [plain(), every(), buildVendor('without', lacking), buildVendor('v', answerWhole)];
  const started = await startGateway({ plugins });
  expect(await (await call(started)).json()).toEqual({
    model: 'house/model',
    text: 'hello',
    in: 3,
    out: 4,
  });
  await started.ended(1);
  await started.close();
  expect(order).toEqual([
    'ready',
    'authenticate',
    'replay',
    'route',
    'authorize',
    'attempt start',
    'transformRequest',
    'dispatch',
    'attempt end',
    'extend',
    'attempt start',
    'transformRequest',
    'dispatch',
    'transformStream',
    'attempt first-event',
    'attempt end',
    'meter',
    'observe',
    'close',
  ]);
  const { erase: _erase, ...hooksOfCalls } = createHooks();
  expect(new Set(order.map((each) => each.replace(/ .*/, '')))).toEqual(new Set(Object.keys(hooksOfCalls)));
});

it('a call computes usage and cost before the meter runs', async () => {
  const metered: End[] = [];
  const started = await openGateway([
    defineTaps(({ hooks }) => hooks.meter.tapPromise('m', async (end) => void metered.push(end)))(),
    buildVendor('v', answerWhole),
  ]);
  await (await call(started)).text();
  expect(metered).toMatchObject([
    {
      type: 'answered',
      outcome: 'completed',
      charge: { cost: 11_000n, uses: withCounts({ input: 3, output: 4 }), basis: 'usage' },
    },
  ]);
});

it('the gateway refuses a bad credential before it reads the body', async () => {
  const authentication = defineTaps(({ hooks }) => {
    hooks.authenticate.tapPromise('door', async () => {
      throw new GatewayError('invalid_api_key', 'This key is disabled.');
    });
  }, false);
  const started = await openGateway([authentication(), buildVendor('v', answerWhole)]);
  const response = await call(started, '{ not even JSON');
  expect([response.status, await response.json()]).toEqual([
    401,
    { plain_error: 'invalid_api_key', message: 'This key is disabled.' },
  ]);
  expect(response.headers.get('x-should-retry')).toBe('false');
  expect(await waitForEnd(started)).toMatchObject({ type: 'refused', attempts: [] });
});

it('the gateway reports a missing key if no scheme recognises the credential', async () => {
  const started = await openGateway([defineTaps(() => undefined, false)(), buildVendor('v', answerWhole)]);
  expect((await call(started)).status).toBe(401);
});

it('the gateway names the model that does not exist', async () => {
  const started = await openGateway([open(), buildVendor('v', answerWhole)]);
  const response = await call(started, { model: 'house/other' });
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { plain_error: 'model_not_found', param: 'model' },
  ]);
});

it('the gateway meters a refusal by authorize once, and calls no provider', async () => {
  const metered: string[] = [];
  let requestCount = 0;
  const refusing = defineTaps(({ hooks }) => {
    hooks.authorize.tapPromise('r', async () => {
      throw new GatewayError('out_of_balance', 'Top up.');
    });
    hooks.meter.tapPromise('r', async ({ type }) => void metered.push(type));
  });
  const started = await openGateway([
    refusing(),
    buildVendor('v', (...given) => ((requestCount += 1), answerWhole(...given))),
  ]);
  expect((await call(started)).status).toBe(402);
  expect([metered, requestCount]).toEqual([['refused'], 0]);
});

it('the gateway never shows internal errors to the client', async () => {
  const breaking = defineTaps(({ hooks }) => {
    hooks.route.tapPromise('b', async () => {
      throw new Error('password=hunter2');
    });
  });
  const started = await openGateway([breaking(), buildVendor('v', answerWhole)]);
  const response = await call(started);
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('hunter2');
});

it('the gateway sends the stored reply, calls no provider and meters nothing', async () => {
  const metered: string[] = [];
  const replaying = defineTaps(({ hooks }) => {
    hooks.replay.tapPromise('r', async () => ({
      status: 200,
      headers: { 'content-type': 'application/json', 'x-replayed': 'yes' },
      body: Buffer.from('{"stored":true}'),
    }));
    hooks.meter.tapPromise('r', async ({ type }) => void metered.push(type));
  });
  const started = await openGateway([replaying(), buildVendor('v', async () => ({ status: 500, body: '' }))]);
  const response = await call(started);
  expect([response.headers.get('x-replayed'), await response.json()]).toEqual(['yes', { stored: true }]);
  expect([(await waitForEnd(started)).type, metered]).toEqual(['replayed', []]);
});

it.each([
  [false, '{"model":"house/model","text":"hello","in":3,"out":4}'],
  [
    true,
    'data: {"model":"house/model","text":"one"}\n\ndata: {"model":"house/model","text":"two"}\n\n' +
      'data: {"done":true,"in":3,"out":4}\n\n',
  ],
])('the gateway records a reply as it was sent to the client (stream: %s)', async (stream, sent) => {
  const recordings: unknown[] = [];
  const recorder = defineTaps(({ hooks }) => {
    hooks.replay.tapPromise('r', async (parsed) => (parsed.record(10_000), undefined));
    hooks.meter.tapPromise(
      'r',
      async (end) =>
        void recordings.push(
          end.recording && { ...end.recording, body: Buffer.from(end.recording.body).toString() },
        ),
    );
  });
  const started = await openGateway([recorder(), buildVendor('v', stream ? answerStream : answerWhole)]);
  expect(await (await call(started, { stream })).text()).toBe(sent);
  expect(recordings).toMatchObject([{ status: 200, body: sent, whole: true }]);
});

it('the gateway sends keep-alives during silence, still falls back, and streams a final error', async () => {
  const failSlowly: Behaviour = async () => (await sleep(200), { status: 503, body: '' });
  const started = await openGateway(
    [open(), buildVendor('first', failSlowly), buildVendor('second', failSlowly)],
    {
      timeouts: { keepAlive: 0.05 },
    },
  );
  const response = await call(started, { stream: true });
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(text).toMatch(/^(: plain\n\n){2,}data: {"plain_error":"upstream_overloaded"}\n\n$/);
  expect((await waitForEnd(started)).attempts).toHaveLength(5);
});
