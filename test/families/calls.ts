/**
 * One call of each client's wire of the families, to a vendor of the same wire or to one of another that gets
 * it in parts, through a gateway with sockets on both sides. The vendors are as strict as the real ones.
 */
import { expect } from 'vitest';
import { z } from 'zod';
import type { ConfigInput } from '../../core/config.ts';
import type { ModelFacts, Plugin } from '../../core/index.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { completions } from '../../plugins/protocols/completions/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { moderations } from '../../plugins/protocols/moderations/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { vendors } from '../embeddings/vendors.ts';
import { answerJina, answerTei } from '../rerank/vendors.ts';
import { keyHeaders } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import {
  sendJson,
  startScriptedVendor,
  type Conduct,
  type ScriptedVendor,
} from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

export interface FamilyCall {
  /** The name of its model, and the vendor's path. */
  readonly name: string;
  readonly path: string;
  readonly body: object;
  /** The vendor's wire. */
  readonly wire: string;
  readonly facts: Partial<ModelFacts>;
  /** How many bodies the vendor gets. */
  readonly parts: number;
  /** The vendor's reply to one of the bodies, by the tokens that it bills: JSON, or the text of a stream. */
  answer(body: unknown, tokens: number): unknown;
}

const familyPlugins = (): Plugin[] => [embeddings(), rerank(), moderations(), completions()];

const texts = ['one', 'two', 'three', 'four', 'five', 'six'];
const documents = Array.from({ length: 170 }, (_, at) => `document ${at}`);

function buildEmbedding(wire: string, flags: object = {}): Pick<FamilyCall, 'wire' | 'facts' | 'answer'> {
  return {
    wire,
    facts: {
      upstream: 'embed',
      output: ['embeddings'],
      capabilities: { wire: { [wire]: { dimensions: [8, 16, 32], ...flags } } },
    },
    answer: (body, tokens) => vendors[wire]?.answer(body, tokens),
  };
}

const moderationBody = z.strictObject({ model: z.literal('guard'), input: z.array(z.string()).min(1) });

const completionBody = z.strictObject({
  model: z.literal('complete'),
  prompt: z.union([z.string(), z.array(z.string()).min(1)]),
  max_tokens: z.int(),
  n: z.int().min(1).optional(),
  best_of: z.int().min(1).optional(),
  stream: z.boolean().optional(),
  stream_options: z.strictObject({ include_usage: z.literal(true) }).optional(),
});

/** The vendor bills so many tokens for each prompt, and as many for each choice that it makes of it. */
function answerCompletion(body: unknown, tokens: number): unknown {
  const { prompt, n = 1, best_of: best = n, stream } = completionBody.parse(body);
  const prompts = [prompt].flat().length;
  const count = n * prompts;
  const head = { id: 'cmpl-1', object: 'text_completion', created: 1_790_000_000, model: 'complete' };
  const [input, output] = [tokens * prompts, tokens * prompts * best];
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  const choices = Array.from({ length: count }, (_, index) => ({
    text: ' upon',
    index,
    logprobs: null,
    finish_reason: 'stop',
  }));
  if (!stream) return { ...head, choices, usage };
  const chunks = [
    ...choices.map((choice) => ({ ...head, choices: [choice] })),
    { ...head, choices: [], usage },
  ];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
}

const complete = {
  path: '/v1/completions',
  wire: 'completions',
  facts: { upstream: 'complete' },
  parts: 1,
  answer: answerCompletion,
};

export const calls: readonly FamilyCall[] = [
  {
    name: 'embed',
    path: '/v1/embeddings',
    body: { input: texts },
    parts: 1,
    ...buildEmbedding('embeddings'),
  },
  {
    name: 'embed-in-parts',
    path: '/v1/embeddings',
    body: { input: texts, encoding_format: 'base64', dimensions: 8 },
    parts: 6,
    ...buildEmbedding('titan-embed'),
  },
  {
    name: 'embed-by-google',
    path: '/beta/v1beta/models/house/embed-by-google:batchEmbedContents',
    body: {
      requests: texts.map((text) => ({
        model: 'models/house/embed-by-google',
        content: { parts: [{ text }] },
      })),
    },
    parts: 1,
    ...buildEmbedding('embed-content'),
  },
  {
    name: 'embed-by-google-in-parts',
    path: '/beta/v1beta/models/house/embed-by-google-in-parts:batchEmbedContents',
    body: {
      requests: texts.map((text) => ({
        model: 'models/house/embed-by-google-in-parts',
        content: { parts: [{ text }] },
      })),
    },
    parts: 3,
    ...buildEmbedding('cohere-embed', { inputs: 2 }),
  },
  {
    name: 'rank',
    path: '/v1/rerank',
    body: { query: 'a lamp', documents, return_documents: false },
    wire: 'rerank',
    facts: { upstream: 'rank', output: ['scores'] },
    parts: 1,
    answer: answerJina,
  },
  {
    name: 'rank-in-parts',
    path: '/v2/rerank',
    body: { query: 'a lamp', documents, top_n: 3 },
    wire: 'tei-rerank',
    facts: { upstream: 'rank', output: ['scores'] },
    parts: 6,
    answer: answerTei,
  },
  {
    name: 'guard',
    path: '/v1/moderations',
    body: { input: texts },
    wire: 'moderations',
    facts: { upstream: 'guard', output: ['categories'] },
    parts: 1,
    answer(body, tokens) {
      const results = moderationBody.parse(body).input.map(() => ({
        flagged: false,
        categories: { violence: false },
        category_scores: { violence: 0.1 },
      }));
      const usage = { prompt_tokens: tokens, total_tokens: tokens };
      return { id: 'modr-1', model: 'guard', results, usage };
    },
  },
  { ...complete, name: 'complete', body: { prompt: texts, max_tokens: 16, n: 2, best_of: 3 } },
  { ...complete, name: 'complete-streamed', body: { prompt: 'Once', max_tokens: 16, stream: true } },
];

/** Sends what a vendor answers. */
export function sendAnswer(response: Parameters<Conduct>[0], answer: unknown): void {
  const isStream = typeof answer === 'string';
  response
    .writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    .end(isStream ? answer : JSON.stringify(answer));
}

/** Tokens that the vendors bill for each body. */
const tokens = 7;

export const answerWell: Conduct = (response, { url = '' }, body) => {
  const call = calls.find(({ name }) => url === `/${name}`);
  try {
    sendAnswer(response, call?.answer(JSON.parse(body), tokens));
  } catch (error) {
    const message = error instanceof z.ZodError ? `invalid: ${error.issues[0]?.path.join('.')}` : 'broken';
    sendJson(response, { error: { message, type: 'invalid_request_error' } }, 400);
  }
};

/** Of a million tokens: no sum of them is a whole number of nano-dollars. */
export const price = { input: '0.1337', output: '2.00009' };

/** The providers of all calls' models. */
function buildProviders(origin: string): Plugin[] {
  return calls.map(({ name, wire, facts }) =>
    testProvider({
      name,
      endpoints: { [wire]: `${origin}/${name}` },
      models: [{ id: `house/${name}`, price, ...facts }],
    }),
  );
}

export interface FamilyHarness {
  readonly gateway: TestGateway;
  readonly vendor: ScriptedVendor;
  readonly key: string;
  post(call: FamilyCall, init?: { readonly signal?: AbortSignal; readonly body?: object }): Promise<Response>;
  /** Expects that the books are right, and that no call is under way in them. */
  expectCleanBooks(): Promise<void>;
}

export async function openFamilies(settings: Partial<ConfigInput> = {}): Promise<FamilyHarness> {
  const vendor = await startScriptedVendor(answerWell);
  const gateway = await startGateway({
    ...settings,
    plugins: [
      ...keyHeaders(),
      chatCompletions(),
      ...familyPlugins(),
      ...buildProviders(vendor.origin),
      balance({ firstCredit: '0' }),
    ],
  });
  const key = await gateway.newKey({ account: 'tester', credit: '500' });
  return {
    gateway,
    vendor,
    key,
    post: ({ name, path, body }, { signal, body: other = body } = {}) =>
      fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(path.includes('/models/') ? other : { model: `house/${name}`, ...other }),
        ...(signal && { signal }),
      }),
    async expectCleanBooks() {
      expect(await gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
    },
  };
}
