/** Wires whose replies are only numbers: Ollama's own, and Titan's, which takes one text a call. */
import { toCount, type Model } from '../../../core/index.ts';
import type { Wire } from '../../shared/family/wires.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import {
  checkDimensions,
  createReader,
  findWord,
  flagsSchema,
  getShare,
  loseTitles,
  readVectors,
  requireTexts,
  split,
  type EmbeddingAsk,
  type Share,
} from './ask.ts';
import type { Vector } from './vectors.ts';

const errors = { encodeError, decodeError };

/** Reports what neither has. */
function loseFields(ask: EmbeddingAsk, lose: Lose): void {
  loseTitles(ask, lose);
  findWord(ask, {}, lose);
  if (ask.user !== undefined) lose('user', 'the vendor has no such field');
}

const ollamaName = 'ollama-embed';
const readOllama = createReader(ollamaName);

function findOllamaShare(model: Model): Share {
  return getShare({ ...readOllama(model), base64: false }, { inputs: 256 });
}

/** Its copy of OpenAI's wire always cuts long texts; https://docs.ollama.com/api/embed. */
export const ollama: Wire<EmbeddingAsk, readonly Vector[]> = {
  name: ollamaName,
  errors,
  flags: flagsSchema,
  encode(ask, model, { lose }) {
    checkDimensions(ask, model, readOllama(model));
    loseFields(ask, lose);
    const { dimensions, truncate } = ask;
    if (truncate === 'start') lose('truncate', 'the vendor cuts only the end', 'model');
    return split(requireTexts(ask, model), findOllamaShare(model)).map((input) => ({
      model: model.upstream,
      input,
      dimensions,
      truncate: truncate === 'end',
    }));
  },
  decode(body, ask, part) {
    const { embeddings, prompt_eval_count: count } = readObject(body);
    const input = toCount(count);
    return {
      answer: readVectors(readList(embeddings), ask, [part, findOllamaShare]),
      usage: input === undefined ? undefined : { input, output: 0 },
    };
  },
};

const titanName = 'titan-embed';
const readTitan = createReader(titanName);

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html. */
export const titan: Wire<EmbeddingAsk, readonly Vector[]> = {
  name: titanName,
  errors,
  flags: flagsSchema,
  encode(ask, model, { lose }) {
    checkDimensions(ask, model, readTitan(model));
    loseFields(ask, lose);
    const { dimensions, truncate } = ask;
    if (truncate === 'start' || truncate === 'end')
      lose('truncate', 'the vendor refuses texts that are too long', 'model');
    return requireTexts(ask, model).map((inputText) => ({ inputText, dimensions, normalize: true }));
  },
  decode(body, ask, part) {
    const { embedding, inputTextTokenCount: count } = readObject(body);
    const input = toCount(count);
    return {
      answer: readVectors([embedding], ask, [part, () => ({ inputs: 1 })]),
      usage: input === undefined ? undefined : { input, output: 0 },
    };
  },
};
