/**
 * What large calls for embeddings cost: processor time, all threads, of 2,048 texts of 500 bytes with vectors
 * of 1,536 numbers, by the gateway as delivered and by a program of the parts alone (`bare-embeddings.ts`).
 * Rounds go to one and the other in turn. The vendor sends base64 in all kinds.
 *
 * node test/bench/embeddings.ts [another checkout]      BENCH_ROUNDS=7 BENCH_CALLS=10
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { formatTable } from '../../plugins/shared/table.ts';
import { findFreePort } from '../support/free-port.ts';
import { readUsage, start, stopAll } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { startTollgate, type Target } from './targets.ts';

const [texts, dimensions] = [2048, 1536];
const rounds = Number(process.env.BENCH_ROUNDS ?? 7);
const calls = Number(process.env.BENCH_CALLS ?? 10);
const project = join(import.meta.dirname, '../..');

const numbers = Float32Array.from({ length: dimensions }, (_, at) => Math.sin(at + 1) / 7);
const vector = Buffer.from(numbers.buffer).toString('base64');
const input = Array.from({ length: texts }, (_, at) => `${at} `.padEnd(500, 'word '));

/** Both ask for base64 whatever the client wants, since many numbers are long to read. */
const cohereBody = z.object({
  texts: z.array(z.string()).min(1).max(96),
  input_type: z.literal('search_document'),
  embedding_types: z.tuple([z.literal('base64')]),
});
const openaiBody = z.object({
  input: z.array(z.string()).min(1).max(texts),
  encoding_format: z.literal('base64'),
});

/** Writes a reply as the vendor of a path does. */
function writeReply(path: string, body: unknown): string {
  if (path.endsWith('/embed')) {
    const { length } = cohereBody.parse(body).texts;
    const base64 = Array.from({ length }, () => vector);
    const meta = { api_version: { version: '2' }, billed_units: { input_tokens: length * 110 } };
    return JSON.stringify({
      id: 'e-1',
      embeddings: { base64 },
      texts: [],
      meta,
      response_type: 'embeddings_by_type',
    });
  }
  const data = openaiBody
    .parse(body)
    .input.map((_, index) => ({ object: 'embedding', index, embedding: vector }));
  const usage = { prompt_tokens: data.length * 110, total_tokens: data.length * 110 };
  return JSON.stringify({ object: 'list', data, model: 'text-embedding-3-small', usage });
}

async function readText(message: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function startVendor(): Promise<string> {
  const port = await findFreePort();
  const server = createServer((message, response) => {
    void readText(message).then((text) => {
      const reply = writeReply(message.url ?? '', JSON.parse(text));
      response.writeHead(200, { 'content-type': 'application/json' }).end(reply);
    });
  });
  server.listen(port, '127.0.0.1').unref();
  return `http://127.0.0.1:${port}`;
}

async function startBare(vendor: string, folder: string): Promise<Target> {
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const args = [join(project, 'test/bench/bare-embeddings.ts'), String(port), vendor];
  const { pid } = await start({ command: process.execPath, args, origin, log: join(folder, 'bare.log') });
  return { name: 'bare', origin, headers: {}, pid, startups: [] };
}

async function startGateway(vendor: string, folder: string, from: string): Promise<Target> {
  const own = join(folder, String(from === project));
  mkdirSync(own);
  const env = { COHERE_API_KEY: 'k'.repeat(20), COHERE_BASE_URL: `${vendor}/compatibility/v1` };
  return startTollgate({ vendor, folder: own, project: from, starts: 1, env });
}

interface Kind {
  readonly model: string;
  readonly encoding: 'float' | 'base64';
}

const kinds: Readonly<Record<string, Kind>> = {
  'base64, translated': { model: 'cohere/embed-v4.0', encoding: 'base64' },
  'float, translated': { model: 'cohere/embed-v4.0', encoding: 'float' },
  'base64, verbatim': { model: 'openai/text-embedding-3-small', encoding: 'base64' },
};

async function embed({ origin, headers }: Target, { model, encoding }: Kind): Promise<string> {
  const response = await fetch(`${origin}/v1/embeddings`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input, encoding_format: encoding }),
  });
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`${origin} answered ${response.status}: ${text.slice(0, 500)}`);
  return text;
}

const answered = z.object({ data: z.array(z.object({ index: z.int(), embedding: z.unknown() })) });

/** Throws unless the target answers all texts in their order, with the vendor's numbers. */
async function checkTarget(target: Target, kind: Kind): Promise<void> {
  const { data } = answered.parse(JSON.parse(await embed(target, kind)));
  const expected = JSON.stringify(kind.encoding === 'base64' ? vector : [...numbers]);
  const isRight = ({ index, embedding }: (typeof data)[number], at: number): boolean =>
    index === at && JSON.stringify(embedding) === expected;
  if (data.length !== texts || !data.every(isRight))
    throw new Error(`${target.name} answered something else`);
}

/** Milliseconds of processor time that a call takes, round by round, in the order of the targets. */
async function measure(targets: readonly Target[], kind: Kind): Promise<number[][]> {
  const costs = targets.map((): number[] => []);
  for (const target of targets) await checkTarget(target, kind);
  // The first round does not count: V8 compiles what runs often.
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, target] of targets.entries()) {
      const begun = readUsage(target.pid).cpu;
      for (let made = 0; made < calls; made += 1) await embed(target, kind);
      if (round > 0) costs[index]?.push(((readUsage(target.pid).cpu - begun) * 1000) / calls);
    }
  return costs;
}

const folder = mkdtempSync(join(tmpdir(), 'tollgate-embeddings-'));
try {
  const [, , before] = process.argv;
  const vendor = await startVendor();
  const checkouts = before === undefined ? [project] : [project, before];
  const targets = [await startBare(vendor, folder)];
  for (const checkout of checkouts) targets.push(await startGateway(vendor, folder, checkout));
  const rows: string[][] = [];
  for (const [name, kind] of Object.entries(kinds)) {
    const [bare = [], ...gateways] = await measure(targets, kind);
    const cells = gateways.flatMap((costs) => {
      const ratios = costs.map((cost, round) => cost / (bare[round] ?? NaN));
      const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
      return [computeMedian(costs).toFixed(0), `${computeMedian(ratios).toFixed(2)} (${range})`];
    });
    rows.push([name, computeMedian(bare).toFixed(0), ...cells]);
  }
  const names = checkouts.flatMap((_, index) => [index === 0 ? 'gateway' : 'the other', 'ratio']);
  process.stdout.write(`${formatTable(['ms of processor time', 'bare', ...names], rows)}\n`);
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
