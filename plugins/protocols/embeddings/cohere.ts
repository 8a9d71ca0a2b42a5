/**
 * Cohere's wire, which Bedrock has too; https://docs.cohere.com/reference/embed. It takes 96 texts at once,
 * and models from version 3 on need a purpose.
 */
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { countInput } from './ask.ts';
import { defineWire } from './define-wire.ts';

export const cohere = defineWire({
  name: 'cohere-embed',
  most: { inputs: 96 },
  words: {
    query: 'search_query',
    'question-answering': 'search_query',
    'fact-verification': 'search_query',
    'code-query': 'search_query',
    document: 'search_document',
    classification: 'classification',
    clustering: 'clustering',
  },
  usualWord: 'search_document',
  listCuts: () => ['start', 'end'],
  encodeBody: ({ model, inputs, word, encoding, dimensions, truncate = 'none' }) => ({
    model: model.upstream,
    texts: inputs,
    input_type: word,
    // Bedrock's has no base64.
    embedding_types: [encoding],
    output_dimension: dimensions,
    truncate: truncate.toUpperCase(),
  }),
  decodeBody(body) {
    const { embeddings, meta } = readObject(body);
    const vectors = readObject(embeddings);
    return {
      answer: readList(vectors.base64 ?? vectors.float),
      usage: countInput(readObject(readObject(meta).billed_units).input_tokens),
    };
  },
});
