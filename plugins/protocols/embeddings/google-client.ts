/**
 * What Google's clients send: `embedContent`, whose reply is one vector however many parts there are, and
 * `batchEmbedContents`; https://ai.google.dev/api/embeddings. Its SDK sends batches, by `/v1` or `/v1beta`.
 */
import { z } from 'zod';
import { toCount, type CallDescription, type Match, type Usage } from '../../../core/index.ts';
import type { ClientWire, ReadAsk } from '../../shared/family/wires.ts';
import { encodeModalities, readModality } from '../../shared/google/modalities.ts';
import { readSpelling } from '../../shared/google/spelling.ts';
import { providerObject, readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { keepKnown } from '../../shared/wire-kit/values.ts';
import { trackReads, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { allowInteger, base64Data, buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { measureInputs, type EmbeddingAsk, type Input, type Part, type Purpose } from './ask.ts';
import { quicklyWritten, writeVector, type Vector } from './vectors.ts';

export const purposes: Readonly<Record<string, Purpose | undefined>> = {
  TASK_TYPE_UNSPECIFIED: undefined,
  RETRIEVAL_QUERY: 'query',
  RETRIEVAL_DOCUMENT: 'document',
  SEMANTIC_SIMILARITY: 'similarity',
  CLASSIFICATION: 'classification',
  CLUSTERING: 'clustering',
  QUESTION_ANSWERING: 'question-answering',
  FACT_VERIFICATION: 'fact-verification',
  CODE_RETRIEVAL_QUERY: 'code-query',
};

const isData = 'data in "inlineData": nothing else can be fetched here';

/** Google refuses what it does not know, too. */
const part = z.strictObject({
  text: z.string().nullish(),
  inlineData: z
    .strictObject({ mimeType: z.string().min(1), data: base64Data, displayName: z.string().nullish() })
    .nullish(),
  fileData: z.null(isData).optional(),
});

const settings = {
  taskType: z.literal(Object.keys(purposes)).nullish(),
  title: z.string().nullish(),
  outputDimensionality: allowInteger(1, 65_536).nullish(),
  /** Vertex has it. */
  autoTruncate: z.boolean().nullish(),
};

const single = z.looseObject({
  model: z.string().nullish(),
  content: z.strictObject({
    /** It means nothing here; the SDK sends it. */
    role: z.string().nullish(),
    parts: z
      .array(part)
      .min(1)
      .refine(
        (parts) => parts.every(({ text, inlineData }) => text || inlineData),
        'parts with text or data',
      ),
  }),
  ...settings,
  /** Where Vertex has the settings of newer models. */
  embedContentConfig: z.looseObject(settings).nullish(),
});

const singleBody = single.extend({ provider: providerObject.nullish() });

/** Google's limit. */
const mostRequests = 100;

const batchBody = z.looseObject({
  requests: z.array(single).min(1).max(mostRequests),
  provider: providerObject.nullish(),
});

type Request = z.output<typeof single>;

const kinds = ['image', 'audio', 'video'] as const;

function readInput({ parts }: Request['content']): Input {
  const [first, ...others] = parts;
  if (first?.text && others.length === 0) return first.text;
  return parts.flatMap(({ text, inlineData }): Part[] => {
    const read: Part[] = text ? [{ type: 'text', text }] : [];
    if (!inlineData) return read;
    const { mimeType: mediaType, data } = inlineData;
    const kind = kinds.find((each) => mediaType.startsWith(`${each}/`)) ?? 'document';
    return [...read, { type: 'media', kind, mediaType, data }];
  });
}

/** Names of fields of what is asked. */
const names: Readonly<Record<string, string>> = {
  inputs: 'content',
  purpose: 'taskType',
  dimensions: 'outputDimensionality',
  titles: 'title',
  truncate: 'autoTruncate',
};
const namesInBatch = {
  ...Object.fromEntries(Object.entries(names).map(([name, own]) => [name, `requests[0].${own}`])),
  inputs: 'requests',
};

const truncations: ReadonlyMap<unknown, EmbeddingAsk['truncate']> = new Map([
  [true, 'end'],
  [false, 'none'],
]);

function readRequest(request: Request) {
  const body = trackReads(request);
  const { model, content, title, taskType, outputDimensionality, autoTruncate } = body.seen;
  const config = body.open('embedContentConfig')?.seen;
  const word = config?.taskType ?? taskType;
  return {
    model,
    input: readInput(content),
    title: config?.title ?? title ?? undefined,
    settings: {
      purpose: word ? purposes[word] : undefined,
      dimensions: config?.outputDimensionality ?? outputDimensionality ?? undefined,
      truncate: truncations.get(config?.autoTruncate ?? autoTruncate),
    },
    rest: body.pickRest(),
  };
}

type ReadRequest = ReturnType<typeof readRequest>;

/** A call has its settings once. */
function checkAlike(first: ReadRequest | undefined, other: ReadRequest, index: number): void {
  const [usual, own]: [Fields, Fields] = [
    { ...first?.settings, ...first?.rest },
    { ...other.settings, ...other.rest },
  ];
  const wrong = Object.keys({ ...usual, ...own }).find(
    (name) => JSON.stringify(usual[name]) !== JSON.stringify(own[name]),
  );
  if (wrong !== undefined)
    throw buildFieldError(
      `requests[${index}].${names[wrong] ?? wrong}`,
      'differs from that of another request',
      'it in a call of its own',
    );
}

const callPath = /^(?:\/beta)?\/(?:(?:v1beta|v1)\/(?:models\/)?|models\/)(.+)$/s;

function matchPath(method: string, path: string): Match | undefined {
  const colon = path.lastIndexOf(':');
  const name = path.slice(colon + 1);
  if (method !== 'POST' || (name !== 'embedContent' && name !== 'batchEmbedContents')) return undefined;
  const [, model] = callPath.exec(path.slice(0, colon)) ?? [];
  if (model === undefined) return undefined;
  const match = { operation: 'generate', model, isBatch: name !== 'embedContent' } as const;
  return match;
}

function readSingle(body: unknown): z.output<typeof batchBody> {
  const { provider, ...request } = checkWire(singleBody, body);
  return { requests: [request], provider };
}

function readBody(wire: unknown, match: Match): ReadAsk<EmbeddingAsk> {
  const isBatch = 'isBatch' in match && match.isBatch === true;
  const { model = '' } = match;
  const { body } = readSpelling(wire);
  const { requests, provider } = isBatch ? checkWire(batchBody, body) : readSingle(body);
  const read = requests.map(readRequest);
  const [first] = read;
  for (const [index, each] of read.entries()) {
    // Google refuses a batch for several models.
    if (each.model && each.model.replace(/^models\//, '') !== model)
      throw buildFieldError(
        isBatch ? `requests[${index}].model` : 'model',
        'is not the model of the path',
        `"models/${model}"`,
      );
    checkAlike(first, each, index);
  }
  const inputs = read.map(({ input }) => input);
  const titles = read.map(({ title }) => title);
  return {
    model,
    ask: { inputs, titles, encoding: 'float', isAlone: !isBatch, ...first?.settings },
    preferences: readPreferences(provider),
    size: measureInputs(inputs),
    rest: first?.rest ?? {},
    names: isBatch ? namesInBatch : names,
    // Each of a batch names the model, and single contents go on as batches.
    suits: () => false,
  };
}

/** Undefined if there are no counts, as for the older models. Those of media have rates of their own. */
export function decodeUsage({ promptTokenCount, promptTokensDetails: details }: Fields): Usage | undefined {
  const input = toCount(promptTokenCount);
  if (input === undefined) return undefined;
  const media = {
    inputImage: readModality(details, 'IMAGE'),
    inputAudio: readModality(details, 'AUDIO'),
    inputVideo: readModality(details, 'VIDEO'),
  };
  return { input, output: 0, ...keepKnown(media) };
}

function encodeUsage({ input = 0, inputImage, inputAudio, inputVideo }: Usage): Fields {
  const media = { IMAGE: inputImage, AUDIO: inputAudio, VIDEO: inputVideo };
  const details = encodeModalities(input, media);
  return { promptTokenCount: input, totalTokenCount: input, promptTokensDetails: details };
}

async function describeCalls(): Promise<CallDescription[]> {
  const { count, describePost } = await import('../../shared/wire-kit/reply-schemas.ts');
  const fault = z.looseObject({ code: z.int(), message: z.string(), status: z.string() });
  const error = z.object({ error: fault }).meta({ title: 'EmbedContentError' });
  const embedding = z.looseObject({ values: z.array(z.number()) });
  const usageMetadata = z.looseObject({ promptTokenCount: count, totalTokenCount: count });
  const content = { parts: [{ text: 'A lighthouse' }] };
  const path = '/beta/v1beta/models/{model}';
  const single = {
    path: `${path}:embedContent`,
    summary: 'Make one vector of a content',
    body: singleBody.meta({ title: 'EmbedContentRequest', examples: [{ content }] }),
    reply: z.looseObject({ embedding, usageMetadata }).meta({ title: 'EmbedContentResponse' }),
  };
  const batch = {
    path: `${path}:batchEmbedContents`,
    summary: 'Make a vector of each content',
    body: batchBody.meta({ title: 'BatchEmbedContentsRequest', examples: [{ requests: [{ content }] }] }),
    reply: z
      .looseObject({ embeddings: z.array(embedding), usageMetadata })
      .meta({ title: 'BatchEmbedContentsResponse' }),
  };
  return [single, batch].map((call) => describePost({ ...call, error }));
}

export const client: ClientWire<EmbeddingAsk, readonly Vector[]> = {
  match: matchPath,
  read: readBody,
  fieldNames: names,
  usagePath: { reply: ['usageMetadata'], event: ['usageMetadata'] },
  *write(vectors, { isAlone }, { usage }) {
    let text = isAlone ? '{"embedding":' : '{"embeddings":[';
    for (const [index, vector] of vectors.entries()) {
      text += `${index > 0 ? ',' : ''}{"values":${writeVector(vector, 'float')}}`;
      if (text.length < quicklyWritten) continue;
      yield text;
      text = '';
    }
    yield `${text}${isAlone ? '' : ']'},"usageMetadata":${JSON.stringify(encodeUsage(usage))}}`;
  },
  describeCalls,
  describeAbilities: async () =>
    (await import('./abilities.json', { with: { type: 'json' } })).default.google,
  address: { client: '@google/genai', path: '/beta' },
};
