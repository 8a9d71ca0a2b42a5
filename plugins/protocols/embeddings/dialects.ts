/**
 * Wires like OpenAI's, with other names of fields: Mistral's, Voyage's, Jina's and NVIDIA's. Their replies
 * are OpenAI's. Voyage and Jina cut long texts unless a call forbids it.
 */
import { defineWire, type EmbeddingWire, type Form } from './define-wire.ts';
import { decodeList } from './openai.ts';

/** `encodeBody` has only the settings. */
function defineDialect({ encodeBody, ...form }: Omit<Form, 'decodeBody'>): EmbeddingWire {
  return defineWire({
    ...form,
    encodeBody(asked) {
      return { model: asked.model.upstream, input: asked.inputs, ...encodeBody(asked) };
    },
    decodeBody: decodeList,
  });
}

/** It refuses a request of more than 16,384 tokens, each of which has at least one byte. */
const mistral = defineDialect({
  name: 'mistral-embed',
  most: { inputs: 512, bytes: 16_384 },
  encodeBody: ({ dimensions, encoding }) => ({ output_dimension: dimensions, encoding_format: encoding }),
});

/** Purposes for which a text is looked up with. */
const looksUp = { query: 'query', 'question-answering': 'query', 'fact-verification': 'query' } as const;

const voyage = defineDialect({
  name: 'voyage-embed',
  most: { inputs: 1000, bytes: 120_000 },
  words: { ...looksUp, 'code-query': 'query', document: 'document' },
  listCuts: () => ['end'],
  encodeBody: ({ dimensions, truncate, word, encoding }) => ({
    input_type: word,
    truncation: truncate === 'end',
    output_dimension: dimensions,
    // It has no word for numbers.
    encoding_format: encoding === 'base64' ? encoding : undefined,
  }),
});

const jina = defineDialect({
  name: 'jina-embed',
  most: { inputs: 512 },
  words: {
    query: 'retrieval.query',
    'question-answering': 'retrieval.query',
    'fact-verification': 'retrieval.query',
    'code-query': 'retrieval.query',
    document: 'retrieval.passage',
    similarity: 'text-matching',
    classification: 'classification',
    clustering: 'separation',
  },
  listCuts: () => ['end'],
  encodeBody: ({ dimensions, truncate, word, encoding }) => ({
    task: word,
    truncate: truncate === 'end',
    dimensions,
    embedding_type: encoding,
  }),
});

const nvidia = defineDialect({
  name: 'nvidia-embed',
  most: { inputs: 50 },
  words: { ...looksUp, 'code-query': 'query', document: 'passage' },
  usualWord: 'passage',
  listCuts: () => ['start', 'end'],
  hasUser: true,
  encodeBody: ({ dimensions, truncate = 'none', word, user, encoding }) => ({
    input_type: word,
    truncate: truncate.toUpperCase(),
    dimensions,
    encoding_format: encoding,
    user,
  }),
});

export const dialects = [mistral, voyage, jina, nvidia];
