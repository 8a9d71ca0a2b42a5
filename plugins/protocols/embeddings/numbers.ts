/** Wires whose replies are only numbers: Ollama's own, and Titan's, which takes one text a call. */
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { countInput } from './ask.ts';
import { defineWire } from './define-wire.ts';

/** Its copy of OpenAI's wire always cuts long texts; https://docs.ollama.com/api/embed. */
export const ollama = defineWire({
  name: 'ollama-embed',
  most: { inputs: 256 },
  hasNumbersOnly: true,
  listCuts: () => ['end'],
  encodeBody: ({ model, inputs, dimensions, truncate }) => ({
    model: model.upstream,
    input: inputs,
    dimensions,
    truncate: truncate === 'end',
  }),
  decodeBody(body) {
    const { embeddings, prompt_eval_count: count } = readObject(body);
    return { answer: readList(embeddings), usage: countInput(count) };
  },
});

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html. */
export const titan = defineWire({
  name: 'titan-embed',
  most: { inputs: 1 },
  hasNumbersOnly: true,
  encodeBody: ({ inputs: [inputText], dimensions }) => ({ inputText, dimensions, normalize: true }),
  decodeBody(body) {
    const { embedding, inputTextTokenCount: count } = readObject(body);
    return { answer: [embedding], usage: countInput(count) };
  },
});
