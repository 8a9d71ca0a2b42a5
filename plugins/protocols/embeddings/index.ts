/** Embeddings: texts in, vectors out. */
import { hash } from 'node:crypto';
import { defineFamily } from '../../shared/family/define-family.ts';
import { checkLengths, measureInputs, type EmbeddingAsk, type Input } from './ask.ts';
import { cohere } from './cohere.ts';
import { dialects } from './dialects.ts';
import { google, predict } from './google.ts';
import { ollama, titan } from './numbers.ts';
import { openai, wireName } from './openai.ts';
import type { Vector } from './vectors.ts';

const [usual, bytesPerToken] = [64, 4];

function writeInput(input: Input): string {
  return typeof input === 'string' ? input : JSON.stringify(input);
}

/** A vector of length one, from the text's hash: the same text has the same one. */
function makeVector(input: Input, dimensions: number): number[] {
  const bytes = hash('sha512', writeInput(input), 'buffer');
  const raw = Float64Array.from({ length: dimensions }, (_, at) => (bytes[at % bytes.length] ?? 0) - 127.5);
  const length = Math.sqrt(raw.reduce((sum, value) => sum + value * value, 0));
  return Array.from(raw, (value) => Math.fround(value / length));
}

export const embeddings = defineFamily<EmbeddingAsk, readonly Vector[]>({
  name: 'embeddings',
  makes: 'embeddings',
  path: '/v1/embeddings',
  wires: [openai, google, cohere, predict, titan, ollama, ...dialects],
  join: (answers, ask) => checkLengths(answers.flat(), ask),
  demo: {
    wire: wireName,
    model: {
      id: 'demo/embed',
      upstream: 'embed',
      name: 'Demo Embed',
      description: 'Makes vectors offline from the hashes of texts; its small price is real to the ledger.',
      price: { input: '0.02', output: '0' },
      capabilities: {
        // It makes the vectors of a hundred texts in a few milliseconds.
        wire: { [wireName]: { dimensions: { least: 1, most: 3072 }, tokens: true, inputs: 100 } },
      },
    },
    answer: ({ inputs, dimensions = usual }) => ({
      answer: inputs.map((input) => makeVector(input, dimensions)),
      usage: { input: Math.ceil(measureInputs(inputs).textBytes / bytesPerToken), output: 0 },
    }),
  },
});
