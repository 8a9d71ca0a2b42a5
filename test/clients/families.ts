/**
 * SDKs and frameworks in Python that embed, rank, judge and complete through the gateway. The fake vendors
 * make vectors of the words of texts, so that the right text is found. It installs the packages with pip in a
 * folder that it removes, or in the one that `TOLLGATE_CLIENTS` names, and prints a row for the table of
 * `test/README.md`.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { balance } from '../../plugins/meters/balance/index.ts';
import { completions } from '../../plugins/protocols/completions/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { moderations } from '../../plugins/protocols/moderations/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { keyHeaders, textProtocols } from '../support/front.ts';
import { startGateway } from '../support/gateway.ts';
import { sendJson, startScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

const run = promisify(execFile);
const names = ['openai', 'cohere', 'google-genai', 'voyageai', 'langchain-openai', 'langchain-cohere'];
const packages = [...names, 'llama-index-core', 'llama-index-embeddings-openai'];

const kept = process.env.TOLLGATE_CLIENTS;
const folder = kept ?? mkdtempSync(join(tmpdir(), 'tollgate-clients-'));
const python = join(folder, 'bin/python');
if (!existsSync(python)) await run('python3', ['-m', 'venv', folder]);
await run(python, ['-m', 'pip', 'install', '--quiet', ...packages]);
const listed = await run(python, ['-m', 'pip', 'list', '--format=json']);
const versions = z
  .array(z.object({ name: z.string(), version: z.string() }))
  .parse(JSON.parse(listed.stdout))
  .filter(({ name }) => packages.includes(name))
  .map(({ name, version }) => `${name} ${version}`);

const dimensions = 64;
const body = z.union([
  z.strictObject({
    model: z.literal('words'),
    input: z.union([z.array(z.string().min(1)).max(2048), z.array(z.array(z.int()))]),
    encoding_format: z.enum(['float', 'base64']).optional(),
  }),
  z
    .strictObject({
      model: z.literal('words'),
      texts: z.array(z.string().min(1)).max(96),
      input_type: z.enum(['search_document', 'search_query']),
      embedding_types: z.array(z.enum(['float', 'base64'])).length(1),
      truncate: z.enum(['NONE', 'END']),
    })
    .transform(({ texts: input, embedding_types: [type] }) => ({ input, encoding_format: type })),
]);

/** The words of a text, or the numbers of its tokens, each counted at a place of its own. */
function makeVector(input: string | readonly number[]): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const words = typeof input === 'string' ? (input.toLowerCase().match(/\w+/g) ?? []) : input.map(String);
  for (const word of words) {
    const place = [...word].reduce((sum, letter) => sum * 31 + (letter.codePointAt(0) ?? 0), 7) % dimensions;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((count) => Math.fround(count / length));
}

const vendor = await startScriptedVendor((response, { url }, text) => {
  const read = body.safeParse(JSON.parse(text));
  if (!read.success) return sendJson(response, { message: read.error.message }, 400);
  const { input, encoding_format: type = 'float' } = read.data;
  const vectors = input
    .map(makeVector)
    .map((each) =>
      type === 'base64' ? Buffer.from(Float32Array.from(each).buffer).toString('base64') : each,
    );
  if (url === '/cohere')
    return sendJson(response, {
      embeddings: { [type]: vectors },
      meta: { billed_units: { input_tokens: 9 } },
    });
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
  return sendJson(response, { object: 'list', data, usage: { prompt_tokens: 9, total_tokens: 9 } });
});

const facts = { upstream: 'words', output: ['embeddings'] };
const gateway = await startGateway({
  plugins: [
    ...keyHeaders(),
    ...textProtocols(),
    embeddings(),
    rerank(),
    moderations(),
    completions(),
    testProvider({
      name: 'same',
      endpoints: { embeddings: `${vendor.origin}/openai` },
      models: [{ id: 'house/same', ...facts, capabilities: { wire: { embeddings: { tokens: true } } } }],
    }),
    testProvider({
      name: 'other',
      endpoints: { 'cohere-embed': `${vendor.origin}/cohere` },
      models: [{ id: 'house/other', ...facts }],
    }),
    demo({ pace: 0 }),
    balance(),
  ],
});
const key = await gateway.newKey({ account: 'tester', credit: '5' });
const env = { ...process.env, URL: gateway.url, KEY: key };

const cases = [
  ...['openai', 'google', 'langchain', 'llama_index'].flatMap((way) => [
    [way, 'house/same'],
    [way, 'house/other'],
  ]),
  // OpenAI would refuse fields of Voyage's, which go on to a vendor of the same wire.
  ['voyage', 'house/other'],
  ['tokens', 'house/same'],
  ['cohere', 'demo/rank'],
  ['langchain_cohere', 'demo/rank'],
];

let faulty = 0;
for (const each of cases) {
  const said = await run(python, [join(import.meta.dirname, 'families.py'), ...each], { env }).then(
    ({ stdout }) => stdout.trim(),
    (error: unknown) => String(error).slice(-600),
  );
  if (said !== 'well') faulty += 1;
  process.stdout.write(`${each.join(', ')}: ${said}\n`);
}
const audit = z.looseObject({ ok: z.boolean() }).parse(await gateway.verb('audit'));
const day = new Date().toISOString().slice(0, 10);
process.stdout.write(`| ${day} | ${versions.join(', ')} | ${cases.length - faulty} of ${cases.length} |\n`);
await gateway.close();
await vendor.close();
if (kept === undefined) rmSync(folder, { recursive: true, force: true });
process.exitCode = faulty > 0 || !audit.ok ? 1 : 0;
