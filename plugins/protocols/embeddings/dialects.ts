/**
 * Wires like OpenAI's, with other names of fields: Mistral's, Voyage's, Jina's and NVIDIA's. Their replies
 * are OpenAI's. Voyage and Jina cut long texts unless a call forbids it.
 */
import type { Model } from '../../../core/index.ts';
import type { Wire } from '../../shared/family/wires.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import {
  checkDimensions,
  chooseEncoding,
  createReader,
  findWord,
  flagsSchema,
  getShare,
  loseTitles,
  requireTexts,
  split,
  type EmbeddingAsk,
  type Share,
  type Words,
} from './ask.ts';
import { decodeList } from './openai.ts';
import type { Vector } from './vectors.ts';

interface Dialect {
  readonly name: string;
  readonly most: Share;
  readonly words: Words;
  /** Where it can cut a text that is too long. */
  readonly cuts: readonly ('start' | 'end')[];
  readonly hasUser?: true;
  /** The settings in its words. */
  encodeSettings(ask: Settings, lose: Lose): Fields;
}

interface Settings extends Pick<EmbeddingAsk, 'dimensions' | 'truncate' | 'user'> {
  readonly word: string | undefined;
  readonly encoding: 'float' | 'base64';
}

function encodeAsk(ask: EmbeddingAsk, { words, cuts, hasUser }: Dialect, lose: Lose): Settings {
  const { dimensions, truncate, user } = ask;
  loseTitles(ask, lose);
  if (user !== undefined && !hasUser) lose('user', 'the vendor has no such field');
  const word = findWord(ask, words, lose);
  const settings = { dimensions, user, word, encoding: chooseEncoding(ask) };
  if (truncate === undefined || truncate === 'none' || cuts.includes(truncate))
    return { ...settings, truncate };
  lose('truncate', 'the vendor does not cut texts so', 'model');
  return settings;
}

function defineDialect(dialect: Dialect): Wire<EmbeddingAsk, readonly Vector[]> {
  const { name, most } = dialect;
  const readFlags = createReader(name);
  const findShare = (model: Model): Share => getShare(readFlags(model), most);
  return {
    name,
    errors: { encodeError, decodeError },
    flags: flagsSchema,
    encode(ask, model, { lose }) {
      checkDimensions(ask, model, readFlags(model));
      const settings = dialect.encodeSettings(encodeAsk(ask, dialect, lose), lose);
      return split(requireTexts(ask, model), findShare(model)).map((input) => ({
        model: model.upstream,
        input,
        ...settings,
      }));
    },
    decode: (body, ask, part) => decodeList(body, ask, [part, findShare]),
  };
}

/** It refuses a request of more than 16,384 tokens, each of which has at least one byte. */
const mistral = defineDialect({
  name: 'mistral-embed',
  most: { inputs: 512, bytes: 16_384 },
  words: {},
  cuts: [],
  encodeSettings: ({ dimensions, encoding }) => ({ output_dimension: dimensions, encoding_format: encoding }),
});

/** Purposes for which a text is looked up with. */
const looksUp = { query: 'query', 'question-answering': 'query', 'fact-verification': 'query' } as const;

const voyage = defineDialect({
  name: 'voyage-embed',
  most: { inputs: 1000, bytes: 120_000 },
  words: { ...looksUp, 'code-query': 'query', document: 'document' },
  cuts: ['end'],
  encodeSettings: ({ dimensions, truncate, word, encoding }) => ({
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
  cuts: ['end'],
  encodeSettings: ({ dimensions, truncate, word, encoding }) => ({
    task: word,
    truncate: truncate === 'end',
    dimensions,
    embedding_type: encoding,
  }),
});

/** It needs a purpose. */
const nvidia = defineDialect({
  name: 'nvidia-embed',
  most: { inputs: 50 },
  words: { ...looksUp, 'code-query': 'query', document: 'passage' },
  cuts: ['start', 'end'],
  hasUser: true,
  encodeSettings({ dimensions, truncate = 'none', word, user, encoding }, lose) {
    if (word === undefined)
      lose('purpose', 'sent as "passage", because the vendor needs one', 'approximated');
    return {
      input_type: word ?? 'passage',
      truncate: truncate.toUpperCase(),
      dimensions,
      encoding_format: encoding,
      user,
    };
  },
});

export const dialects = [mistral, voyage, jina, nvidia];
