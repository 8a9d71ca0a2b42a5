/**
 * What Google's clients send: `embedContent`, whose reply is one vector however many parts there are, and
 * `batchEmbedContents`; https://ai.google.dev/api/embeddings. Its SDK sends batches, by `/v1` or `/v1beta`.
 */
import { z } from 'zod';
import type { Match } from '../../../core/index.ts';
import type { ClientWire, ReadAsk } from '../../shared/family/wires.ts';
import { providerObject, readPreferences } from '../../shared/wire-kit/provider-object.ts';
import {
  nestFields,
  isObject,
  pickUnread,
  splitNames,
  type Fields,
} from '../../shared/wire-kit/vendor-bag.ts';
import { allowInteger, base64Data, buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { measureInputs, type EmbeddingAsk, type Input, type Part, type Purpose } from './ask.ts';
import { encodeUsage } from './google-usage.ts';
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

export const singleBody = single.extend({ provider: providerObject.nullish() });

/** Google's limit. */
const mostRequests = 100;

export const batchBody = z.looseObject({
  requests: z.array(single).min(1).max(mostRequests),
  provider: providerObject.nullish(),
});

type Request = z.output<typeof single>;

const spelledInSnakeCase = splitNames(`
  task_type output_dimensionality auto_truncate embed_content_config inline_data mime_type file_data
  document_ocr audio_track_extraction
`);

/** Returns the body with Google's names in camelCase: it takes both. */
function respell(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(respell);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, member]): [string, unknown] => {
    if (name === 'data' || name === 'provider') return [name, member];
    const usual = spelledInSnakeCase.has(name)
      ? name.replaceAll(/_[a-z]/g, ([, letter = '']) => letter.toUpperCase())
      : name;
    if (usual !== name && Object.hasOwn(value, usual))
      throw buildFieldError(name, `is also written as "${usual}"`, 'one of the two');
    return [usual, respell(member)];
  });
  return Object.fromEntries(entries);
}

const kinds = ['image', 'audio', 'video'] as const;

function readInput({ content: { parts } }: Request): Input {
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

const known = new Set([...Object.keys(singleBody.shape), 'requests']);
const knownSettings = new Set(Object.keys(settings));

/** What a request has besides its content, of which all of a batch have to have the same. */
function readSettings({ embedContentConfig: config, ...request }: Request): Fields {
  const { taskType, outputDimensionality, autoTruncate } = { ...request, ...config };
  const rest = { ...pickUnread(request, known), ...readRest(config) };
  return { taskType, outputDimensionality, autoTruncate, ...rest };
}

function readRest(config: Request['embedContentConfig']): Fields {
  return nestFields('embedContentConfig', pickUnread(config ?? {}, knownSettings));
}

function checkAlike(requests: readonly Request[]): void {
  const [first = {}, ...others] = requests.map(readSettings);
  for (const [index, other] of others.entries())
    for (const name of new Set([...Object.keys(first), ...Object.keys(other)]))
      if (JSON.stringify(first[name]) !== JSON.stringify(other[name]))
        throw buildFieldError(
          `requests[${index + 1}].${name}`,
          'differs from that of another request',
          'it in a call of its own',
        );
}

/** Google refuses a batch for several models. */
function checkModels(requests: readonly Request[], model: string, isBatch: boolean): void {
  for (const [index, request] of requests.entries())
    if (request.model && request.model.replace(/^models\//, '') !== model)
      throw buildFieldError(
        isBatch ? `requests[${index}].model` : 'model',
        'is not the model of the path',
        `"models/${model}"`,
      );
}

interface EmbedMatch extends Match {
  readonly isBatch: boolean;
}

function isEmbedMatch(match: Match): match is EmbedMatch {
  return 'isBatch' in match;
}

const callPath = /^(?:\/beta)?\/(?:(?:v1beta|v1)\/(?:models\/)?|models\/)(.+)$/s;

function matchPath(method: string, path: string): EmbedMatch | undefined {
  const colon = path.lastIndexOf(':');
  const name = path.slice(colon + 1);
  if (method !== 'POST' || (name !== 'embedContent' && name !== 'batchEmbedContents')) return undefined;
  const [, model] = callPath.exec(path.slice(0, colon)) ?? [];
  return model === undefined ? undefined : { operation: 'generate', model, isBatch: name !== 'embedContent' };
}

/** Names of fields of what is asked, in the two kinds of bodies. */
const names = {
  purpose: 'taskType',
  dimensions: 'outputDimensionality',
  titles: 'title',
  truncate: 'autoTruncate',
};
const namesInSingle = { ...names, inputs: 'content' };
const namesInBatch = {
  ...Object.fromEntries(Object.entries(names).map(([name, own]) => [name, `requests[0].${own}`])),
  inputs: 'requests',
};

const truncations: Readonly<Record<string, EmbeddingAsk['truncate']>> = { true: 'end', false: 'none' };

function readSingle(body: unknown): z.output<typeof batchBody> {
  const { provider, ...request } = checkWire(singleBody, respell(body));
  return { requests: [request], provider };
}

function readBody(body: unknown, match: Match): ReadAsk<EmbeddingAsk> {
  const isBatch = isEmbedMatch(match) && match.isBatch;
  const { model = '' } = match;
  const { requests, provider } = isBatch ? checkWire(batchBody, respell(body)) : readSingle(body);
  checkModels(requests, model, isBatch);
  checkAlike(requests);
  const [first] = requests;
  const {
    taskType,
    outputDimensionality: dimensions,
    autoTruncate,
  } = { ...first, ...first?.embedContentConfig };
  const inputs = requests.map(readInput);
  const titles = requests.map(
    ({ title, embedContentConfig }) => embedContentConfig?.title ?? title ?? undefined,
  );
  const ask: EmbeddingAsk = {
    inputs,
    dimensions: dimensions ?? undefined,
    encoding: 'float',
    purpose: taskType ? purposes[taskType] : undefined,
    titles: titles.some((title) => title !== undefined) ? titles : undefined,
    truncate: typeof autoTruncate === 'boolean' ? truncations[String(autoTruncate)] : undefined,
    isAlone: !isBatch,
  };
  return {
    model,
    ask,
    preferences: readPreferences(provider),
    size: measureInputs(inputs),
    rest: { ...pickUnread(first ?? {}, known), ...readRest(first?.embedContentConfig) },
    names: isBatch ? namesInBatch : namesInSingle,
    // Each of a batch names the model, and single contents go on as batches.
    suits: () => false,
  };
}

export const client: ClientWire<EmbeddingAsk, readonly Vector[]> = {
  match: matchPath,
  read: readBody,
  fieldNames: namesInSingle,
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
  describeCalls: async () => (await import('./description.ts')).describeGoogle(),
  describeAbilities: async () =>
    (await import('./abilities.json', { with: { type: 'json' } })).default.google,
  address: { client: '@google/genai', path: '/beta' },
};
