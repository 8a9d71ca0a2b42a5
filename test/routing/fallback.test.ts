/**
 * A fault at each phase of an attempt, against each fallback rule: who answers, or which error the client
 * gets.
 */
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { startScriptedVendor, type Conduct, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { serve, type Served } from '../support/serve.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';
import { nowhere, rows, type Choice, type Row, answerWell } from './fallback-rows.ts';

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
afterAll(async () => {
  for (const each of Object.values(gateways)) await each.close();
  await faulty.close();
  await sound.close();
  await mute.close();
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
  ])('that says %j about retries reaches the client with %s seconds', async (said, message) => {
    faulty.conduct((response) => void response.writeHead(429, { ...said }).end('{"error":{"message":"no"}}'));
    const body = {
      model: 'house/model',
      messages: [{ role: 'user', content: 'Hi' }],
      provider: { allow_fallbacks: false },
    };
    const response = await postJson(`${gateways.faulty.url}${path}`, body);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, message]);
  });
});

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

it('a reused connection that closes as a call is sent loses no reply', async () => {
  for (const stream of [true, false, true]) {
    const fault = createClosingConduct();
    await ask({ ...nowhere(0), fault, stream: 'cut' }, { stream });
    expect(await ask({ ...nowhere(0), fault, stream: 'cut' }, { stream })).toEqual({
      choice: 'first',
      attempts: 1,
    });
  }
});

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
