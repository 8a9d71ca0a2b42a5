/**
 * Calls whose replies are bytes, and calls that are forms, by OpenAI's SDK through a gateway with sockets on
 * both sides: what goes on, when, what it costs, and how it fails.
 */
import { createServer, ServerResponse, type IncomingMessage } from 'node:http';
import OpenAI, { toFile } from 'openai';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { ModelFacts } from '../../core/index.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { readForm } from '../../plugins/shared/forms.ts';
import { ByteAnswer } from '../contract/family.ts';
import { openBooks } from '../support/books.ts';
import { keyHeaders } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson } from '../support/scripted-vendor.ts';
import { serve } from '../support/serve.ts';
import { testProvider } from '../support/test-provider.ts';
import {
  answerNotes,
  answerRecording,
  answerSpeech,
  answerTranscript,
  hear,
  mostSpeech,
  speak,
  speech,
  transcripts,
} from './made-families.ts';

type Conduct = (response: ServerResponse, request: IncomingMessage, body: Buffer) => void | Promise<void>;

const answers: Readonly<Record<string, (body: unknown, tokens: number) => unknown>> = {
  '/voice': answerSpeech,
  '/spare-voice': answerSpeech,
  '/recorder': answerRecording,
  '/ear': answerTranscript,
  '/spare-ear': answerTranscript,
  '/notes': answerNotes,
};

const tokens = 7;
const prices: Readonly<Record<string, ModelFacts['price']>> = {
  recordings: { input: '0', output: '0', character: '0.0000150001' },
  transcripts: { input: '0.1337', output: '2.00009' },
};

const answerWell: Conduct = async (response, { url = '', headers }, body) => {
  const { 'content-type': type = '' } = headers;
  try {
    const sent = type.startsWith('multipart/') ? await readForm(body, type) : JSON.parse(body.toString());
    const answer = answers[url]?.(sent, tokens);
    if (answer instanceof ByteAnswer)
      return void response.writeHead(200, { 'content-type': answer.type }).end(answer.bytes);
    sendJson(response, answer);
  } catch (error) {
    sendJson(response, { error: { message: String(error) } }, 400);
  }
};

let conduct = answerWell;
let open = 0;
const asked: { readonly url: string; readonly accept: string | undefined }[] = [];
let gateway: TestGateway;
let store: Store;
let sdk: OpenAI;
let key: string;

beforeAll(async () => {
  const server = createServer(async (request, response) => {
    open += 1;
    response.on('error', () => undefined).once('close', () => (open -= 1));
    const { url = '', headers } = request;
    const body = Buffer.concat(await Array.fromAsync(request));
    asked.push({ url, accept: headers.accept });
    await conduct(response, request, body);
  });
  const { origin } = await serve(server);
  const offer = (name: string, id: string, wire: string, output: string, upstream: string) =>
    testProvider({
      name,
      endpoints: { [wire]: `${origin}/${name}` },
      models: [{ id, upstream, output: [output], price: prices[output] }],
    });
  gateway = await startGateway({
    retries: { attempts: 1 },
    plugins: [
      ...keyHeaders(),
      speech(),
      transcripts(),
      offer('voice', 'house/voice', 'made-speech', 'recordings', 'voice'),
      offer('spare-voice', 'house/voice', 'made-speech', 'recordings', 'voice'),
      offer('recorder', 'house/recorder', 'made-recordings', 'recordings', 'voice'),
      offer('ear', 'house/ear', 'made-transcripts', 'transcripts', 'ear'),
      offer('spare-ear', 'house/ear', 'made-transcripts', 'transcripts', 'ear'),
      offer('notes', 'house/notes', 'made-notes', 'transcripts', 'ear'),
      demo({ pace: 0 }),
      balance({ firstCredit: '0' }),
    ],
  });
  store = (await openBooks(gateway)).store;
  key = await gateway.newKey({ account: 'tester', credit: '500' });
  sdk = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
beforeEach(() => {
  conduct = answerWell;
  asked.length = 0;
});
afterEach(async () => {
  vi.restoreAllMocks();
  await expect.poll(() => open).toBe(0);
  expect(await gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
});

const text = { voice: 'ada', input: 'Ahoy, this is the harbour.' };

function speakBy(model: string, more: object = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${gateway.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
    body: JSON.stringify({ model, ...text }),
    ...(signal && { signal }),
  });
}

/** The last entry of a call. */
async function findEnd(response: Response) {
  const id = response.headers.get('x-request-id') ?? '';
  const entries = await store.listEntries({ call: id, limit: 9 });
  expect(entries).toHaveLength(2);
  return entries.at(-1);
}

/** Each character costs 15,000.1 nano-dollars. */
const computeCost = (characters: number): bigint => BigInt(Math.round(characters * 15_000.1));
const costOfText = computeCost(text.input.length);

it('speech reaches the SDK with the type and bytes of the vendor, and is charged by character', async () => {
  const mp3 = await sdk.audio.speech.create({ model: 'house/voice', ...text });
  expect([mp3.headers.get('content-type'), mp3.headers.get('transfer-encoding')]).toEqual([
    'audio/mpeg',
    'chunked',
  ]);
  expect(Buffer.from(await mp3.arrayBuffer())).toEqual(speak(text));
  const wav = await sdk.audio.speech.create({ model: 'house/voice', ...text, response_format: 'wav' });
  expect(wav.headers.get('content-type')).toBe('audio/wav');
  await wav.arrayBuffer();
  expect(asked.map(({ accept }) => accept)).toEqual(['*/*', '*/*']);
  expect(await findEnd(mp3)).toMatchObject({ kind: 'post', basis: 'usage', revenue: costOfText });
});

it('speech in the JSON of a vendor reaches the SDK as bytes, with what is lost of the call', async () => {
  const reply = await sdk.audio.speech.create({ model: 'house/recorder', ...text, response_format: 'wav' });
  expect(Buffer.from(await reply.arrayBuffer())).toEqual(speak(text));
  expect(reply.headers.get('content-type')).toBe('audio/mpeg');
  expect(reply.headers.get('x-tollgate-dropped')).toBe('response_format');
  expect(await findEnd(reply)).toMatchObject({ basis: 'usage', revenue: costOfText });
});

it('a vendor that counts nothing is paid by an estimate of what was asked', async () => {
  conduct = (response) => sendJson(response, { audio_data: speak(text).toString('base64') });
  const response = await speakBy('house/recorder');
  expect(Buffer.from(await response.arrayBuffer())).toEqual(speak(text));
  expect(await findEnd(response)).toMatchObject({ basis: 'estimate', revenue: costOfText });
});

it('the demo speaks and hears without a network', async () => {
  const reply = await sdk.audio.speech.create({ model: 'demo/voice', ...text });
  expect(Buffer.from(await reply.arrayBuffer())).toEqual(speak(text));
  const file = await toFile(speak(text), 'note.mp3');
  const heard = await sdk.audio.transcriptions.create({ model: 'demo/ear', file });
  expect(heard.text).toBe(hear(speak(text)));
});

it('a client has the first bytes while the vendor still speaks', async () => {
  const goOn = Promise.withResolvers<void>();
  conduct = async (response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' }).write('first');
    await goOn.promise;
    response.end('second');
  };
  const response = await speakBy('house/voice');
  // A proxy in front would keep them.
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  const reader = response.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? '').toString()).toBe('first');
  goOn.resolve();
  expect(Buffer.from((await reader?.read())?.value ?? '').toString()).toBe('second');
  expect((await reader?.read())?.done).toBe(true);
});

/** Sends so many bytes as fast as they are taken. */
function pour(bytes: number): Conduct {
  return (response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    const chunk = Buffer.alloc(65_536);
    let left = bytes;
    const write = (): void => {
      while (left > 0 && !response.destroyed) {
        left -= chunk.length;
        if (!response.write(left < 0 ? chunk.subarray(0, left) : chunk))
          return void response.once('drain', write);
      }
      response.end();
    };
    write();
  };
}

it('the gateway holds one piece of a long reply, and takes none while its client is behind', async () => {
  const { write } = ServerResponse.prototype;
  let [behind, longest, pieces] = [0, 0, 0];
  vi.spyOn(ServerResponse.prototype, 'write').mockImplementation(function spy(
    this: ServerResponse,
    ...args: Parameters<typeof write>
  ) {
    if (this.req.url !== '/v1/audio/speech') return write.apply(this, args);
    pieces += 1;
    longest = Math.max(longest, Buffer.byteLength(args[0]));
    if (this.writableNeedDrain) behind += 1;
    return write.apply(this, args);
  });
  conduct = pour(mostSpeech);
  const response = await speakBy('house/voice');
  let length = 0;
  for await (const chunk of response.body ?? []) length += chunk.length;
  expect(length).toBe(mostSpeech);
  expect([behind, pieces >= mostSpeech / longest]).toEqual([0, true]);
  expect(longest).toBeLessThanOrEqual(65_536);
});

it('a reply beyond its limit breaks off, and is charged for what was spoken', async () => {
  conduct = pour(mostSpeech + 1);
  const response = await speakBy('house/voice');
  await expect(response.arrayBuffer()).rejects.toThrow('terminated');
  expect(await findEnd(response)).toMatchObject({ basis: 'estimate', revenue: costOfText });
});

it('a reply that the vendor breaks off does not look whole', async () => {
  conduct = (response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    response.write('half of it', () => void response.socket?.resetAndDestroy());
  };
  const response = await speakBy('house/voice');
  await expect(response.arrayBuffer()).rejects.toThrow('terminated');
  expect(gateway.ends.at(-1)).toMatchObject({ type: 'answered', outcome: 'cut' });
  const revenue = computeCost('half of it'.length);
  expect(await findEnd(response)).toMatchObject({ basis: 'estimate', revenue });
});

it('a client that leaves ends the work of the vendor, and pays for what was spoken', async () => {
  const [leaving, ended] = [new AbortController(), gateway.ends.length];
  conduct = (response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).write('first!');
  const response = await speakBy('house/voice', {}, leaving.signal);
  await response.body?.getReader().read();
  leaving.abort();
  expect((await gateway.ended(ended + 1))[ended]).toMatchObject({ type: 'answered', outcome: 'aborted' });
  const revenue = computeCost('first!'.length);
  expect(await findEnd(response)).toMatchObject({ basis: 'estimate', revenue });
});

const errorBody = z.strictObject({ error: z.looseObject({ message: z.string().min(1) }) });

describe.each<[string, readonly number[], Conduct]>([
  ['is busy', [429], (response) => sendJson(response, { error: { message: 'busy' } }, 429)],
  ['fails', [502, 503], (response) => sendJson(response, { error: { message: 'broken' } }, 500)],
  ['says 200 of an error', [502, 503], (response) => sendJson(response, { error: { message: 'broken' } })],
  [
    'sends a page',
    [502, 503],
    (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<script>'),
  ],
  [
    'sends nothing',
    [502, 503],
    (response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(),
  ],
  [
    'goes on with bytes that the wire refuses',
    [502, 503],
    (response) => void response.writeHead(200, { 'content-type': 'audio/midi' }).write('notes'),
  ],
  ['refuses the call', [400], (response) => sendJson(response, { error: { message: 'no such voice' } }, 400)],
])('a vendor that %s', (_, statuses, fault) => {
  it('fails the call in the words of the protocol, and costs nothing', async () => {
    conduct = fault;
    const response = await speakBy('house/voice');
    expect(statuses).toContain(response.status);
    expect(response.headers.get('content-type')).toBe('application/json');
    errorBody.parse(await response.json());
    expect(await findEnd(response)).toMatchObject({ kind: 'void' });
  });
});

/** Fails for the first provider of a model. */
const failFirst: Conduct = (response, request, body) =>
  request.url?.startsWith('/spare') === true
    ? answerWell(response, request, body)
    : sendJson(response, { error: { message: 'broken' } }, 500);

it('another provider speaks if the first fails before its first byte', async () => {
  conduct = failFirst;
  const response = await speakBy('house/voice');
  expect(Buffer.from(await response.arrayBuffer())).toEqual(speak(text));
  expect(response.headers.get('x-tollgate-provider')).toBe('spare-voice');
});

it('bytes have no place for the cost, so a wish for it is refused by name', async () => {
  const response = await speakBy('house/voice', { 'x-tollgate-cost': 'reply' });
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { param: 'x-tollgate-cost' } },
  ]);
  expect(asked).toEqual([]);
});

it('the same call again gets the same bytes, and half of them are never taken for all', async () => {
  const first = await speakBy('house/voice', { 'idempotency-key': 'whole' });
  const bytes = Buffer.from(await first.arrayBuffer());
  conduct = (response) => sendJson(response, {}, 500);
  const again = await speakBy('house/voice', { 'idempotency-key': 'whole' });
  expect(Buffer.from(await again.arrayBuffer())).toEqual(bytes);
  expect(again.headers.get('content-type')).toBe('audio/mpeg');
  conduct = (response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    response.write('half of it', () => void response.socket?.resetAndDestroy());
  };
  const broken = await speakBy('house/voice', { 'idempotency-key': 'half' });
  await expect(broken.arrayBuffer()).rejects.toThrow();
  conduct = answerWell;
  const retried = await speakBy('house/voice', { 'idempotency-key': 'half' });
  expect(retried.status).not.toBe(200);
  errorBody.parse(await retried.json());
});

const megabyte = 1024 * 1024;

describe('a form with a file of 12 MB', () => {
  const bytes = Buffer.alloc(12 * megabyte, 'sound of the sea ');

  it.each(['house/ear', 'house/notes'])(
    'reaches %s whole, and the reply is exact to the nano',
    async (model) => {
      const file = await toFile(bytes, 'sea.mp3', { type: 'audio/mpeg' });
      const { data, response } = await sdk.audio.transcriptions
        .create({ model, file, language: 'en' })
        .withResponse();
      expect(data).toMatchObject({
        text: hear(bytes),
        usage: { input_tokens: tokens, output_tokens: tokens },
      });
      // 7 × 0.1337 and 7 × 2.00009 for a million.
      expect(await findEnd(response)).toMatchObject({ basis: 'usage', revenue: 14_937n });
      expect(response.headers.get('x-tollgate-dropped')).toBe(model === 'house/notes' ? 'language' : null);
    },
  );

  it('is sent again to another provider if the first fails', async () => {
    conduct = failFirst;
    const { data, response } = await sdk.audio.transcriptions
      .create({ model: 'house/ear', file: await toFile(bytes, 'sea.mp3') })
      .withResponse();
    expect([data.text, response.headers.get('x-tollgate-provider')]).toEqual([hear(bytes), 'spare-ear']);
  });

  it('is compared by its file if it comes twice with one idempotency key', async () => {
    const hearOnce = async (content: Buffer): Promise<string> => {
      const file = await toFile(content, 'sea.mp3');
      const options = { headers: { 'idempotency-key': 'sea' } };
      return (await sdk.audio.transcriptions.create({ model: 'house/ear', file }, options)).text;
    };
    expect(await hearOnce(bytes)).toBe(hear(bytes));
    expect(await hearOnce(bytes)).toBe(hear(bytes));
    expect(asked).toHaveLength(1);
    await expect(hearOnce(Buffer.from('another sea'))).rejects.toMatchObject({ status: 422 });
  });
});

it('two files of a form go to the vendor in forms of their own, and both are charged', async () => {
  const form = new FormData();
  form.append('model', 'house/ear');
  for (const name of ['sea.mp3', 'lake.mp3']) form.append('file', new Blob([name]), name);
  const response = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  expect(await response.json()).toMatchObject({
    text: ['sea.mp3', 'lake.mp3'].map((name) => hear(Buffer.from(name))).join('\n'),
    usage: { input_tokens: 2 * tokens },
  });
  expect(await findEnd(response)).toMatchObject({ basis: 'usage', revenue: 29_873n });
  expect(asked).toHaveLength(2);
});

it.each([
  ['no file', { model: 'house/ear' }, 'file'],
  ['a wrong language', { model: 'house/ear', language: 'English' }, 'language'],
])('a form with %s is refused by the name of its field', async (_, fields, param) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  if (param !== 'file') form.append('file', new Blob(['sea']), 'sea.mp3');
  const response = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
});

it('a path that takes forms refuses JSON', async () => {
  const response = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'house/ear' }),
  });
  expect(response.status).toBe(415);
});
