/**
 * A fault at each phase of an attempt, against each fallback rule: who answers, or which error the client
 * gets.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startScriptedVendor, type Conduct, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { openDoors, station } from '../support/station.ts';

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const start = chunk({ role: 'assistant', content: 'one' });
const whole = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'one' }, finish_reason: 'stop' }],
  usage,
});

const isStream = (body: string): boolean => body.includes('"stream":true');

/** Answers correctly, whole or streamed. */
const well: Conduct = (response, _, body) => {
  if (!isStream(body)) return void response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(start + chunk({}, 'stop') + ending(usage));
};

/** Sends the head of a reply and this much of its body, then does as instructed. */
const after =
  (text: string, then: (response: Parameters<Conduct>[0]) => void): Conduct =>
  (response, _, body) => {
    response.writeHead(200, { 'content-type': isStream(body) ? 'text/event-stream' : 'application/json' });
    response.flushHeaders();
    if (text) response.write(text);
    setTimeout(() => then(response), 20);
  };
const answers =
  (status: number, code = 'some_code'): Conduct =>
  (response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message: 'It says no.', type: 't', code } }));
const silence = (): void => undefined;

/**
 * What the client of each kind of call gets: `second` if the next provider answers, otherwise the status of
 * the error.
 */
type Choice = 'second' | number;
interface Row {
  readonly fault: Conduct | 'refused' | 'unreachable';
  readonly stream: Choice | 'cut';
  readonly json: Choice;
  readonly image: Choice;
  /**
   * How often a target is asked: again after a transient fault, and for a key at its limit if no other target
   * is left.
   */
  readonly asked?: 'once' | 'again when alone';
}

const anywhere = { stream: 'second', json: 'second', image: 'second' } as const;
/** The provider may have produced the image, so the gateway does not ask for it again. */
const unknownOutcome = (status: number): Omit<Row, 'fault'> => ({
  stream: 'second',
  json: 'second',
  image: status,
});
const askedOnce = { asked: 'once' } as const;
const nowhere = (status: number): Omit<Row, 'fault'> => ({ stream: status, json: status, image: status });

const rows: Readonly<Record<string, Row>> = {
  'nobody listens': { fault: 'refused', ...anywhere },
  'no connection comes about': { fault: 'unreachable', ...anywhere, ...askedOnce },
  'the connection is reset before any reply': {
    fault: (response) => void response.socket?.resetAndDestroy(),
    ...unknownOutcome(502),
  },
  'the connection is closed before any reply': {
    fault: (response) => void response.socket?.destroy(),
    ...unknownOutcome(502),
  },
  'silence before the head': { fault: silence, ...unknownOutcome(504), ...askedOnce },
  'status 400': { fault: answers(400), ...nowhere(400) },
  'status 400 about our key': { fault: answers(400, 'invalid_api_key'), ...anywhere, ...askedOnce },
  'status 400 for content': { fault: answers(400, 'content_policy_violation'), ...nowhere(400) },
  'status 401': { fault: answers(401), ...anywhere, ...askedOnce },
  'status 402': { fault: answers(402), ...anywhere, ...askedOnce },
  'status 403': { fault: answers(403), ...anywhere, ...askedOnce },
  'status 404': { fault: answers(404, 'model_not_found'), ...anywhere, ...askedOnce },
  'status 413': { fault: answers(413), ...nowhere(413) },
  'status 422': { fault: answers(422), ...nowhere(400) },
  'status 429': { fault: answers(429, 'rate_limit_exceeded'), ...anywhere, asked: 'again when alone' },
  'status 429 for want of credit': { fault: answers(429, 'insufficient_quota'), ...anywhere, ...askedOnce },
  'status 500': { fault: answers(500), ...anywhere },
  'status 502': { fault: answers(502), ...unknownOutcome(502) },
  'status 503': { fault: answers(503), ...anywhere },
  'status 504': { fault: answers(504), ...unknownOutcome(504) },
  'status 529': { fault: answers(529), ...anywhere },
  'silence after the head': { fault: after('', silence), ...unknownOutcome(504), ...askedOnce },
  'a reset after the head': {
    fault: after('', (response) => response.socket?.resetAndDestroy()),
    ...unknownOutcome(502),
  },
  'an end after the head': { fault: after('', (response) => response.end()), ...unknownOutcome(502) },
  garbage: { fault: after('<html>', (response) => response.end()), ...unknownOutcome(502) },
  'a chunk without a length': {
    fault: after('', (response) => void response.socket?.write('none\r\n')),
    ...unknownOutcome(502),
  },
  'comments and nothing else': {
    fault: after(': wait\n\n', (response) => response.end()),
    ...unknownOutcome(502),
  },
  'an error for a first event': {
    fault: after('data: {"error":{"message":"no","code":"boom"}}\n\n', (response) => response.end()),
    ...unknownOutcome(502),
  },
  'an error about the request for a first event': {
    fault: after('data: {"error":{"message":"no","code":400}}\n\n', (response) => response.end()),
    stream: 400,
    json: 'second',
    image: 502,
  },
  'an error about the request for a whole reply': {
    fault: (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"error":{"message":"no","code":422}}'),
    ...nowhere(400),
  },
  'a reset after the first event': {
    fault: after(start, (response) => response.socket?.resetAndDestroy()),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'an end after the first event': {
    fault: after(start, (response) => response.end()),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'an error after the first event': {
    fault: after(start, (response) => response.end('data: {"error":{"message":"no","code":"boom"}}\n\n')),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'a chunk without a length after the first event': {
    fault: after(start, (response) => void response.socket?.write('none\r\n')),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'silence after the first event': {
    fault: after(start, silence),
    stream: 'cut',
    json: 'second',
    image: 504,
    ...askedOnce,
  },
};

const models = [{}, { id: 'house/painter', output: ['text', 'image'] as const }].map(
  ({ output, ...rest }) => ({ ...rest, ...(output ? { output: [...output] } : {}) }),
);
const path = '/v1/chat/completions';

let faulty: ScriptedVendor;
let sound: ScriptedVendor;
let mute: Server;
/** The faulty provider before the healthy one; no listener; and no connection in time. */
let houses: Record<'faulty' | 'refused' | 'unreachable', TestGateway>;

async function house(origin: string): Promise<TestGateway> {
  return startGateway({
    timeouts: { connect: 0.4, firstEvent: 0.5, reply: 0.5, idle: 0.4 },
    plugins: [
      openDoors(),
      chatCompletions(),
      station({ name: 'first', endpoints: { 'chat-completions': origin + path }, models }),
      station({ name: 'second', endpoints: { 'chat-completions': sound.origin + path }, models }),
      preferences(),
    ],
  });
}

beforeAll(async () => {
  faulty = await startScriptedVendor(well);
  sound = await startScriptedVendor(well);
  const closed = await startScriptedVendor(well);
  await closed.close();
  // It accepts connections, and never answers their TLS handshake.
  mute = createServer().listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const address = mute.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  houses = {
    faulty: await house(faulty.origin),
    refused: await house(closed.origin),
    unreachable: await house(`https://127.0.0.1:${port}`),
  };
});
afterAll(async () => {
  for (const each of Object.values(houses)) await each.close();
  await faulty.close();
  await sound.close();
  mute.close();
});

interface Told {
  readonly choice: Choice | 'cut' | 'first';
  readonly attempts: number;
}

async function ask(row: Row, body: object): Promise<Told> {
  if (typeof row.fault !== 'string') faulty.conduct(row.fault);
  const gateway = houses[typeof row.fault === 'string' ? row.fault : 'faulty'];
  const before = gateway.ends.length;
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    body: JSON.stringify({ model: 'house/model', messages: [{ role: 'user', content: 'Hi' }], ...body }),
  });
  const text = await response.text();
  const end = (await gateway.ended(before + 1))[before];
  const attempts = end?.attempts.length ?? 0;
  if (response.status !== 200) return { choice: response.status, attempts };
  expect(text).toContain('"model":"house/');
  if (text.includes('"error"')) {
    expect(text).not.toContain('[DONE]');
    return { choice: 'cut', attempts };
  }
  // Lost attempts cost nothing: the charge is for the reply that was sent, at its price.
  expect(end).toMatchObject({ type: 'answered', charge: { cost: 11_000n, basis: 'usage' } });
  return { choice: response.headers.get('x-tollgate-provider') === 'second' ? 'second' : 'first', attempts };
}

/** The first target is asked twice if another attempt may help, and three times if it is alone. */
function attemptsOf(choice: Choice | 'cut', { asked }: Row): number {
  return choice === 'second' ? (asked ? 2 : 3) : 1;
}

function attemptsAlone({ stream, asked }: Row): number {
  return stream === 'second' && asked !== 'once' ? 3 : 1;
}

describe.each(Object.entries(rows))('%s', (_, row) => {
  it('gives a stream the documented result', async () => {
    expect(await ask(row, { stream: true })).toEqual({
      choice: row.stream,
      attempts: attemptsOf(row.stream, row),
    });
  });
  it('gives a JSON call the documented result', async () => {
    expect(await ask(row, {})).toEqual({ choice: row.json, attempts: attemptsOf(row.json, row) });
  });
  it('gives a call for an image the documented result', async () => {
    expect(await ask(row, { model: 'house/painter' })).toEqual({
      choice: row.image,
      attempts: attemptsOf(row.image, row),
    });
  });
  it('gives a call without fallbacks one target', async () => {
    const { choice, attempts } = await ask(row, { stream: true, provider: { allow_fallbacks: false } });
    expect([attempts, choice === 'second' || choice === 'first']).toEqual([attemptsAlone(row), false]);
  });
});

describe('an error of the provider', () => {
  // A longer wait than the gateway's own: it hands the error on at once.
  it.each<[string, Conduct]>([
    [
      'are cut',
      (response) =>
        void response
          .writeHead(429, { 'content-length': 1000, 'retry-after': '60' })
          .write('{"error":', () => response.destroy()),
    ],
    [
      'are too many',
      (response) => void response.writeHead(429, { 'retry-after': '60' }).end(' '.repeat(2_000_000)),
    ],
  ])('whose message %s keeps its status and has a retry-after', async (_, fault) => {
    faulty.conduct(fault);
    const body = {
      model: 'house/model',
      messages: [{ role: 'user', content: 'Hi' }],
      provider: { allow_fallbacks: false },
    };
    const response = await fetch(`${houses.faulty.url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    expect([response.status, response.headers.get('retry-after'), await response.json()]).toMatchObject([
      429,
      '60',
      { error: { code: 'rate_limit_exceeded' } },
    ]);
  });

  it.each([
    ['2.2', '3'],
    ['99999999999999999999999', '31536000'],
    ['soon', '5'],
  ])('that says "%s" about retries reaches the client with %s seconds', async (said, told) => {
    faulty.conduct(
      (response) => void response.writeHead(429, { 'retry-after': said }).end('{"error":{"message":"no"}}'),
    );
    const body = {
      model: 'house/model',
      messages: [{ role: 'user', content: 'Hi' }],
      provider: { allow_fallbacks: false },
    };
    const response = await fetch(`${houses.faulty.url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, told]);
  });
});

describe('a reused connection that closes as a call is sent', () => {
  const closing = (): Conduct => {
    const used = new WeakSet<object>();
    return (response, request, body) => {
      if (used.has(request.socket)) return void request.socket.destroy();
      used.add(request.socket);
      well(response, request, body);
    };
  };

  it('loses no reply', async () => {
    for (const stream of [true, false, true]) {
      const fault = closing();
      await ask({ ...nowhere(0), fault, stream: 'cut' }, { stream });
      expect(await ask({ ...nowhere(0), fault, stream: 'cut' }, { stream })).toEqual({
        choice: 'first',
        attempts: 1,
      });
    }
  });

  it('has no picture produced twice', async () => {
    const fault = closing();
    const before = faulty.bodies.length;
    await ask({ ...nowhere(0), fault, stream: 'cut' }, { model: 'house/painter' });
    expect(await ask({ ...nowhere(0), fault, stream: 'cut' }, { model: 'house/painter' })).toEqual({
      choice: 502,
      attempts: 1,
    });
    expect(faulty.bodies).toHaveLength(before + 2);
  });
});
