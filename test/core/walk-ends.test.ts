/** How a call ends: its last bytes, clients that disconnect, and the lanes of its bytes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { type PluginFactory } from '../../core/index.ts';
import { findCount, listUses } from '../../core/index.ts';
import {
  type Behaviour,
  call,
  openGateway,
  waitForEnd,
  open,
  answerStream,
  streamParts,
  defineTaps,
  buildVendor,
  answerWhole,
} from './one-call.ts';

function createHold(): { plugin: PluginFactory<z.ZodObject>; release: () => void; held: Promise<void> } {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const plugin = defineTaps(({ hooks }) =>
    hooks.meter.tapPromise('hold', async () => {
      reached.resolve();
      await gate.promise;
    }),
  );
  return { plugin, release: gate.resolve, held: reached.promise };
}

it('the gateway waits for the ledger before the last bytes of a stream, not earlier', async () => {
  const { plugin, release, held } = createHold();
  const started = await openGateway([plugin(), buildVendor('v', answerStream)]);
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

it('the gateway waits for the ledger before a JSON reply', async () => {
  const { plugin, release, held } = createHold();
  const started = await openGateway([plugin(), buildVendor('v', answerWhole)]);
  let answered = false;
  const reply = call(started).then((response) => ((answered = true), response.text()));
  await held;
  await sleep(50);
  expect(answered).toBe(false);
  release();
  expect(await reply).toContain('hello');
});

it('the gateway holds the last bytes for five seconds at most', async () => {
  const { plugin, release } = createHold();
  const started = await openGateway([plugin(), buildVendor('v', answerWhole)]);
  expect(await (await call(started)).text()).toContain('hello');
  release();
});

it('the gateway charges a whole reply if the client disconnects while its last bytes are held', async () => {
  const { plugin, release, held } = createHold();
  const started = await openGateway([plugin(), buildVendor('v', answerStream)]);
  const controller = new AbortController();
  const response = await call(started, { stream: true }, { signal: controller.signal });
  await held;
  controller.abort();
  await expect(response.text()).rejects.toThrow();
  release();
  expect(await waitForEnd(started)).toMatchObject({
    type: 'answered',
    outcome: 'completed',
    charge: { cost: 11_000n },
  });
});

it('a disconnect stops the provider at once and charges the input and what was delivered', async () => {
  let stopped = false;
  const endless = streamParts(async function* () {
    try {
      for (;;) {
        yield 'data: {"model":"m","text":"four"}\n\n';
        await sleep(5);
      }
    } finally {
      stopped = true;
    }
  });
  const started = await openGateway([open(), buildVendor('v', endless)]);
  const controller = new AbortController();
  const response = await call(
    started,
    { stream: true, prompt: 'twelve bytes' },
    { signal: controller.signal },
  );
  await response.body?.getReader().read();
  controller.abort();
  const end = await waitForEnd(started);
  expect(end).toMatchObject({
    type: 'answered',
    outcome: 'aborted',
    error: { code: 'client_gone' },
    charge: { basis: 'estimate' },
  });
  const { uses } = end.type === 'answered' ? end.charge : { uses: [] };
  expect(findCount(uses, 'input')).toBe(3);
  expect(findCount(uses, 'output')).toBeGreaterThan(0);
  await expect.poll(() => stopped).toBe(true);
});

it('a reply that is read on names the disconnect if its client missed only the last piece', async () => {
  const draining = defineTaps(({ providers, onApplied }) =>
    onApplied(() => Object.assign(providers.get('v'), { onAbort: { seconds: 60, bytes: 1e6, atOnce: 1 } })),
  );
  const lastAfterDisconnect: Behaviour = async (_, { signal }) => ({
    type: 'text/event-stream',
    body: (async function* () {
      yield 'data: {"model":"m","text":"one"}\n\n';
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield 'data: {"done":true,"in":3,"out":4}\n\n';
    })(),
  });
  const started = await openGateway([draining(), buildVendor('v', lastAfterDisconnect)]);
  const controller = new AbortController();
  const response = await call(started, { stream: true }, { signal: controller.signal });
  await response.body?.getReader().read();
  controller.abort();
  expect(await waitForEnd(started)).toMatchObject({
    type: 'answered',
    outcome: 'aborted',
    error: { code: 'client_gone' },
    charge: { basis: 'usage', uses: listUses({ input: 3, output: 4 }) },
  });
});

it('a disconnect after sending and before output charges only the input', async () => {
  const sent = Promise.withResolvers<void>();
  const waitForAbort: Behaviour = async (_, { attempt }) => {
    sent.resolve();
    return new Promise((_resolve, reject) =>
      attempt.signal.addEventListener('abort', () => reject(new Error('aborted'))),
    );
  };
  const started = await openGateway([open(), buildVendor('v', waitForAbort)]);
  const controller = new AbortController();
  const response = call(started, { prompt: 'twelve bytes' }, { signal: controller.signal });
  await sent.promise;
  controller.abort();
  await expect(response).rejects.toThrow();
  expect(await waitForEnd(started)).toMatchObject({
    type: 'failed',
    error: { code: 'client_gone' },
    charge: { uses: listUses({ input: 3, output: 0 }), basis: 'estimate' },
  });
});

it("the gateway keeps the client's bytes unless an applicable tap needs the body", async () => {
  const bodies: unknown[] = [];
  const recordBody: Behaviour = async (request, exchange) => (
    bodies.push(String(request.body)),
    exchange.call.stream ? answerStream(request, exchange) : answerWhole(request, exchange)
  );
  const shouting = defineTaps(({ hooks }) =>
    hooks.transformRequest.tapPromise(
      { name: 'shout', when: (exchange) => exchange.call.stream },
      async (request) => ({ ...request, temperature: 1 }),
    ),
  );
  const started = await openGateway([shouting(), buildVendor('v', recordBody)]);
  const odd = '{ "prompt":"hi" ,"model": "house/model"}';
  await (await call(started, odd)).text();
  const translated = await call(started, { stream: true });
  await translated.text();
  expect(bodies).toEqual([odd, '{"model":"model","prompt":"hi","stream":true}']);
  expect(translated.headers.get('x-tollgate-dropped')).toBe('temperature');
});

it('the gateway refuses a loss if the operator configured that, naming the field', async () => {
  const warming = defineTaps(({ hooks }) =>
    hooks.transformRequest.tapPromise({ name: 'warm', when: () => true }, async (request) => ({
      ...request,
      temperature: 1,
    })),
  );
  const started = await openGateway([warming(), buildVendor('v', answerWhole)], { loss: 'reject' });
  const response = await call(started);
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { plain_error: 'unsupported_parameter', param: 'temperature' },
  ]);
});

it.each([
  [
    true,
    answerWhole,
    'data: {"model":"house/model","text":"hello"}\n\ndata: {"done":true,"in":3,"out":4}\n\n',
  ],
  [false, answerStream, '{"model":"house/model","text":"onetwo","in":3,"out":4}'],
])(
  'the client gets the form that it asked for although the provider sent the other (stream: %s)',
  async (stream, behaviour, sent) => {
    const started = await openGateway([open(), buildVendor('v', behaviour)]);
    expect(await (await call(started, { stream })).text()).toBe(sent);
  },
);

it('the gateway runs a stream transform once around the events of a whole reply', async () => {
  let times = 0;
  const doubling = defineTaps(({ hooks }) =>
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
  const started = await openGateway([doubling(), buildVendor('v', answerStream)]);
  expect(await (await call(started)).json()).toMatchObject({ text: 'oneonetwotwo' });
  expect(times).toBe(1);
});
