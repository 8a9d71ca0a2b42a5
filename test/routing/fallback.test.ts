/**
 * A fault at each phase of an attempt, against each fallback rule: who answers, or which error the client
 * gets.
 */
import { createServer } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import {
  sendJson,
  type Conduct,
  startScriptedVendor,
  type ScriptedVendor,
} from '../support/scripted-vendor.ts';
import { serve, type Served } from '../support/serve.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const start = chunk({ role: 'assistant', content: 'one' });

const whole = chatReply('one', { usage });

const isStream = (body: string): boolean => body.includes('"stream":true');

/** Answers correctly, whole or streamed. */
const answerWell: Conduct = (response, _, body) => {
  if (!isStream(body)) return sendJson(response, whole);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(start + chunk({}, 'stop') + ending(usage));
};

/** Sends the head of a reply and this much of its body, then does as instructed. */
const breakAfter =
  (text: string, then: (response: Parameters<Conduct>[0]) => void): Conduct =>
  (response, _, body) => {
    response.writeHead(200, { 'content-type': isStream(body) ? 'text/event-stream' : 'application/json' });
    response.flushHeaders();
    if (text) response.write(text);
    setTimeout(() => then(response), 20);
  };

const answerWith =
  (status: number, code = 'some_code'): Conduct =>
  (response) =>
    sendJson(response, { error: { message: 'It says no.', type: 't', code } }, status);

const keepSilent = (): void => undefined;

/**
 * What the client of each kind of call gets: `second` if the next provider answers, otherwise the status of
 * the error.
 */
type Choice = 'second' | number;

interface Row {
  readonly fault: Conduct | 'refused' | 'unreachable';
  /** Only a timeout of the gateway ends the attempt. */
  readonly isSilent?: true;
  readonly stream: Choice | 'cut';
  readonly json: Choice;
  readonly image: Choice;
  /**
   * How often a target is asked: again after a transient fault, and for a key at its limit or after silence
   * if no other target is left.
   */
  readonly asked?: 'once' | 'twice when alone' | 'again when alone';
}

const anywhere = { stream: 'second', json: 'second', image: 'second' } as const;

/** The provider may have produced the image, so the gateway does not ask for it again. */
const unknownOutcome = (status: number): Omit<Row, 'fault'> => ({
  stream: 'second',
  json: 'second',
  image: status,
});

const askedOnce = { asked: 'once' } as const;
const askedTwiceAlone = { asked: 'twice when alone' } as const;

const nowhere = (status: number): Omit<Row, 'fault'> => ({
  stream: status,
  json: status,
  image: status,
});

const rows: Readonly<Record<string, Row>> = {
  'nothing listens': { fault: 'refused', ...anywhere },
  'no connection comes about': { fault: 'unreachable', ...anywhere, ...askedTwiceAlone },
  'the connection is reset before any reply': {
    fault: (response) => void response.socket?.resetAndDestroy(),
    ...unknownOutcome(502),
  },
  'the connection is closed before any reply': {
    fault: (response) => void response.socket?.destroy(),
    ...unknownOutcome(502),
  },
  'silence before the head': {
    fault: keepSilent,
    isSilent: true,
    ...unknownOutcome(504),
    ...askedTwiceAlone,
  },
  'status 400': { fault: answerWith(400), ...nowhere(400) },
  'status 400 about our key': { fault: answerWith(400, 'invalid_api_key'), ...anywhere, ...askedOnce },
  'status 400 for content': { fault: answerWith(400, 'content_policy_violation'), ...nowhere(400) },
  'status 401': { fault: answerWith(401), ...anywhere, ...askedOnce },
  'status 402': { fault: answerWith(402), ...anywhere, ...askedOnce },
  'status 403': { fault: answerWith(403), ...anywhere, ...askedOnce },
  'status 404': { fault: answerWith(404, 'model_not_found'), ...anywhere, ...askedOnce },
  'status 413': { fault: answerWith(413), ...nowhere(413) },
  'status 422': { fault: answerWith(422), ...nowhere(422) },
  'status 429': { fault: answerWith(429, 'rate_limit_exceeded'), ...anywhere, asked: 'again when alone' },
  'status 429 for want of credit': {
    fault: answerWith(429, 'insufficient_quota'),
    ...anywhere,
    ...askedOnce,
  },
  'status 500': { fault: answerWith(500), ...anywhere },
  'status 502': { fault: answerWith(502), ...unknownOutcome(502) },
  'status 503': { fault: answerWith(503), ...anywhere },
  'status 504': { fault: answerWith(504), ...unknownOutcome(504) },
  'status 529': { fault: answerWith(529), ...anywhere },
  'silence after the head': {
    fault: breakAfter('', keepSilent),
    isSilent: true,
    ...unknownOutcome(504),
    ...askedTwiceAlone,
  },
  'a reset after the head': {
    fault: breakAfter('', (response) => response.socket?.resetAndDestroy()),
    ...unknownOutcome(502),
  },
  'an end after the head': { fault: breakAfter('', (response) => response.end()), ...unknownOutcome(502) },
  garbage: { fault: breakAfter('<html>', (response) => response.end()), ...unknownOutcome(502) },
  'a chunk without a length': {
    fault: breakAfter('', (response) => void response.socket?.write('none\r\n')),
    ...unknownOutcome(502),
  },
  'comments and nothing else': {
    fault: breakAfter(': wait\n\n', (response) => response.end()),
    ...unknownOutcome(502),
  },
  'an error for a first event': {
    fault: breakAfter('data: {"error":{"message":"no","code":"boom"}}\n\n', (response) => response.end()),
    ...unknownOutcome(502),
  },
  'an error about the request for a first event': {
    fault: breakAfter('data: {"error":{"message":"no","code":400}}\n\n', (response) => response.end()),
    stream: 400,
    json: 'second',
    image: 502,
  },
  'an error about the request for a whole reply': {
    fault: (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"error":{"message":"no","code":422}}'),
    ...nowhere(422),
  },
  'a reset after the first event': {
    fault: breakAfter(start, (response) => response.socket?.resetAndDestroy()),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'an end after the first event': {
    fault: breakAfter(start, (response) => response.end()),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'an error after the first event': {
    fault: breakAfter(start, (response) =>
      response.end('data: {"error":{"message":"no","code":"boom"}}\n\n'),
    ),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'a chunk without a length after the first event': {
    fault: breakAfter(start, (response) => void response.socket?.write('none\r\n')),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'silence after the first event': {
    fault: breakAfter(start, keepSilent),
    isSilent: true,
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
let mute: Served;

/** The faulty provider before the healthy one, twice; no listener; and no connection in time. */
let gateways: Record<'faulty' | 'hasty' | 'refused' | 'unreachable', TestGateway>;

/** For attempts that only a timeout ends. */
const short = { connect: 0.4, firstEvent: 0.5, reply: 0.5, idle: 0.4 };

async function startHarness(origin: string, timeouts = {}): Promise<TestGateway> {
  return startGateway({
    timeouts,
    plugins: [
      acceptAnyKey(),
      chatCompletions(),
      testProvider({ name: 'first', endpoints: { 'chat-completions': origin + path }, models }),
      testProvider({ name: 'second', endpoints: { 'chat-completions': sound.origin + path }, models }),
      preferences(),
    ],
  });
}

beforeAll(async () => {
  faulty = await startScriptedVendor(answerWell);
  sound = await startScriptedVendor(answerWell);
  const closed = await startScriptedVendor(answerWell);
  await closed.close();
  // It accepts connections, and never answers their TLS handshake.
  mute = await serve(createServer());
  gateways = {
    faulty: await startHarness(faulty.origin),
    hasty: await startHarness(faulty.origin, short),
    refused: await startHarness(closed.origin),
    unreachable: await startHarness(`https://127.0.0.1:${mute.port}`, short),
  };
});

interface ClientReply {
  readonly choice: Choice | 'cut' | 'first';
  readonly attempts: number;
}

async function ask(row: Row, body: object): Promise<ClientReply> {
  if (typeof row.fault !== 'string') faulty.conduct(row.fault);
  const gateway = gateways[typeof row.fault === 'string' ? row.fault : row.isSilent ? 'hasty' : 'faulty'];
  const before = gateway.ends.length;
  const response = await postJson(`${gateway.url}${path}`, {
    model: 'house/model',
    messages: [{ role: 'user', content: 'Hi' }],
    ...body,
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

/** The first target is asked twice if another attempt may help. Alone it is asked three times, or twice. */
function countAttempts(choice: Choice | 'cut', { asked }: Row): number {
  return choice === 'second' ? (asked ? 2 : 3) : 1;
}

function countAttemptsAlone({ stream, asked }: Row): number {
  if (asked === 'twice when alone') return 2;
  return stream === 'second' && asked !== 'once' ? 3 : 1;
}

describe.each(Object.entries(rows))('%s', (_, row) => {
  it('gives a stream the documented result', async () => {
    expect(await ask(row, { stream: true })).toEqual({
      choice: row.stream,
      attempts: countAttempts(row.stream, row),
    });
  });
  it('gives a JSON call the documented result', async () => {
    expect(await ask(row, {})).toEqual({ choice: row.json, attempts: countAttempts(row.json, row) });
  });
  it('gives a call for an image the documented result', async () => {
    expect(await ask(row, { model: 'house/painter' })).toEqual({
      choice: row.image,
      attempts: countAttempts(row.image, row),
    });
  });
  it('gives a call without fallbacks one target', async () => {
    const { choice, attempts } = await ask(row, { stream: true, provider: { allow_fallbacks: false } });
    expect([attempts, choice === 'second' || choice === 'first']).toEqual([countAttemptsAlone(row), false]);
  });
  it('gives a call for an image no second attempt if the picture may have been made', async () => {
    const { attempts } = await ask(row, { model: 'house/painter', provider: { allow_fallbacks: false } });
    const mayBeMade = typeof row.image === 'number';
    expect(attempts).toBe(mayBeMade ? 1 : countAttemptsAlone(row));
  });
});

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
])('an error of the provider whose message %s keeps its status and has a retry-after', async (_, fault) => {
  faulty.conduct(fault);
  const body = {
    model: 'house/model',
    messages: [{ role: 'user', content: 'Hi' }],
    provider: { allow_fallbacks: false },
  };
  const response = await postJson(`${gateways.faulty.url}${path}`, body);
  expect([response.status, response.headers.get('retry-after'), await response.json()]).toMatchObject([
    429,
    '60',
    { error: { code: 'rate_limit_exceeded' } },
  ]);
});

it.each<[Readonly<Record<string, string>>, string]>([
  [{ 'retry-after': '2.2' }, '3'],
  [{ 'retry-after': '20s' }, '20'],
  [{ 'retry-after': '1m26.4s' }, '87'],
  [{ 'retry-after': '99999999999999999999999' }, '31536000'],
  [{ 'retry-after': 'soon' }, '5'],
  [{ 'x-ratelimit-reset-requests': '6m0s' }, '360'],
  [{ 'x-ratelimit-reset-requests': '6m0s', 'retry-after': '20' }, '20'],
  [{ 'x-ratelimit-reset-requests': '1h0m1s', 'x-ratelimit-remaining-requests': '9' }, '5'],
  [
    {
      'x-ratelimit-remaining-requests': '9',
      'x-ratelimit-reset-requests': '6m0s',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '7500ms',
    },
    '8',
  ],
])(
  'an error of the provider that says %j about retries reaches the client with %s seconds',
  async (said, message) => {
    faulty.conduct((response) => void response.writeHead(429, { ...said }).end('{"error":{"message":"no"}}'));
    const body = {
      model: 'house/model',
      messages: [{ role: 'user', content: 'Hi' }],
      provider: { allow_fallbacks: false },
    };
    const response = await postJson(`${gateways.faulty.url}${path}`, body);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, message]);
  },
);

it.each([true, false])('a provider that is silent once answers the retry (stream: %s)', async (stream) => {
  let isAsked = false;
  const fault: Conduct = (...call) => {
    if (isAsked) answerWell(...call);
    isAsked = true;
  };
  expect(
    await ask(
      { fault, isSilent: true, stream: 504, json: 504, image: 504 },
      { stream, provider: { allow_fallbacks: false } },
    ),
  ).toEqual({ choice: 'first', attempts: 2 });
});

const createClosingConduct = (): Conduct => {
  const used = new WeakSet<object>();
  return (response, request, body) => {
    if (used.has(request.socket)) return void request.socket.destroy();
    used.add(request.socket);
    answerWell(response, request, body);
  };
};

it('a reused connection that closes as a call is sent has no picture produced twice', async () => {
  const fault = createClosingConduct();
  const before = faulty.bodies.length;
  await ask({ ...nowhere(0), fault, stream: 'cut' }, { model: 'house/painter' });
  expect(await ask({ ...nowhere(0), fault, stream: 'cut' }, { model: 'house/painter' })).toEqual({
    choice: 502,
    attempts: 1,
  });
  expect(faulty.bodies).toHaveLength(before + 2);
});
