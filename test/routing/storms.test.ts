/**
 * How often today's clients retry, SDKs with their own settings and coding agents, after each way a call can
 * fail: never more often than can help.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { health } from '../../plugins/routing/health.ts';
import { chunk } from '../support/chat-stream.ts';
import { keyHeaders, textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { waitUntil } from '../support/operated.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import {
  sendJson,
  startScriptedVendor,
  type Conduct,
  type ScriptedVendor,
} from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One POST of what the user wants; `stream` is how the agent asks for it. */
type Post = (stream: boolean) => Promise<Heard>;

/**
 * Retries as the real agent was observed to: as often and for the same reasons, but without most of its
 * pauses. Codex mainly looks at bodies, Claude Code obeys `x-should-retry`, and Gemini CLI knows neither.
 * Returns whether it got its reply.
 */
type Agent = (post: Post) => Promise<boolean>;

function readCode(text: string): string | undefined {
  return /"code":\s*"(\w+)"/.exec(text)?.[1];
}

/** Waits as long as the gateway says, for a second at most. */
async function pause({ headers }: Heard): Promise<void> {
  await sleep(Math.min(1, Number(headers.get('retry-after') ?? 0)) * 1000);
}

/** The errors it shows to its user at once: it retries all others. */
const fatal = new Set(['context_length_exceeded', 'insufficient_quota', 'server_is_overloaded', 'slow_down']);

/** Five requests while the status is 5xx, and that six times. */
const runCodex: Agent = async (post) => {
  for (let turn = 0; turn < 6; turn += 1) {
    let heard = await post(true);
    for (let again = 0; again < 4 && heard.status >= 500; again += 1) heard = await post(true);
    const { status, headers, text } = heard;
    if (status === 200 && text.includes('"type":"response.completed"')) return true;
    if (
      status === 400 ||
      fatal.has(readCode(text) ?? '') ||
      (status === 429 && headers.get('x-should-retry') === 'false')
    )
      return false;
    await pause(heard);
  }
  return false;
};

/** Ten retries, as its SDK decides; after an error inside a stream it asks once more, for a whole reply. */
const runClaudeCode: Agent = async (post) => {
  let stream = true;
  for (let turn = 0; turn < 11; turn += 1) {
    const heard = await post(stream);
    const { status, headers, text } = heard;
    const isBroken = stream && !text.includes('event: message_stop');
    if (status === 200 && !isBroken) return true;
    if (status === 200 && text.includes('event: error')) stream = false;
    const mayAgain =
      status === 200 || status === 401 || status === 408 || status === 409 || status === 429 || status >= 500;
    if (headers.get('x-should-retry') === 'false' || !mayAgain) return false;
    await pause(heard);
  }
  return false;
};

/** Four attempts in all, also if a stream ends without its last event. */
const runGeminiCli: Agent = async (post) => {
  for (let turn = 0; turn < 4; turn += 1) {
    const heard = await post(true);
    if (heard.status === 200 && heard.text.includes('"finishReason"')) return true;
    if (heard.status !== 200 && heard.status !== 429 && heard.status < 500) return false;
    await pause(heard);
  }
  return false;
};

const agents = { Codex: runCodex, 'Claude Code': runClaudeCode, 'Gemini CLI': runGeminiCli } as const;

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const whole = chatReply('one', { usage });

const answerWell: Conduct = (response, _, body) => {
  if (!body.includes('"stream":true')) return sendJson(response, whole);
  response
    .writeHead(200, { 'content-type': 'text/event-stream' })
    .end(`${chunk({ role: 'assistant', content: 'one' })}${chunk({}, 'stop', { usage })}data: [DONE]\n\n`);
};
const failAlways: Conduct = (response) => void response.writeHead(500).end();
/** Streams break off after they have begun; whole replies succeed. */
const cutReply: Conduct = (response, request, body) => {
  if (!body.includes('"stream":true')) return answerWell(response, request, body);
  response
    .writeHead(200, { 'content-type': 'text/event-stream' })
    .write(chunk({ role: 'assistant', content: 'one' }));
  setTimeout(() => response.socket?.resetAndDestroy(), 20);
};
/** Is over its limit, once for each client. */
function createFullConduct(): Conduct {
  const asked = new Set<string>();
  return (...call) => {
    const [client = ''] = /"from [^"]+"/.exec(call[2]) ?? [];
    if (asked.has(client)) return answerWell(...call);
    asked.add(client);
    call[0]
      .writeHead(429, { 'retry-after': '1' })
      .end('{"error":{"message":"slow down","code":"rate_limit_exceeded"}}');
  };
}

/** Calls that wait for their replies, by their content. */
const waiting = new Map<string, () => void>();
const holdReply: Conduct = (response, request, body) => {
  const [said] = /"before [^"]+"/.exec(body) ?? [];
  if (said === undefined) return answerWell(response, request, body);
  waiting.set(said, () => answerWell(response, request, body));
};

let vendor: ScriptedVendor;
/**
 * Two providers of one vendor that fail together; one alone; and one whose keys may make one call at a time.
 */
let gateways: Record<'two' | 'one' | 'limited', TestGateway>;

async function startHarness(
  names: readonly string[],
  plugins: readonly ReturnType<typeof rateLimits>[] = [],
): Promise<TestGateway> {
  const providers = names.map((name) =>
    testProvider({ name, endpoints: { 'chat-completions': `${vendor.origin}/v1/chat/completions` } }),
  );
  return startGateway({
    // Large enough that every call is retried here: one that is not may be retried by its client.
    retries: { share: 10 },
    plugins: [
      ...keyHeaders(),
      ...textProtocols(),
      ...providers,
      health(),
      balance({ firstCredit: '0' }),
      ...plugins,
    ],
  });
}

/** A separate key for each client, so that its calls can be counted apart. */
async function createKey(gateway: TestGateway, client: Client, account: Account): Promise<string> {
  if (account === 'unknown') return `sk-unknown-${clients.indexOf(client)}`;
  return gateway.newKey({
    account,
    ...(account === 'rich' ? { credit: '5' } : {}),
  });
}

function countEnds(gateway: TestGateway, key: string): number {
  return gateway.ends.filter(({ exchange }) =>
    Object.values(exchange.headers).some((value) => String(value).includes(key)),
  ).length;
}

/** A call that uses up its key's limit until another one was refused; resolves when it runs. */
async function takeAll(gateway: TestGateway, key: string, client: Client): Promise<void> {
  const said = `"before ${client}"`;
  void actions['openai, responses'](gateway, key, `before ${client}`, false);
  await waitUntil(() => waiting.has(said));
  void waitUntil(() => countEnds(gateway, key) > 0).then(waiting.get(said));
}

beforeAll(async () => {
  vendor = await startScriptedVendor(answerWell);
  const [two, one, limited] = await Promise.all([
    startHarness(['first', 'second']),
    startHarness(['only']),
    startHarness(['only'], [rateLimits({ perKey: { parallel: 1 } })]),
  ]);
  gateways = { two, one, limited };
});

const model = 'house/model';

type Account = 'rich' | 'poor' | 'unknown';

/** A client's one call for its user, whose text is `content`; returns whether it got its reply. */
type Action = (gateway: TestGateway, key: string, content: string, stream: boolean) => Promise<boolean>;

async function hearAll(events: AsyncIterable<unknown>): Promise<boolean> {
  for await (const event of events) if (JSON.stringify(event).includes('"response.failed"')) return false;
  return true;
}

function createAgent(
  name: keyof typeof agents,
  path: (stream: boolean) => string,
  body: (content: string, stream: boolean) => object,
  headers: (key: string) => Record<string, string>,
): Action {
  return ({ url }, key, content) =>
    agents[name](async (stream) => {
      const response = await postJson(url + path(stream), body(content, stream), headers(key));
      return { status: response.status, headers: response.headers, text: await response.text() };
    });
}

const actions = {
  'openai, chat-completions': async ({ url }, apiKey, content, stream) => {
    const sdk = new OpenAI({ apiKey, baseURL: `${url}/v1` });
    const body = { model, messages: [{ role: 'user' as const, content }] };
    return stream
      ? hearAll(await sdk.chat.completions.create({ ...body, stream }))
      : Boolean(await sdk.chat.completions.create(body));
  },
  'openai, responses': async ({ url }, apiKey, content, stream) => {
    const sdk = new OpenAI({ apiKey, baseURL: `${url}/v1` });
    return stream
      ? hearAll(await sdk.responses.create({ model, input: content, stream }))
      : Boolean(await sdk.responses.create({ model, input: content }));
  },
  '@anthropic-ai/sdk': async ({ url }, apiKey, content, stream) => {
    const sdk = new Anthropic({ apiKey, baseURL: `${url}/alpha` });
    const body = { model, max_tokens: 20, messages: [{ role: 'user' as const, content }] };
    return stream
      ? hearAll(await sdk.messages.create({ ...body, stream }))
      : Boolean(await sdk.messages.create(body));
  },
  '@google/genai': async ({ url }, apiKey, content, stream) => {
    const sdk = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${url}/beta` } });
    return stream
      ? hearAll(await sdk.models.generateContentStream({ model, contents: content }))
      : Boolean(await sdk.models.generateContent({ model, contents: content }));
  },
  Codex: createAgent(
    'Codex',
    () => '/v1/responses',
    (content, stream) => ({ model, input: content, stream }),
    (key) => ({ authorization: `Bearer ${key}` }),
  ),
  'Claude Code': createAgent(
    'Claude Code',
    () => '/alpha/v1/messages?beta=true',
    (content, stream) => ({ model, max_tokens: 20, messages: [{ role: 'user', content }], stream }),
    (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  ),
  'Gemini CLI': createAgent(
    'Gemini CLI',
    () => `/beta/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    (content) => ({ contents: [{ parts: [{ text: content }] }] }),
    (key) => ({ 'x-goog-api-key': key }),
  ),
} as const satisfies Record<string, Action>;

type Client = keyof typeof actions;
/** How often a client calls: the same for all, except those named. */
type Often = Partial<Record<Client, number>> & { readonly all: number };

interface Failure {
  readonly at: 'two' | 'one' | 'limited';
  readonly as?: Account;
  readonly vendor?: () => Conduct;
  /** POSTs to the gateway for one action, and at most how many of each reach the providers. */
  readonly posts: Often;
  readonly reached: number;
  /** The clients whose user has the reply in the end. */
  readonly answered?: readonly Client[];
  readonly stream?: true;
}

const clients = Object.keys(actions).filter((name): name is Client => name in actions);
/** It never retries on its own. */
const patient = clients.filter((name) => name !== '@google/genai');

const failures: Readonly<Record<string, Failure>> = {
  // Codex does not accept that a key is wrong; the gateway asks no provider for it.
  'a bad key': { at: 'two', as: 'unknown', posts: { all: 1, Codex: 6 }, reached: 0 },
  'an empty account': { at: 'two', as: 'poor', posts: { all: 1 }, reached: 0 },
  'a key that has made its calls': {
    at: 'limited',
    vendor: () => holdReply,
    posts: { all: 2, '@google/genai': 1 },
    reached: 0,
    answered: patient,
  },
  // The gateway waits as long as the provider asks, and sends the call again.
  'a vendor that has had enough': {
    at: 'one',
    vendor: createFullConduct,
    posts: { all: 1 },
    reached: 2,
    answered: clients,
  },
  // Neither Codex nor Gemini CLI knows the header; Codex stops after its first five attempts because of the
  // body.
  'vendors that are all down': {
    at: 'two',
    vendor: () => failAlways,
    posts: { all: 1, Codex: 5, 'Gemini CLI': 4 },
    reached: 5,
  },
  'a vendor that is down, and no other': {
    at: 'one',
    vendor: () => failAlways,
    posts: { all: 1, Codex: 5, 'Gemini CLI': 4 },
    reached: 3,
  },
  'a stream that breaks off': {
    at: 'one',
    vendor: () => cutReply,
    stream: true,
    posts: { all: 1, Codex: 6, 'Claude Code': 2, 'Gemini CLI': 4 },
    reached: 1,
    answered: ['Claude Code'],
  },
};

describe.each(Object.entries(failures))(
  '%s',
  (
    _,
    { at, as = 'rich', vendor: conduct = () => answerWell, posts, reached, answered = [], stream = false },
  ) => {
    beforeAll(() => vendor.conduct(conduct()));

    it.concurrent.each(clients)('keeps %s from retrying more often than can help', async (client) => {
      const gateway = gateways[at];
      const key = await createKey(gateway, client, as);
      if (at === 'limited') await takeAll(gateway, key, client);
      const before = countEnds(gateway, key);
      const countArrived = (): number =>
        vendor.bodies.filter((body) => body.includes(`"from ${client}"`)).length;
      const arrivedBefore = countArrived();
      const isAnswered = await actions[client](gateway, key, `from ${client}`, stream).catch(() => false);
      const count = posts[client] ?? posts.all;
      // A limited key also has the call that held the limit.
      const ends = count + Number(at === 'limited');
      await waitUntil(() => countEnds(gateway, key) - before >= ends);
      expect([countEnds(gateway, key) - before, isAnswered]).toEqual([ends, answered.includes(client)]);
      expect(countArrived() - arrivedBefore).toBeLessThanOrEqual(count * reached + Number(isAnswered));
    });
  },
);
