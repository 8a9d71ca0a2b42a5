/**
 * Malicious bodies, sent to every endpoint: bodies that fast-check changed, and a folder of known attacks
 * (`corpus/`, in which `MODEL` means an existing model). Whatever arrives, the process survives, the answer
 * has the format of the client's protocol, and no error is an unexpected one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request as send } from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Plugin } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { completions } from '../../plugins/protocols/completions/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { moderations } from '../../plugins/protocols/moderations/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { character } from '../support/arbitrary.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { createHost } from '../support/host.ts';
import { isObject } from '../support/json.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { endpoints, type Endpoint, type Words } from './endpoints.ts';

const families = (): Plugin[] => [embeddings(), rerank(), moderations()];
const demos: Readonly<Record<string, string>> = {
  text: 'demo/echo',
  embeddings: 'demo/embed',
  scores: 'demo/rank',
  categories: 'demo/guard',
};

interface Refusing {
  readonly wire: string;
  readonly makes: string;
  readonly flags?: Readonly<Record<string, Record<string, unknown>>>;
}

/** Providers that refuse everything: the test only needs the request to be translated for them. */
const refusing: readonly Refusing[] = [
  ...['responses', 'messages', 'generate-content'].map((wire) => ({ wire, makes: 'text' })),
  ...[...createHost(families()).protocols.list()].map(({ name: wire, makes = '' }) => ({
    wire,
    makes,
    flags: makes === 'embeddings' ? { [wire]: { dimensions: { least: 1, most: 3072 } } } : {},
  })),
];

/** The models that make what the endpoint's model makes, the demo's first. */
function listModels({ path, body }: Endpoint): string[] {
  const demo = String(body.model ?? /models\/(.+):/.exec(path)?.[1]);
  return [demo, ...refusing.flatMap(({ wire, makes }) => (demos[makes] === demo ? `house/${wire}` : []))];
}

/** The endpoint with this model in place of the demo's. */
function moveTo(endpoint: Endpoint, model: string): Endpoint {
  const [demo = ''] = listModels(endpoint);
  return JSON.parse(JSON.stringify(endpoint).replaceAll(demo, model));
}

const refusal = {
  status: 400,
  body:
    '{"type":"error","error":{"type":"invalid_request_error","message":"no","code":400,' +
    '"status":"INVALID_ARGUMENT"}}',
};

const hostileText = fc.constantFrom(
  '',
  ' ',
  '\0',
  '\r\nx: y',
  '\u001b[31m',
  '\ud800',
  '\u2028',
  '__proto__',
  'constructor',
  'a'.repeat(5000),
  '%00',
  '../..',
  'demo/../echo',
  '{"a":',
  '<script>',
  '-1',
  'http://127.0.0.1:1/',
  'data:;base64,%',
  '\u202e',
  'null',
);

const hostileNumber = fc.constantFrom(
  -1,
  -0,
  0,
  0.1,
  1e9,
  1e308,
  -1e308,
  5e-324,
  2 ** 31,
  2 ** 53 + 2,
  2 ** 64,
);

const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  hostileNumber,
  fc.constantFrom(null, true, false, [], {}, [[]], [null], [{}]),
  fc.jsonValue({ maxDepth: 3 }),
  fc.constant(JSON.parse('{"__proto__":{"type":"text","text":"a"},"constructor":1}')),
  fc.string({ unit: character, maxLength: 40 }),
);

/** A change to a body: at a place that the numbers select, it replaces, removes or adds a value. */
interface Change {
  readonly turns: readonly number[];
  readonly how: 'replace' | 'remove' | 'add' | 'double';
  readonly name: string;
  readonly value: unknown;
}

const change: fc.Arbitrary<Change> = fc.record({
  turns: fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
  how: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'double'),
  name: fc.oneof(hostileText, fc.string({ maxLength: 10 })),
  value: hostileValue,
});

function applyChange(node: unknown, { turns: [turn = 0, ...turns], how, name, value }: Change): unknown {
  if (typeof node !== 'object' || node === null) return value;
  const entries = Object.entries(node);
  const index = turn % Math.max(1, entries.length);
  const next = entries.flatMap(([key, inner], at): [string, unknown][] => {
    if (at !== index) return [[key, inner]];
    if (turns.length > 0 && typeof inner === 'object' && inner !== null)
      return [[key, applyChange(inner, { turns, how, name, value })]];
    if (how === 'remove') return [];
    if (how === 'add')
      return [
        [key, inner],
        [name, value],
      ];
    return how === 'double' ? [[key, [inner, inner]]] : [[key, value]];
  });
  return Array.isArray(node) ? next.map(([, inner]) => inner) : Object.fromEntries(next);
}

export interface Input {
  readonly endpoint: Endpoint;
  readonly body: string | Buffer;
}

const hostileInput: fc.Arbitrary<Input> = fc
  .record({
    endpoint: fc.constantFrom(...endpoints),
    turn: fc.nat(),
    changes: fc.array(change, { minLength: 1, maxLength: 3 }),
    stream: fc.boolean(),
    cut: fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 1, noNaN: true })),
    junk: fc.option(fc.uint8Array({ maxLength: 60 }), { freq: 30 }),
  })
  .map(({ endpoint: of, turn, changes, stream, cut, junk }) => {
    const models = listModels(of);
    const endpoint = moveTo(of, models[turn % models.length] ?? '');
    if (junk) return { endpoint, body: Buffer.from(junk) };
    const base = 'stream' in endpoint.body ? { ...endpoint.body, stream } : endpoint.body;
    const text = JSON.stringify(changes.reduce<unknown>(applyChange, base)) ?? '';
    return { endpoint, body: text.slice(0, Math.ceil(text.length * cut)) };
  });

const corpus = join(import.meta.dirname, 'corpus');

/** Every body of the corpus at every endpoint. */
export function readCorpus(): { readonly name: string; readonly input: Input }[] {
  return readdirSync(corpus).flatMap((file) => {
    const bytes = readFileSync(join(corpus, file)).toString('latin1');
    return endpoints.flatMap((endpoint) =>
      listModels(endpoint).map((model) => ({
        name: `${file} at ${endpoint.path} for ${model}`,
        input: {
          endpoint: moveTo(endpoint, model),
          body: Buffer.from(bytes.replaceAll('MODEL', model), 'latin1'),
        },
      })),
    );
  });
}

interface Sent {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly id: unknown;
}

export interface HostileHarness {
  readonly gateway: TestGateway;
  send(input: Input): Promise<Sent>;
  /** Sends it; returns what is wrong with the answer, if anything. */
  findFault(input: Input): Promise<string | undefined>;
  close(): Promise<void>;
}

const statuses = new Set([200, 400, 402, 403, 404, 409, 413, 415, 422, 429, 501]);

/** Whether an error has the protocol's format. */
function isSaid(words: Words, body: unknown): boolean {
  if (words === 'cohere') return isObject(body) && typeof body.message === 'string' && body.message !== '';
  if (!isObject(body) || !isObject(body.error)) return false;
  const { error } = body;
  if (typeof error.message !== 'string' || error.message === '') return false;
  if (words === 'anthropic') return body.type === 'error' && typeof error.type === 'string';
  if (words === 'google') return typeof error.code === 'number' && typeof error.status === 'string';
  return typeof error.type === 'string' && 'code' in error;
}

export async function openHostileHarness(): Promise<HostileHarness> {
  const gateway = await startGateway({
    timeouts: { firstEvent: 20, reply: 20 },
    plugins: [
      bearer(),
      ...textProtocols(),
      images(),
      completions(),
      ...families(),
      demo({ pace: 0 }),
      ...refusing.map(({ wire, makes, flags = {} }) =>
        tappedVendor(`${wire}-house`, [wire], () => refusal, {
          id: `house/${wire}`,
          contextLength: 100_000,
          output: [makes],
          capabilities: { wire: flags },
        }),
      ),
      preferences(),
      calls(),
      balance({ firstCredit: '0' }),
    ],
  });
  const made = await gateway.verb('keys create', [], { account: 'tester', credit: '1000000' });
  const key = isObject(made) ? String(made.key) : '';
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });

  function post({ endpoint: { path }, body }: Input): Promise<Sent> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      };
      send(gateway.url + path, { agent, method: 'POST', headers }, (reply) => {
        let text = '';
        reply
          .setEncoding('utf8')
          .on('data', (chunk: string) => void (text += chunk))
          .on('error', reject);
        reply.on('end', () =>
          resolve({
            status: reply.statusCode ?? 0,
            type: String(reply.headers['content-type']),
            text,
            id: reply.headers['x-request-id'],
          }),
        );
      })
        .on('error', reject)
        .end(body);
    });
  }

  return {
    gateway,
    send: post,
    async findFault(input) {
      const { status, type, text, id } = await post(input);
      if (typeof id !== 'string' || !/^[\w-]{36}$/.test(id)) return `it has no id: ${String(id)}`;
      if (!statuses.has(status)) return `status ${status}: ${text}`;
      if (type.includes('event-stream'))
        return /"code":\s*"internal|could not handle|failed to handle/.test(text) ? text : undefined;
      const body: unknown = JSON.parse(text);
      if (status !== 200 && !isSaid(input.endpoint.words, body)) return `not in its words: ${text}`;
      return undefined;
    },
    async close() {
      agent.destroy();
      await gateway.close();
    },
  };
}

/** Sends so many changed bodies. Throws with the smallest one that gets a bad answer. */
export async function sendHostile(harness: HostileHarness, count: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(hostileInput, async (input) => {
      const fault = await harness.findFault(input);
      if (fault !== undefined) throw new Error(`${input.endpoint.path}: ${fault.slice(0, 500)}`);
    }),
    { numRuns: count },
  );
}
