/** One server that is every vendor of embeddings: each at a path of its own, with its key and its limits. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Plugin } from '../../core/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { amazonBedrock } from '../../plugins/providers/amazon-bedrock.ts';
import { azure } from '../../plugins/providers/azure.ts';
import { cohere } from '../../plugins/providers/cohere.ts';
import { google } from '../../plugins/providers/google.ts';
import { jina } from '../../plugins/providers/jina.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { nvidia } from '../../plugins/providers/nvidia.ts';
import { ollama } from '../../plugins/providers/ollama.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { together } from '../../plugins/providers/together.ts';
import { vllm } from '../../plugins/providers/vllm.ts';
import { voyage } from '../../plugins/providers/voyage.ts';
import { sendJson } from '../support/scripted-vendor.ts';
import { toVector } from './vectors.ts';
import { vendors } from './vendors.ts';

/** What each replies to a body: the reply, and headers. */
type Answer = (body: unknown, tokens: number) => readonly [reply: unknown, headers?: Record<string, string>];

function answerAs(wire: string): Answer {
  return (body, tokens) => [vendors[wire]?.answer(body, tokens)];
}

/** Bedrock's Cohere has no model in its body, no base64, words of its own and its count in a header. */
const bedrockBody = z.strictObject({
  texts: z.array(z.string().min(1)).min(1).max(96),
  input_type: z.enum(['search_document', 'search_query', 'classification', 'clustering']),
  embedding_types: z.tuple([z.literal('float')]),
  output_dimension: z.literal([256, 512, 1024, 1536]).optional(),
  truncate: z.enum(['NONE', 'LEFT', 'RIGHT']),
});

const withoutUsage: Answer = (body, tokens) => {
  const { usage: _usage, ...reply } = z.looseObject({}).parse(answerAs('embeddings')(body, tokens)[0]);
  return [reply];
};

const key = { authorization: 'Bearer vendor-key' };

/** By the path. */
const paths: Readonly<Record<string, readonly [Answer, Record<string, string>]>> = {
  '/openai/v1/embeddings': [answerAs('embeddings'), key],
  '/azure/openai/v1/embeddings': [answerAs('embeddings'), { 'api-key': 'vendor-key' }],
  '/together/v1/embeddings': [withoutUsage, key],
  '/mistral/v1/embeddings': [answerAs('mistral-embed'), key],
  '/voyage/v1/embeddings': [answerAs('voyage-embed'), key],
  '/jina/v1/embeddings': [answerAs('jina-embed'), key],
  '/nvidia/v1/embeddings': [answerAs('nvidia-embed'), key],
  '/cohere/v2/embed': [answerAs('cohere-embed'), key],
  '/google/v1beta/models/gemini-embedding-001:batchEmbedContents': [
    (body, tokens) => {
      const { embeddings: made } = z
        .looseObject({ embeddings: z.unknown() })
        .parse(answerAs('embed-content')(body, tokens)[0]);
      return [{ embeddings: made }];
    },
    { 'x-goog-api-key': 'vendor-key' },
  ],
  '/google/v1beta/models/gemini-embedding-2:batchEmbedContents': [
    answerAs('embed-content'),
    { 'x-goog-api-key': 'vendor-key' },
  ],
  '/bedrock/model/amazon.titan-embed-text-v2%3A0/invoke': [answerAs('titan-embed'), key],
  '/bedrock/model/global.cohere.embed-v4%3A0/invoke': [
    (body, tokens) => {
      const { texts, output_dimension: length } = bedrockBody.parse(body);
      const float = texts.map((text) => toVector(text, length));
      return [
        { id: 'e', response_type: 'embeddings_by_type', embeddings: { float } },
        { 'X-Amzn-Bedrock-Input-Token-Count': String(tokens) },
      ];
    },
    key,
  ],
  '/ollama/api/embed': [answerAs('ollama-embed'), {}],
  '/vllm/v1/embeddings': [answerAs('embeddings'), {}],
};

const lists: Readonly<Record<string, string>> = {
  '/ollama/v1/models': 'nomic-embed-text:latest',
  '/vllm/v1/models': 'BAAI/bge-m3',
};

/** Answers as the vendor of the path does, with so many tokens for each request. */
export function answerCall(
  response: ServerResponse,
  { url = '', headers }: IncomingMessage,
  body: string,
  tokens: number,
): void {
  const listed = lists[url];
  if (listed !== undefined) return sendJson(response, { object: 'list', data: [{ id: listed }] });
  const [answer, wanted] = paths[url] ?? [];
  if (!answer) return sendJson(response, { error: { message: `no ${url}` } }, 404);
  for (const [name, value] of Object.entries(wanted ?? {}))
    if (headers[name] !== value) return sendJson(response, { error: { message: 'no key' } }, 401);
  try {
    const [reply, more] = answer(JSON.parse(body), tokens);
    sendJson(response, reply, 200, more);
  } catch (error) {
    sendJson(response, { error: { message: String(error) } }, 422);
  }
}

/** The vendors at this server, and the protocol. */
export function listPlugins(origin: string): Plugin[] {
  const at = (name: string): { apiKey: string; baseUrl: string } => ({
    apiKey: 'vendor-key',
    baseUrl: `${origin}/${name}/v1`,
  });
  const price = [
    { unit: 'input', rate: '0.05' },
    { unit: 'output', rate: '0' },
  ] as const;
  return [
    embeddings(),
    openai(at('openai')),
    azure({ apiKey: 'vendor-key', baseUrl: `${origin}/azure` }),
    together(at('together')),
    mistral(at('mistral')),
    voyage(at('voyage')),
    jina(at('jina')),
    nvidia(at('nvidia')),
    cohere({ apiKey: 'vendor-key', baseUrl: `${origin}/cohere/compatibility/v1` }),
    google({ apiKey: 'vendor-key', baseUrl: `${origin}/google` }),
    amazonBedrock({ region: 'us-east-1', apiKey: 'vendor-key', baseUrl: `${origin}/bedrock` }),
    ollama({ baseUrl: `${origin}/ollama/v1`, price: [...price] }),
    vllm({ baseUrl: `${origin}/vllm/v1`, price: [...price] }),
  ];
}
