/**
 * Google's wires. The Gemini API gets batches, of up to 100 contents with a vector each. Vertex's newer
 * models take one content a call (`inputs: 1` in the catalogue), and its older ones have the wire of all
 * models of Vertex, `predict`; https://cloud.google.com/vertex-ai/generative-ai/docs/embeddings.
 */
import { toCount, type GatewayError, type Model } from '../../../core/index.ts';
import type { Wire } from '../../shared/family/wires.ts';
import { decodeError, encodeError } from '../../shared/google/errors.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { readList, readObject, readObjects } from '../../shared/wire-kit/values.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import {
  checkDimensions,
  createReader,
  findWord,
  flagsSchema,
  getShare,
  readVectors,
  requireTexts,
  split,
  type EmbeddingAsk,
  type Input,
  type Purpose,
  type Share,
  type Words,
} from './ask.ts';
import { client, purposes } from './google-client.ts';
import { decodeUsage } from './google-usage.ts';
import type { Vector } from './vectors.ts';

const name = 'embed-content';
const readFlags = createReader(name);

const words: Words = Object.fromEntries(
  Object.entries(purposes).flatMap(([word, purpose]): [Purpose, string][] =>
    purpose ? [[purpose, word]] : [],
  ),
);

const errors = { encodeError: (error: GatewayError) => encodeError(error), decodeError };

function findShare(model: Model): Share {
  return getShare(readFlags(model), { inputs: 100 });
}

/** The contents, each with its parts. Throws for what the model does not take. */
function encodeContents(ask: EmbeddingAsk, model: Model): Fields[] {
  const isRead = (input: Input): boolean =>
    typeof input === 'string' ||
    input.every(
      (part) =>
        typeof part === 'object' &&
        (part.type === 'text' || model.input.includes(part.kind === 'document' ? 'pdf' : part.kind)),
    );
  if (!ask.inputs.every(isRead)) return requireTexts(ask, model).map((text) => ({ parts: [{ text }] }));
  return ask.inputs.map((input) => {
    if (typeof input === 'string') return { parts: [{ text: input }] };
    const parts = input.flatMap((part): Fields[] => {
      if (typeof part === 'number') return [];
      if (part.type === 'text') return [{ text: part.text }];
      return [{ inlineData: { mimeType: part.mediaType, data: part.data } }];
    });
    return { parts };
  });
}

function findTaskType(ask: EmbeddingAsk, model: Model, lose: Lose): string | undefined {
  if (readFlags(model).purposes) return findWord(ask, words, lose);
  return findWord(ask, {}, lose);
}

export const google: Wire<EmbeddingAsk, readonly Vector[]> = {
  name,
  errors,
  flags: flagsSchema,
  client,
  encode(ask, model, { lose, rest }) {
    const flags = readFlags(model);
    checkDimensions(ask, model, flags);
    const { dimensions, titles = [], truncate, user } = ask;
    if (user !== undefined) lose('user', 'the vendor has no such field');
    const isSingle = flags.inputs === 1;
    if (truncate === 'start' || (truncate === 'end' && !isSingle))
      lose('truncate', 'the vendor does not cut texts so', 'model');
    const taskType = findTaskType(ask, model, lose);
    const contents = encodeContents(ask, model).map((content, index) => {
      const settings = { taskType, title: titles[index], outputDimensionality: dimensions };
      if (!isSingle) return overlay(rest, { model: `models/${model.upstream}`, content, ...settings });
      return overlay(rest, {
        content,
        embedContentConfig: { ...settings, autoTruncate: truncate === 'end' },
      });
    });
    if (isSingle) return contents;
    return splitAs(contents, ask, findShare(model)).map((requests) => ({ requests }));
  },
  decode(body, ask, part) {
    const { embedding, embeddings = [embedding], usageMetadata } = readObject(body);
    const values = readList(embeddings).map((each) => readObject(each).values);
    return {
      answer: readVectors(values, ask, [part, findShare]),
      usage: decodeUsage(readObject(usageMetadata)),
    };
  },
};

/** Splits what was made of the inputs as these are split. */
function splitAs<Item>(items: readonly Item[], { inputs }: EmbeddingAsk, share: Share): Item[][] {
  let at = 0;
  return split(inputs, share).map(({ length }) => {
    at += length;
    return items.slice(at - length, at);
  });
}

const predictName = 'vertex-predict';
const readPredictFlags = createReader(predictName);

function findPredictShare(model: Model): Share {
  return getShare(readPredictFlags(model), { inputs: 1 });
}

/** Vertex cuts texts unless a call forbids it. */
export const predict: Wire<EmbeddingAsk, readonly Vector[]> = {
  name: predictName,
  errors,
  flags: flagsSchema,
  encode(ask, model, { lose }) {
    checkDimensions(ask, model, readPredictFlags(model));
    const { dimensions, titles = [], truncate, user } = ask;
    if (user !== undefined) lose('user', 'the vendor has no such field');
    if (truncate === 'start') lose('truncate', 'the vendor cuts only the end', 'model');
    const taskType = findWord(ask, words, lose);
    const instances = requireTexts(ask, model).map((content, index) => ({
      content,
      task_type: taskType,
      title: titles[index],
    }));
    const parameters = { autoTruncate: truncate === 'end', outputDimensionality: dimensions };
    return splitAs(instances, ask, findPredictShare(model)).map((each) => ({ instances: each, parameters }));
  },
  decode(body, ask, part) {
    const found = readObjects(readObject(body).predictions).map(({ embeddings }) => readObject(embeddings));
    const counts = found.map(({ statistics }) => toCount(readObject(statistics).token_count));
    const sum = counts.reduce<number>((total, count) => total + (count ?? 0), 0);
    return {
      answer: readVectors(
        found.map(({ values }) => values),
        ask,
        [part, findPredictShare],
      ),
      usage: counts.includes(undefined) ? undefined : { input: sum, output: 0 },
    };
  },
};
