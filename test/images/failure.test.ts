/** Failures of image calls: a picture is never made twice for one call, and nothing is charged for none. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../core/config.ts';
import type { CanonicalEvent, ErrorCode } from '../../core/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { defineProvider } from '../../plugins/shared/kit.ts';
import { withCounts } from '../support/rates.ts';
import { refusals } from '../support/vendor/chat-completions/refusals.ts';
import { pixel, startImagesVendor, type ImageCall } from '../support/vendor/images.ts';
import type { Stage, Step } from '../support/vendor/stage.ts';
import { protocol, readJson, requireModel } from './bodies.ts';
import { buildEditForm, openGallery, makePngFile, type Gallery } from './gallery.ts';

let second: Stage<ImageCall>;
let gallery: Gallery;

/** A gallery with a second provider of its model. */
function openPair(settings: Partial<ConfigInput> = {}): Promise<Gallery> {
  const other = defineProvider({
    name: 'other',
    env: { key: 'OTHER_KEY', baseUrl: 'OTHER_BASE_URL' },
    endpoints: {
      images: (_target, operation) => (operation === 'edit' ? '/images/edits' : '/images/generations'),
    },
    models: new URL('../../plugins/providers/catalogue/openai.json', import.meta.url),
  });
  // The catalogue has flags of this protocol, which the provider does not speak.
  const plugins = [other({ apiKey: second.key, baseUrl: second.url }), embeddings()];
  return openGallery({ plugins, settings });
}

beforeAll(async () => {
  second = await startImagesVendor();
  gallery = await openPair();
});
afterEach(() => gallery.painter.unscript());

const path = '/v1/images/generations';
const wanted = { model: 'openai/gpt-image-1.5', prompt: 'A lighthouse', quality: 'low' };

/** Calls both endpoints, whole and streamed, and returns what each answered. */
async function callEveryWay(at = gallery): Promise<{ status: number; retry: string | null; text: string }[]> {
  const bodies = [
    [path, wanted],
    [path, { ...wanted, stream: true }],
    ['/v1/images/edits', buildEditForm()],
    ['/v1/images/edits', buildEditForm({ stream: 'true' })],
  ] as const;
  return Promise.all(
    bodies.map(async ([to, body]) => {
      const response = await at.post(to, body);
      return {
        status: response.status,
        retry: response.headers.get('x-should-retry'),
        text: await response.text(),
      };
    }),
  );
}

describe('a call whose outcome is unknown', () => {
  it.each<[string, Step<ImageCall>, number, Partial<ConfigInput>?]>([
    [
      'the vendor is silent beyond the deadline',
      { hold: 'forever' },
      504,
      { timeouts: { reply: 1, firstEvent: 1 } },
    ],
    ['the vendor hangs up', { cut: { how: 'fin' } }, 502],
    ['the connection is reset', { cut: { how: 'rst' } }, 502],
    ['the reply breaks off', { cut: { how: 'rst', bytes: 60 } }, 502],
    ['the reply ends too early', { cut: { how: 'end', bytes: 60 } }, 502],
    ['a proxy of the vendor gave up', { reply: { status: 504, body: 'gateway timeout' } }, 504],
    ['the reply is no JSON', { reply: { status: 200, body: '<html>' } }, 502],
    ['the reply has no image', { reply: { status: 200, body: { created: 1, data: [] } } }, 502],
  ])(
    'is never retried, and its error tells the client not to retry: %s',
    async (_, step, status, settings) => {
      const pair = settings ? await openPair(settings) : gallery;
      pair.painter.script('gpt-image-1.5', step);
      const [first, other] = [pair.painter.requests.length, second.requests.length];
      const replies = await callEveryWay(pair);
      expect(replies.map((reply) => [reply.status, reply.retry])).toEqual(
        replies.map(() => [status, 'false']),
      );
      expect([pair.painter.requests.length - first, second.requests.length - other]).toEqual([4, 0]);
      if (settings) await pair.close();
    },
  );

  it('fails with an error that says there was no image', async () => {
    gallery.painter.script('gpt-image-1.5', { reply: { status: 200, body: { created: 1, data: [] } } });
    for (const { text } of (await callEveryWay()).slice(0, 1))
      expect(text).toContain('The provider sent a reply without an image.');
  });
});

describe('a call that was refused', () => {
  it.each(['broken', 'overloaded', 'rateLimited', 'forbidden'] as const)(
    'is retried with another provider: %s',
    async (name) => {
      gallery.painter.script('gpt-image-1.5', { reply: refusals[name] });
      const replies = await callEveryWay();
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    },
  );

  it.each([
    [
      'moderation',
      {
        message: 'Your request was rejected by the safety system.',
        type: 'image_generation_user_error',
        param: null,
        code: 'moderation_blocked',
      },
      'content_policy_violation',
    ],
    [
      'a field',
      {
        message: "Unknown parameter: 'response_format'.",
        type: 'invalid_request_error',
        param: 'response_format',
        code: 'unknown_parameter',
      },
      'unknown_parameter',
    ],
  ])("for its content gets the provider's message: %s", async (_, error, code) => {
    gallery.painter.script('gpt-image-1.5', { reply: { status: 400, body: { error } } });
    const requestCount = second.requests.length;
    const response = await gallery.post(path, wanted);
    expect([response.status, response.headers.get('x-should-retry'), await response.json()]).toEqual([
      400,
      'false',
      { error: expect.objectContaining({ message: error.message, param: error.param, code }) },
    ]);
    expect(second.requests).toHaveLength(requestCount);
  });
});

describe('a call with nothing to draw', () => {
  it('gets an error that names the prompt', async () => {
    const response = await gallery.post(path, { ...wanted, prompt: ' ' });
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error: expect.objectContaining({
          param: 'prompt',
          message: 'No text describes what to draw: send a prompt.',
        }),
      },
    ]);
  });
});

describe('a stream', () => {
  it('that the provider stops for its content ends with the same error as a refused call', async () => {
    const error = {
      message: 'Your request was rejected by the safety system.',
      type: 'image_generation_user_error',
      param: null,
      code: 'moderation_blocked',
    };
    gallery.painter.script('gpt-image-1.5', {
      reply: {
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`,
      },
    });
    const response = await gallery.post(path, { ...wanted, stream: true });
    expect([response.status, response.headers.get('x-should-retry'), await response.json()]).toEqual([
      400,
      'false',
      {
        error: {
          message: error.message,
          type: 'invalid_request_error',
          param: null,
          code: 'content_policy_violation',
        },
      },
    ]);
  });

  it('that breaks off ends with an error event, and unfinished pictures are not charged', async () => {
    for (const step of [
      { fail: { after: 1 } },
      { cut: { how: 'rst', events: 1 } },
      { cut: { how: 'end', events: 1 } },
    ] as const) {
      gallery.painter.script('gpt-image-1.5', step);
      const before = gallery.gateway.ends.length;
      const stream = await gallery.client.images.generate({
        model: wanted.model,
        prompt: 'A lighthouse',
        quality: 'low',
        stream: true,
        partial_images: 1,
      });
      const seen: string[] = [];
      await expect(async () => {
        for await (const { type } of stream) seen.push(type);
      }).rejects.toThrow(/provider/i);
      expect(seen).toEqual(['image_generation.partial_image']);
      // The body's 106 bytes are 27 tokens.
      expect((await gallery.gateway.ended(before + 1)).at(-1)).toMatchObject({
        outcome: 'cut',
        charge: { basis: 'estimate', cost: 27n * 5000n },
      });
    }
  });

  it('is cancelled upstream when its client disconnects, and charges the partial picture sent', async () => {
    gallery.painter.script('gpt-image-1.5', { hold: 'forever', holdAfter: 1 });
    const [before, requestCount] = [gallery.gateway.ends.length, gallery.painter.requests.length];
    const stream = await gallery.client.images.generate({
      model: wanted.model,
      prompt: 'A lighthouse',
      quality: 'low',
      stream: true,
      partial_images: 1,
    });
    for await (const event of stream) if (event.b64_json === pixel(200)) break;
    expect((await gallery.gateway.ended(before + 1)).at(-1)).toMatchObject({
      outcome: 'aborted',
      charge: { basis: 'estimate', cost: 27n * 5000n + 1500n * 32_000n },
    });
    await expect.poll(() => gallery.painter.requests[requestCount]?.closedByPeerAt).toBeDefined();
  });

  it('sends keep-alive comments while the provider works', async () => {
    const slow = await openGallery({ settings: { timeouts: { keepAlive: 0.1 } } });
    slow.painter.script('gpt-image-1.5', { delayHeaders: 600 });
    const text = await (await slow.post(path, { ...wanted, stream: true })).text();
    expect(text).toMatch(/^: keep-alive\n\n[\s\S]*event: image_generation.completed\n/);
    await slow.close();
  });
});

describe('a client that disconnects before any output', () => {
  it('pays for what it sent', async () => {
    gallery.painter.script('gpt-image-1.5', { hold: 'forever' });
    const [before, requestCount] = [gallery.gateway.ends.length, gallery.painter.requests.length];
    const controller = new AbortController();
    const call = gallery.client.images
      .edit(
        { model: wanted.model, prompt: 'Make it night', quality: 'low', image: await makePngFile() },
        { signal: controller.signal },
      )
      .catch(() => undefined);
    await expect.poll(() => gallery.painter.requests.length).toBe(requestCount + 1);
    controller.abort();
    await call;
    const end = (await gallery.gateway.ended(before + 1)).at(-1);
    expect(end).toMatchObject({
      type: 'failed',
      charge: { basis: 'estimate', uses: withCounts({ output: 0 }) },
    });
    expect(end?.type === 'failed' && end.charge.cost > 0n).toBe(true);
  });
});

describe("a vendor's error in any shape", () => {
  const slow = 'Too many requests, slow down.';
  const refused = 'The size 7x7 is not made.';
  it.each<[vendor: string, body: object, meaning: ErrorCode, said: string]>([
    [
      'OpenAI',
      { error: { message: slow, type: 'requests', code: 'rate_limit_exceeded' } },
      'rate_limited',
      slow,
    ],
    [
      'OpenAI, an event',
      { type: 'error', error: { message: slow, code: 'rate_limit_exceeded' } },
      'rate_limited',
      slow,
    ],
    ['MiniMax', { base_resp: { status_code: 2013, status_msg: refused } }, 'invalid_request', refused],
    ['MiniMax, its key', { base_resp: { status_code: 1008, status_msg: 'no money' } }, 'upstream_failed', ''],
    [
      'vLLM',
      { object: 'error', message: refused, type: 'BadRequestError', code: 400 },
      'invalid_request',
      refused,
    ],
    [
      'Cloudflare',
      { success: false, errors: [{ code: 5007, message: refused }] },
      'upstream_failed',
      refused,
    ],
    ['FastAPI', { detail: refused }, 'upstream_failed', refused],
    ['LiteLLM', { error: { message: slow, type: 'None', code: '429' } }, 'rate_limited', slow],
  ])('is one in a body with status 200, and as the first or a later event: %s', (_, body, meaning, said) => {
    const { upstream } = protocol;
    const call = readJson({ stream: true, partial_images: 1 });
    const model = requireModel('openai/gpt-image-1.5');
    const read = (...events: readonly object[]): CanonicalEvent[] => {
      const decoder = upstream.decodeEvents(call, model);
      return events.flatMap((event) => decoder.push({ event: undefined, data: JSON.stringify(event) }));
    };
    const partial = { type: 'image_generation.partial_image', b64_json: pixel(1), partial_image_index: 0 };
    for (const events of [
      upstream.decodeReply(body, call, model, JSON.stringify(body)),
      read(body),
      read(partial, body),
    ]) {
      expect(events.at(-1)).toMatchObject({ type: 'error', meaning, message: expect.stringContaining(said) });
      expect(JSON.stringify(events)).not.toContain('no money');
    }
  });
});

describe('the reserved cost', () => {
  it('is that of a whole picture: a lower balance gets a refusal, not a smaller picture', async () => {
    const poor = await openGallery({ credit: '0.04' });
    // A picture of low quality is taken for 1500 tokens at 32 USD a million.
    const dear = await poor.post(path, wanted);
    expect([dear.status, dear.headers.get('x-should-retry')]).toEqual([402, 'false']);
    const chat = await poor.post('/v1/chat/completions', {
      model: wanted.model,
      messages: [{ role: 'user', content: 'A lighthouse' }],
      max_tokens: 1,
    });
    expect(chat.status).toBe(402);
    expect(poor.painter.requests).toEqual([]);
    const cheap = await poor.post(path, { ...wanted, model: 'openai/gpt-image-1-mini' });
    expect(cheap.status).toBe(200);
  });
});
