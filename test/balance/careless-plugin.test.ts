/** A careless plugin throws at each step between a reservation and its end: the reservation still ends. */
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, type Attempt, type Host } from '../../core/index.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openBooks } from '../support/books.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';

/**
 * The steps at which it throws, and the effect on a call: it is refused, its stream breaks off, or it is not
 * affected.
 */
const steps = {
  'authorize, behind the ledger': 'refused',
  'the start of an attempt': 'untouched',
  transformRequest: 'refused',
  dispatch: 'refused',
  'the first byte of a reply': 'refused',
  'the middle of a reply': 'broken',
  'the first event of an attempt': 'untouched',
  transformStream: 'refused',
  'the first transformed event': 'refused',
  'a later transformed event': 'broken',
  'the end of an attempt': 'untouched',
  'meter, before the ledger': 'untouched',
  'meter, behind the ledger': 'untouched',
  observe: 'untouched',
} as const;
type Step = keyof typeof steps;

let current: Step | undefined;

function trip(step: Step): void {
  if (current === step) throw new Error('out of luck');
}

async function* breakAfter<Each>(source: AsyncIterable<Each>, count: number): AsyncGenerator<Each> {
  let left = count;
  for await (const each of source) {
    if (left === 0) throw new Error('out of luck');
    left -= 1;
    yield each;
  }
}

async function* yieldReply(): AsyncGenerator<Uint8Array> {
  const chunk = {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }],
  };
  for (let count = 0; count < 3; count += 1) yield Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}

const phases: Readonly<Record<Attempt['phase'], Step>> = {
  start: 'the start of an attempt',
  'first-event': 'the first event of an attempt',
  end: 'the end of an attempt',
};

function tapAll({ hooks }: Host): void {
  hooks.authorize.tapPromise(
    { name: 'careless', stage: 10 },
    async (grant) => (trip('authorize, behind the ledger'), grant),
  );
  hooks.attempt.tap('careless', ({ phase }) => void trip(phases[phase]));
  hooks.transformRequest.tapPromise(
    { name: 'careless', when: () => current === 'transformRequest' },
    async (request) => (trip('transformRequest'), request),
  );
  hooks.dispatch.tapPromise({ name: 'careless', stage: -10 }, async (_, { attempt }) => {
    trip('dispatch');
    if (current !== 'the first byte of a reply' && current !== 'the middle of a reply') return undefined;
    attempt.sent = true;
    return {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: breakAfter(yieldReply(), current === 'the first byte of a reply' ? 0 : 2),
    };
  });
  hooks.transformStream.tap(
    { name: 'careless', when: () => current?.includes('transform') ?? false },
    (events) => {
      trip('transformStream');
      if (current === 'the first transformed event') return breakAfter(events, 0);
      return current === 'a later transformed event' ? breakAfter(events, 4) : events;
    },
  );
  hooks.meter.tapPromise({ name: 'careless', stage: -10 }, async () => trip('meter, before the ledger'));
  hooks.meter.tapPromise({ name: 'careless', stage: 10 }, async () => trip('meter, behind the ledger'));
  hooks.observe.tapPromise('careless', async () => trip('observe'));
}

const careless = definePlugin({ name: 'careless', options: z.strictObject({}), apply: tapAll });
const user = [{ role: 'user', content: 'Say a few words to me, if you please.' }];
const families: Readonly<Record<string, (stream: boolean) => readonly [path: string, body: object]>> = {
  'chat-completions': (stream) => [
    '/v1/chat/completions',
    { model: 'demo/echo', stream, max_tokens: 50, messages: user },
  ],
  responses: (stream) => [
    '/v1/responses',
    { model: 'demo/echo', stream, max_output_tokens: 50, input: user[0]?.content },
  ],
  messages: (stream) => [
    '/alpha/v1/messages',
    { model: 'demo/echo', stream, max_tokens: 50, messages: user },
  ],
  'generate-content': (stream) => [
    `/beta/v1beta/models/demo/echo:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: user[0]?.content }] }] },
  ],
};

/** What only a complete stream contains: that of responses ends with `[DONE]` after a failure too. */
const lastWords: Readonly<Record<string, string>> = {
  'chat-completions': '[DONE]',
  responses: 'response.completed',
  messages: 'message_stop',
  'generate-content': '"finishReason":"STOP"',
};

let gateway: TestGateway;
let store: Store;
let key: string;
beforeAll(async () => {
  const plugins = [
    bearer(),
    apiKeyHeader(),
    ...textProtocols(),
    demo({ pace: 1 }),
    balance({ firstCredit: '0' }),
    careless(),
  ];
  gateway = await startGateway({ plugins });
  ({ store, key } = await openBooks(gateway));
  await gateway.verb('credit add', ['tester', '5']);
});

async function call(
  family: string,
  stream: boolean,
): Promise<{ readonly status: number; readonly text: string; readonly id: string }> {
  const [path, body] = families[family]?.(stream) ?? ['', {}];
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
  };
  const response = await postJson(gateway.url + path, body, headers);
  return {
    status: response.status,
    text: await response.text(),
    id: response.headers.get('x-request-id') ?? '',
  };
}

describe.each(Object.entries(steps))('a plugin that throws at %s', (name, effect) => {
  const step = Object.keys(steps).find((each): each is Step => each === name);

  it.each(Object.keys(families))(
    `leaves a call of %s ${effect}, and its reservation ended`,
    async (family) => {
      for (const stream of [true, false]) {
        // Only a stream has parts of a reply.
        if (!stream && name.endsWith('of a reply')) continue;
        current = step;
        const { status, text, id } = await call(family, stream);
        current = undefined;
        const isWhole = text.includes(lastWords[family] ?? '');
        const message = `${family} ${stream ? 'streamed' : 'whole'}: ${status} ${text.slice(-300)}`;
        if (effect === 'untouched') expect(stream ? isWhole : status === 200, message).toBe(true);
        else if (effect === 'broken' && stream)
          expect([status, isWhole, text.includes('error')], message).toEqual([200, false, true]);
        else expect([status >= 500, typeof JSON.parse(text)], message).toEqual([true, 'object']);
        expect(text, message).not.toContain('out of luck');
        // No plugin has to log what the client cannot read.
        if (effect !== 'untouched')
          await expect
            .poll(() => gateway.log.some((line) => line.includes(id) && line.includes('out of luck')))
            .toBe(true);
        await expect
          .poll(async () => (await store.listEntries({ call: id, limit: 9 })).map(({ kind }) => kind))
          .toEqual(['reserve', expect.stringMatching(/^(post|void)$/)]);
      }
      expect((await call(family, false)).status).toBe(200);
    },
  );
});

it('the ledger passes its audit after every throw, and nothing is pending', async () => {
  expect(await store.audit()).toMatchObject({ ok: true, pending: 0, findings: [] });
});
