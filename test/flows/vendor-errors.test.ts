/**
 * Every shape in which vendors write their errors, in each place where it can come: the body of a refusal, a
 * body with status 200, the first event of a stream, and a later one. Clients of all protocols get the kind
 * of error and the vendor's reason, except where these concern our key, and never a reply that looks
 * complete.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { errorTable, type ErrorCode } from '../../core/index.ts';
import { minimax } from '../../plugins/providers/minimax.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { fold, decodeAll, readStream } from '../contract/replies.ts';
import { least } from '../matrix/spelling.ts';
import { readCases } from '../support/cases.ts';
import { families, readCall } from '../support/families.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway } from '../support/gateway.ts';
import { isObject } from '../support/json.ts';
import { openOneReply, type OneReply } from '../support/one-reply.ts';
import { postJson } from '../support/post.ts';
import { wires, type Wire } from '../support/replaying-vendor.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

interface Shape {
  readonly vendor: string;
  readonly wire: Wire;
  /** The HTTP status that the vendor sends with it. */
  readonly status: number;
  readonly body: unknown;
  /** What it means, and what the client is shown of it; undefined if it concerns our key. */
  readonly code: ErrorCode;
  readonly reason: string | undefined;
  /** What it means where no status comes with it, if nothing in it tells. */
  readonly bare?: ErrorCode;
  /** The status for clients where no status comes with it, if the body states 422. */
  readonly within?: number;
}

const long = 'The prompt has 9000 tokens, too many.';

function build(more: Partial<Shape>, vendor: string, body: unknown, own: Partial<Shape> = {}): Shape {
  const usual = { wire: 'chat-completions', status: 400, code: 'invalid_request', reason: long } as const;
  return { ...usual, ...more, vendor, body, ...own };
}

type Rest = readonly [vendor: string, body: unknown, own?: Partial<Shape>];
const ours = (status: number, ...rest: Rest): Shape =>
  build({ status, code: 'upstream_failed', reason: undefined }, ...rest);

const shapes: readonly Shape[] = [
  ...readCases<readonly Shape[]>('vendor-errors.json', import.meta.url),
  ours(401, 'OpenAI', {
    error: {
      message: 'Incorrect API key provided: sk-x.',
      type: 'invalid_request_error',
      code: 'invalid_api_key',
    },
  }),
  ours(429, 'OpenAI', {
    error: {
      message: 'You exceeded your current quota.',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    },
  }),
  ours(200, 'MiniMax', {
    base_resp: { status_code: 1004, status_msg: 'login fail: carry the API secret key' },
  }),
  ours(200, 'MiniMax', { base_resp: { status_code: 1008, status_msg: 'no money' } }),
  ours(401, 'MiniMax', {
    type: 'error',
    error: { type: 'authorized_error', message: 'login fail (1004)', http_code: '401' },
    request_id: 'r1',
  }),
  ours(429, 'Moonshot', {
    error: { message: 'Your account is suspended.', type: 'exceeded_current_quota_error' },
  }),
  ours(402, 'DeepSeek', {
    error: {
      message: 'Insufficient Balance',
      type: 'unknown_error',
      param: null,
      code: 'invalid_request_error',
    },
  }),
  ours(
    401,
    'Anthropic',
    { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
    { wire: 'messages' },
  ),
  ours(
    403,
    'Google',
    { error: { code: 403, message: 'Permission denied on project.', status: 'PERMISSION_DENIED' } },
    { wire: 'generate-content' },
  ),
];

/** The start of a reply on each wire, with output. */
const starts: Readonly<Record<Wire, readonly (object | string)[]>> = {
  'chat-completions': [
    { id: 'c1', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: 'Half' } }] },
  ],
  responses: [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Half' },
  ],
  messages: [
    { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [] } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } },
  ],
  'generate-content': [{ candidates: [{ content: { parts: [{ text: 'Half' }] } }] }],
};

/** An event without a name on wires that do not name theirs, whatever the type of the error. */
function buildEvent({ wire, body }: Shape): object | string {
  const isNamed = wire === 'messages' || wire === 'responses';
  return isNamed && isObject(body) ? body : JSON.stringify(body);
}

/** The status by which each protocol says what an error means, where it is not the table's. */
const ownStatuses: Readonly<Partial<Record<Wire, Partial<Record<ErrorCode, number>>>>> = {
  messages: { upstream_overloaded: 529 },
  'generate-content': { upstream_failed: 503 },
};

function findStatus(client: Wire, code: ErrorCode): number {
  return ownStatuses[client]?.[code] ?? errorTable[code].status;
}

const harnesses = new Map<Wire, OneReply>();
beforeAll(async () => {
  for (const wire of wires) harnesses.set(wire, await openOneReply(wire));
});

type Asked = Awaited<ReturnType<OneReply['ask']>>;

function ask({ wire }: Shape, ...parameters: Parameters<OneReply['ask']>): Promise<Asked> {
  const harness = harnesses.get(wire);
  if (!harness) throw new Error(`no vendor of ${wire}`);
  return harness.ask(...parameters);
}

/** Checks the reason in what the client was sent. */
function expectReason(text: string, { reason, body }: Shape): void {
  if (reason !== undefined) return expect(text).toContain(reason);
  const [, said = ''] = /"(?:message|status_msg)":"([^"]*)"/.exec(JSON.stringify(body)) ?? [];
  expect(said).not.toBe('');
  expect(text).not.toContain(said);
}

/** Checks a reply that is an error as a whole, and returns its status. */
function expectRefusal({ status, text, end }: Asked, shape: Shape, code: ErrorCode): number {
  expect(end.error?.code, text).toBe(code);
  const body: unknown = JSON.parse(text);
  expect(isObject(body) && isObject(body.error), text).toBe(true);
  expectReason(text, shape);
  // A responses client gets 503 for a call that is hopeless, since Codex only stops at that.
  return isObject(body) && isObject(body.error) && body.error.code === 'server_is_overloaded'
    ? findStatus('responses', code)
    : status;
}

const rows = shapes.flatMap((shape) =>
  wires.map((client): [Wire, string, Wire, Shape] => [client, shape.vendor, shape.wire, shape]),
);

describe.each(rows)('a client of %s gets the error of %s on %s', (client, _vendor, _wire, shape) => {
  const { body, status, code, bare = code, within } = shape;

  it('from the body of a refusal', async () => {
    const asked = await ask(shape, client, JSON.stringify(body), { stream: false, status });
    const expected = status === 422 ? 422 : findStatus(client, code);
    expect(expectRefusal(asked, shape, code), asked.text).toBe(expected);
  });

  it.each([false, true])('from a body with status 200, streaming: %s', async (stream) => {
    const asked = await ask(shape, client, JSON.stringify(body), { stream });
    expect(expectRefusal(asked, shape, bare), asked.text).toBe(within ?? findStatus(client, bare));
  });

  it('from the first event of a stream', async () => {
    const asked = await ask(shape, client, [buildEvent(shape), ...tail(shape)]);
    expect(expectRefusal(asked, shape, bare), asked.text).toBe(within ?? findStatus(client, bare));
  });

  it('from a later event of a stream', async () => {
    const {
      status: replied,
      text,
      end,
    } = await ask(shape, client, [...starts[shape.wire], buildEvent(shape), ...tail(shape)]);
    expect([replied, end.type === 'answered' && end.outcome, end.error?.code], text).toEqual([
      200,
      'cut',
      bare,
    ]);
    expectReason(text, shape);
    const decoder = families[client].protocol.upstream.decodeEvents(
      readCall(client, { model: 'a/b', ...least[client] }, true),
    );
    const { complete, error } = fold(decodeAll(decoder, readStream(Buffer.from(text))));
    expect([complete, error === undefined], text).toEqual([false, false]);
  });
});

/** What vendors of chat-completions send after an error too: it must not make the reply look complete. */
function tail({ wire }: Shape): string[] {
  return wire === 'chat-completions' ? ['[DONE]'] : [];
}

it.each([
  [1004, 'login fail'],
  [1008, 'insufficient balance'],
  [1002, 'rate limit'],
])(
  'a key that MiniMax refuses rests after one call (%i), and the other key answers',
  async (code, message) => {
    const asked: string[] = [];
    const vendor = await startScriptedVendor((response, { headers }) => {
      asked.push(String(headers.authorization));
      const isRefused = headers.authorization === 'Bearer first';
      sendJson(
        response,
        isRefused ? { base_resp: { status_code: code, status_msg: message } } : chatReply('Ahoy'),
      );
    });
    const gateway = await startGateway({
      plugins: [
        acceptAnyKey(),
        ...textProtocols(),
        minimax({ apiKey: ['first', 'second'], baseUrl: vendor.origin }),
        keys(),
        health(),
      ],
    });
    const body = { model: 'minimax/MiniMax-M3', messages: [{ role: 'user', content: 'Ahoy' }] };
    for (let call = 0; call < 6; call += 1)
      expect((await postJson(`${gateway.url}/v1/chat/completions`, body)).status).toBe(200);
    expect(asked.filter((key) => key === 'Bearer first')).toHaveLength(1);
    expect(asked.filter((key) => key === 'Bearer second')).toHaveLength(6);
    await gateway.close();
    await vendor.close();
  },
);

it('a key of MiniMax is not blamed for a mistake of the caller, which is not repeated', async () => {
  const asked = harnesses.get('chat-completions');
  const before = asked?.bodies.length ?? 0;
  const error = { base_resp: { status_code: 2013, status_msg: 'invalid params, messages is empty' } };
  expect(await asked?.ask('chat-completions', error)).toMatchObject({ status: 400 });
  expect(asked?.bodies.length).toBe(before + 1);
});
