/**
 * Forms with files that are too large for memory, through a gateway with sockets on both sides: the vendor
 * gets the same bytes, memory stays flat, nothing stays on the disk, and limits hold.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { storeForms } from '../../plugins/shared/family/stored-forms.ts';
import { openBooks } from '../support/books.ts';
import { makeFolder } from '../support/folder.ts';
import { keyHeaders } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson } from '../support/scripted-vendor.ts';
import { serve } from '../support/serve.ts';
import { testProvider } from '../support/test-provider.ts';
import { longest, transcripts } from './made-families.ts';

const megabyte = 1024 * 1024;

interface Asked {
  readonly url: string;
  readonly bytes: number;
  readonly digest: string;
  /** Files of forms that the gateway had open. */
  readonly onDisk: number;
}

/** Files that are open and have no name. */
function countOpenForms(): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return links.filter((link) => link.includes('/.form-')).length;
}

const asked: Asked[] = [];
type Conduct = (response: ServerResponse, request: IncomingMessage) => Promise<void>;

const boundaryOf = (request: IncomingMessage): string =>
  /^multipart\/form-data; boundary=(\S+)$/.exec(request.headers['content-type'] ?? '')?.[1] ?? '';

/** What a body was, read as it comes: its head up to the content of the file, and that content. */
async function readUpload(request: IncomingMessage) {
  const end = Buffer.from(`\r\n--${boundaryOf(request)}--\r\n`);
  const hash = createHash('sha256');
  let [head, last, length, bytes] = [Buffer.alloc(0), Buffer.alloc(0), 0, 0];
  let isContent = false;
  const add = (content: Buffer): void => {
    hash.update(content);
    bytes += content.length;
  };
  for await (const chunk of request) {
    length += chunk.length;
    if (isContent && chunk.length >= end.length) {
      add(last);
      last = chunk;
      continue;
    }
    last = Buffer.concat([last, chunk]);
    const start = isContent ? -1 : last.indexOf('\r\n\r\n', last.indexOf('filename='));
    if (start < 0) continue;
    isContent = true;
    [head, last] = [last.subarray(0, start), last.subarray(start + 4)];
  }
  add(last.subarray(0, -end.length));
  const isWhole = isContent && last.subarray(-end.length).equals(end);
  return { head, length, bytes, isWhole, digest: hash.digest('hex') };
}

/** Answers if the body is a form with one file behind the texts. */
const answerWell: Conduct = async (response, request) => {
  const { head, length, bytes, isWhole, digest } = await readUpload(request);
  asked.push({ url: request.url ?? '', bytes, digest, onDisk: countOpenForms() });
  const isForm =
    isWhole &&
    Number(request.headers['content-length']) === length &&
    head.includes('name="model"\r\n\r\near\r\n') &&
    head.includes('name="file"; filename="sea.mp3"\r\ncontent-type: audio/mpeg');
  const answer = { text: String(bytes), usage: { input_tokens: 7, output_tokens: 7 } };
  sendJson(response, isForm ? answer : { error: { message: 'no form' } }, isForm ? 200 : 400);
};

let conduct = answerWell;
let open = 0;
let gateway: TestGateway;
let store: Store;
let key: string;

beforeAll(async () => {
  const server = createServer(async (request, response) => {
    open += 1;
    request.on('error', () => undefined);
    response.on('error', () => undefined).once('close', () => (open -= 1));
    await conduct(response, request).catch(() => undefined);
  });
  const { origin } = await serve(server);
  const offer = (name: string, wire: string, id: string) =>
    testProvider({
      name,
      endpoints: { [wire]: `${origin}/${name}` },
      models: [
        { id, upstream: 'ear', output: ['transcripts'], price: { input: '0.1337', output: '2.00009' } },
      ],
    });
  gateway = await startGateway({
    retries: { attempts: 1 },
    plugins: [
      ...keyHeaders(),
      transcripts(),
      offer('ear', 'made-long-transcripts', 'house/ear'),
      offer('spare-ear', 'made-long-transcripts', 'house/ear'),
      offer('notes', 'made-notes', 'house/notes'),
      demo({ pace: 0 }),
      balance({ firstCredit: '0' }),
    ],
  });
  store = (await openBooks(gateway)).store;
  key = await gateway.newKey({ account: 'tester', credit: '500' });
});
beforeEach(() => {
  conduct = answerWell;
  asked.length = 0;
});
afterEach(async () => {
  vi.restoreAllMocks();
  await expect.poll(() => [open, countOpenForms()]).toEqual([0, 0]);
  expect(readdirSync(gateway.dataFolder).filter((name) => name.startsWith('.form-'))).toEqual([]);
  expect(await gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
});

const piece: Buffer<ArrayBuffer> = Buffer.alloc(65_536, 'sound of the sea ');

function* makeSound(bytes: number): Generator<Buffer<ArrayBuffer>> {
  for (let left = bytes; left > 0; left -= piece.length)
    yield piece.subarray(0, Math.min(left, piece.length));
}

function digestSound(bytes: number): string {
  const hash = createHash('sha256');
  for (const each of makeSound(bytes)) hash.update(each);
  return hash.digest('hex');
}

const boundary = 'there';
const part = (rest: string): string => `--${boundary}\r\nContent-Disposition: form-data; ${rest}`;
const opening = (model: string): Buffer =>
  Buffer.from(
    part(`name="model"\r\n\r\n${model}\r\n`) +
      part('name="file"; filename="sea.mp3"\r\nContent-Type: audio/mpeg\r\n\r\n'),
  );
const closing = Buffer.from(`\r\n--${boundary}--\r\n`);

function* writeForm(model: string, bytes: number): Generator<Buffer> {
  yield opening(model);
  yield* makeSound(bytes);
  yield closing;
}

interface Sending {
  readonly model?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly secret?: string;
}

function openUpload(bytes: number, { model = 'house/ear', headers = {}, secret = key }: Sending = {}) {
  const length = opening(model).length + bytes + closing.length;
  return request(`${gateway.url}/v1/audio/recordings`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      ...(headers['transfer-encoding'] === undefined && { 'content-length': String(length) }),
      ...headers,
    },
  });
}

async function upload(bytes: number, sending: Sending = {}) {
  const sent = openUpload(bytes, sending);
  const replied = new Promise<IncomingMessage>((resolve, reject) =>
    sent.once('response', resolve).on('error', reject),
  );
  Readable.from(writeForm(sending.model ?? 'house/ear', bytes)).pipe(sent);
  const reply = await replied;
  const text = (await buffer(reply)).toString();
  sent.destroy();
  return { status: reply.statusCode, headers: reply.headers, body: JSON.parse(text) };
}

it('a file of 200 MB reaches the vendor byte by byte while memory stays flat', async () => {
  const bytes = 200 * megabyte + 12_345;
  let most = 0;
  const before = process.memoryUsage().arrayBuffers;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }, 20);
  const { status, body } = await upload(bytes);
  clearInterval(timer);
  expect([status, body]).toMatchObject([200, { text: String(bytes), usage: { input_tokens: 7 } }]);
  expect(asked).toMatchObject([{ url: '/ear', bytes, digest: digestSound(bytes), onDisk: 1 }]);
  expect(most).toBeLessThan(100 * megabyte);
});

it('a small file stays in memory', async () => {
  expect(await upload(megabyte / 2)).toMatchObject({ status: 200, body: { text: String(megabyte / 2) } });
  expect(asked).toMatchObject([{ digest: digestSound(megabyte / 2), onDisk: 0 }]);
});

const failing: Conduct = async (response) => sendJson(response, { error: { message: 'broken' } }, 500);

it.each<[string, Conduct]>([
  ['before it has read the file', failing],
  [
    'after it has read the file',
    async (response, request) => {
      await readUpload(request);
      await failing(response, request);
    },
  ],
  [
    'by closing the connection half-way',
    async (response, request) => {
      await request.take(20).toArray();
      response.destroy();
    },
  ],
])('another vendor gets the same file if the first fails %s', async (_, fault) => {
  conduct = (response, request) => (request.url === '/ear' ? fault : answerWell)(response, request);
  const bytes = 24 * megabyte;
  const { status, headers, body } = await upload(bytes);
  expect([status, headers['x-tollgate-provider'], body.text]).toEqual([200, 'spare-ear', String(bytes)]);
  expect(asked).toMatchObject([{ url: '/spare-ear', digest: digestSound(bytes) }]);
});

it('two files of one form go to the vendor in forms of their own', async () => {
  const bytes = 3 * megabyte;
  const form = new FormData();
  form.append('model', 'house/ear');
  const sound = new Blob([...makeSound(bytes)], { type: 'audio/mpeg' });
  for (let times = 0; times < 2; times += 1) form.append('file', sound, 'sea.mp3');
  const reply = await fetch(`${gateway.url}/v1/audio/recordings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  expect(await reply.json()).toMatchObject({ text: `${bytes}\n${bytes}`, usage: { input_tokens: 14 } });
  expect(asked.map(({ digest }) => digest)).toEqual([digestSound(bytes), digestSound(bytes)]);
});

it('a compressed form is decoded as it arrives', async () => {
  const bytes = 20 * megabyte;
  const packed = await buffer(Readable.from(writeForm('house/ear', bytes)).pipe(createGzip()));
  const reply = await fetch(`${gateway.url}/v1/audio/recordings`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-encoding': 'gzip',
    },
    body: packed,
  });
  expect(reply.status).toBe(200);
  expect(asked).toMatchObject([{ bytes, digest: digestSound(bytes) }]);
});

it('a file is compared by its content if it comes twice with one idempotency key', async () => {
  const headers = { 'idempotency-key': 'sea' };
  const first = await upload(2 * megabyte, { headers });
  expect(await upload(2 * megabyte, { headers })).toMatchObject({ status: 200, body: first.body });
  expect(asked).toHaveLength(1);
  expect(await upload(3 * megabyte, { headers })).toMatchObject({ status: 422 });
});

it('a vendor that takes files in JSON refuses one that is not in memory, by name', async () => {
  expect(await upload(2 * megabyte, { model: 'house/notes' })).toMatchObject({
    status: 413,
    body: { error: { param: 'file' } },
  });
});

it('the demo hears a file on the disk', async () => {
  expect(await upload(2 * megabyte, { model: 'demo/ear' })).toMatchObject({
    status: 200,
    body: { text: `${2 * megabyte} sound of` },
  });
});

it.each([
  ['states its length', {}],
  ['does not state its length', { 'transfer-encoding': 'chunked' }],
])('a form beyond the limit that %s is refused', async (_, headers) => {
  expect(await upload(longest.most, { headers })).toMatchObject({
    status: 413,
    body: { error: { message: expect.stringContaining(String(longest.most)) } },
  });
  expect(asked).toEqual([]);
});

/** Sends the beginning of an upload, and waits until the gateway has it on the disk. */
async function begin(bytes: number, sending: Sending = {}) {
  const sent = openUpload(longest.most - megabyte, sending);
  sent.on('error', () => undefined);
  const before = countOpenForms();
  sent.write(opening('house/ear'));
  for (const each of makeSound(bytes)) {
    if (!sent.write(each)) await new Promise((resolve) => sent.once('drain', resolve));
  }
  await expect.poll(() => countOpenForms()).toBe(before + 1);
  return sent;
}

it('a client that leaves half-way costs nothing', async () => {
  const ended = gateway.ends.length;
  const sent = await begin(30 * megabyte);
  sent.destroy();
  const [end] = (await gateway.ended(ended + 1)).slice(ended);
  expect(end).toMatchObject({ type: 'refused', error: { code: 'client_gone' } });
  expect(await store.listEntries({ call: end?.exchange.id ?? '', limit: 9 })).toEqual([]);
});

it('a client that leaves while the vendor works ends the work of the vendor', async () => {
  const ended = gateway.ends.length;
  const working = Promise.withResolvers<void>();
  conduct = async (_response, request) => {
    await once(request, 'data');
    working.resolve();
    // A connection that is not read does not show that it is closed.
    request.resume();
  };
  const sent = openUpload(30 * megabyte).on('error', () => undefined);
  Readable.from(writeForm('house/ear', 30 * megabyte)).pipe(sent);
  await working.promise;
  sent.destroy();
  expect((await gateway.ended(ended + 1))[ended]).toMatchObject({ type: 'failed' });
});

it('forms of one key have a share of the disk together', async () => {
  const sent = await begin(50 * megabyte);
  const refused = await upload(40 * megabyte);
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '2' } });
  sent.destroy();
  await expect.poll(() => countOpenForms()).toBe(0);
  expect(await upload(40 * megabyte)).toMatchObject({ status: 200 });
});

it('a full disk refuses the call, and the next one passes', async () => {
  const handle = await openFile(join(gateway.dataFolder, 'probe'), 'w');
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  vi.spyOn(Object.getPrototypeOf(handle), 'write').mockRejectedValueOnce(full);
  await handle.close();
  expect(await upload(4 * megabyte)).toMatchObject({ status: 503, headers: { 'retry-after': '60' } });
  expect(await upload(4 * megabyte)).toMatchObject({ status: 200 });
});

const module = new URL('../../plugins/shared/family/stored-forms.ts', import.meta.url).href;
const keeper = `
  import { storeForms } from '${module}';
  const forms = storeForms(process.argv[1], { most: 2 ** 30, together: 2 ** 30 });
  const reading = forms.open('multipart/form-data; boundary=b', { key: 'k', account: 'a' });
  const head = '--b\\r\\nContent-Disposition: form-data; name="file"; filename="a.mp3"\\r\\n\\r\\n';
  await reading.write(Buffer.from(head));
  for (let at = 0; at < 80; at += 1) await reading.write(Buffer.alloc(65_536, 'sound'));
  console.log('written');
  setInterval(() => undefined, 1000);
`;

it('a process that is killed leaves no file', async () => {
  const folder = makeFolder();
  const child = spawn(process.execPath, ['--input-type=module', '-e', keeper, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  expect(String(await once(child.stdout, 'data'))).toContain('written');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});

it('a name that a killed process left is removed with the first form of the next', () => {
  const folder = makeFolder();
  for (const name of ['.form-left', 'ledger.sqlite']) writeFileSync(join(folder, name), '');
  const forms = storeForms(folder, longest);
  forms.open('multipart/form-data; boundary=b', { key: 'k', account: 'a' }).close();
  expect(readdirSync(folder)).toEqual(['ledger.sqlite']);
  rmSync(folder, { recursive: true });
});
