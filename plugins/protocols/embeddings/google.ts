/**
 * Google's wires. The Gemini API gets batches, of up to 100 contents with a vector each. Vertex's newer
 * models take one content a call (`inputs: 1` in the catalogue), and its older ones have the wire of all
 * models of Vertex, `predict`; https://cloud.google.com/vertex-ai/generative-ai/docs/embeddings.
 */
import { toCount, type GatewayError, type Model } from '../../../core/index.ts';
import { decodeError, encodeError } from '../../shared/google/errors.ts';
import { readList, readObject, readObjects } from '../../shared/wire-kit/values.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { requireTexts, type Input, type Purpose, type Words } from './ask.ts';
import { defineWire } from './define-wire.ts';
import { client, decodeUsage, purposes } from './google-client.ts';

const words: Words = Object.fromEntries(
  Object.entries(purposes).flatMap(([word, purpose]): [Purpose, string][] =>
    purpose ? [[purpose, word]] : [],
  ),
);

const errors = { encodeError: (error: GatewayError) => encodeError(error), decodeError };

/** Whether the model reads all parts of an input. None reads the numbers of tokens. */
function canRead(model: Model, input: Input): boolean {
  if (typeof input === 'string') return true;
  return input.every((part) => {
    if (typeof part === 'number' || part.type === 'text') return typeof part === 'object';
    return model.input.includes(part.kind === 'document' ? 'pdf' : part.kind);
  });
}

function encodeParts(input: Input): Fields[] {
  if (typeof input === 'string') return [{ text: input }];
  return input.flatMap((part): Fields[] => {
    if (typeof part === 'number') return [];
    if (part.type === 'text') return [{ text: part.text }];
    return [{ inlineData: { mimeType: part.mediaType, data: part.data } }];
  });
}

export const google = defineWire({
  name: 'embed-content',
  errors,
  client,
  most: { inputs: 100 },
  words,
  hasTitles: true,
  listCuts: ({ inputs }) => (inputs === 1 ? ['end'] : []),
  selectInputs: (ask, model) =>
    ask.inputs.every((input) => canRead(model, input)) ? ask.inputs : requireTexts(ask, model),
  encodeBody({ model, flags, inputs, word, dimensions, truncate, takeTitle, rest }) {
    const requests = inputs.map((input) => {
      const content = { parts: encodeParts(input) };
      const settings = { taskType: word, title: takeTitle(), outputDimensionality: dimensions };
      if (flags.inputs !== 1)
        return overlay(rest, { model: `models/${model.upstream}`, content, ...settings });
      const embedContentConfig = { ...settings, autoTruncate: truncate === 'end' };
      return overlay(rest, { content, embedContentConfig });
    });
    const [single = {}] = requests;
    return flags.inputs === 1 ? single : { requests };
  },
  decodeBody(body) {
    const { embedding, embeddings = [embedding], usageMetadata } = readObject(body);
    const answer = readList(embeddings).map((each) => readObject(each).values);
    return { answer, usage: decodeUsage(readObject(usageMetadata)) };
  },
});

/** Vertex cuts texts unless a call forbids it. */
export const predict = defineWire({
  name: 'vertex-predict',
  errors,
  most: { inputs: 1 },
  words,
  hasTitles: true,
  listCuts: () => ['end'],
  encodeBody: ({ inputs, word, dimensions, truncate, takeTitle }) => ({
    instances: inputs.map((content) => ({ content, task_type: word, title: takeTitle() })),
    parameters: { autoTruncate: truncate === 'end', outputDimensionality: dimensions },
  }),
  decodeBody(body) {
    const found = readObjects(readObject(body).predictions).map(({ embeddings }) => readObject(embeddings));
    const counts = found.map(({ statistics }) => toCount(readObject(statistics).token_count));
    const input = counts.reduce<number>((total, count) => total + (count ?? 0), 0);
    const usage = counts.includes(undefined) ? undefined : { input, output: 0 };
    return { answer: found.map(({ values }) => values), usage };
  },
});
