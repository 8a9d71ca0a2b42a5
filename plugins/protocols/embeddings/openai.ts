/**
 * OpenAI's wire, which most vendors speak; https://platform.openai.com/docs/api-reference/embeddings. Its
 * SDKs ask for base64 if their callers say nothing. `input_type` and `truncate` are not OpenAI's: clients of
 * Cohere, Voyage and NVIDIA send them.
 */
import { z } from 'zod';
import { createFlagReader, GatewayError, toCount } from '../../../core/index.ts';
import type { ClientWire, ReadAnswer } from '../../shared/family/wires.ts';
import { allowTexts, mostTexts, readTexts } from '../../shared/openai/texts.ts';
import { providerObject, readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { matchPost, readLabels } from '../../shared/wire-kit/read-call.ts';
import { readList, readObject, readObjects } from '../../shared/wire-kit/values.ts';
import { overlay, pickUnread, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { allowInteger, checkWire, modelId } from '../../shared/wire-kit/wire-check.ts';
import {
  countInput,
  flagsSchema,
  getShare,
  measureInputs,
  requireTexts,
  type EmbeddingAsk,
  type Flags,
  type Input,
  type Purpose,
} from './ask.ts';
import { defineWire } from './define-wire.ts';
import { encodeVector, quicklyWritten, readVector, writeVector, type Vector } from './vectors.ts';

export const wireName = 'embeddings';
const readFlags = createFlagReader(wireName, flagsSchema);

const isEncoded = (input: Input): boolean => typeof input === 'string' || typeof input[0] === 'number';

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** The words of Cohere, Voyage, Jina and NVIDIA, and those of the gateway. */
const purposesByWord: Readonly<Record<string, Purpose>> = {
  query: 'query',
  search_query: 'query',
  document: 'document',
  passage: 'document',
  search_document: 'document',
  classification: 'classification',
  clustering: 'clustering',
  similarity: 'similarity',
};

const truncations = { NONE: 'none', START: 'start', END: 'end' } as const;

const request = z.looseObject({
  model: modelId,
  input: allowTexts('a text that is not empty', 'Numbers of tokens are for models that take them.', isText),
  dimensions: allowInteger(1, 65_536).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  input_type: z.literal(Object.keys(purposesByWord)).nullish(),
  truncate: z.enum(['NONE', 'START', 'END']).nullish(),
  user: z.string().nullish(),
  provider: providerObject.nullish(),
});

const known = new Set(Object.keys(request.shape));

const client: ClientWire<EmbeddingAsk, readonly Vector[]> = {
  match: matchPost('/v1/embeddings', '/embeddings'),
  read(body) {
    const wire = checkWire(request, body);
    const inputs: readonly Input[] = readTexts(wire.input, isText) ?? [];
    const { dimensions, encoding_format: encoding, input_type: word, truncate, user } = wire;
    const ask: EmbeddingAsk = {
      inputs,
      dimensions: dimensions ?? undefined,
      encoding: encoding ?? 'float',
      purpose: word ? purposesByWord[word] : undefined,
      truncate: truncate ? truncations[truncate] : undefined,
      user: user ?? undefined,
    };
    return {
      model: wire.model,
      ask,
      preferences: readPreferences(wire.provider),
      size: measureInputs(inputs),
      labels: readLabels(wire),
      rest: pickUnread(wire, known),
      suits: (model) => takesAsIs(ask, readFlags(model.capabilities)),
    };
  },
  fieldNames: { inputs: 'input', purpose: 'input_type' },
  *write(vectors, { encoding }, { model, usage }) {
    let text = '{"object":"list","data":[';
    for (const [index, vector] of vectors.entries()) {
      const head = `${index > 0 ? ',' : ''}{"object":"embedding","index":${index}`;
      text += `${head},"embedding":${writeVector(vector, encoding)}}`;
      if (text.length < quicklyWritten) continue;
      yield text;
      text = '';
    }
    const tokens = usage.input ?? 0;
    const counts = { prompt_tokens: tokens, total_tokens: tokens };
    yield `${text}],"model":${JSON.stringify(model)},"usage":${JSON.stringify(counts)}}`;
  },
  address: { client: 'openai', path: '/v1' },
  async describeCalls() {
    const { count, describePost } = await import('../../shared/wire-kit/reply-schemas.ts');
    const embedding = z.union([z.array(z.number()), z.string()]);
    const item = z.looseObject({ object: z.literal('embedding'), index: count, embedding });
    const reply = z.looseObject({
      object: z.literal('list'),
      data: z.array(item),
      model: z.string(),
      usage: z.looseObject({ prompt_tokens: count, total_tokens: count }),
    });
    const examples = [{ model: 'demo/embed', input: ['A lighthouse', 'A harbour'] }];
    return [
      describePost({
        path: '/v1/embeddings',
        summary: 'Make vectors of texts',
        body: request.meta({ title: 'EmbeddingRequest', examples }),
        reply: reply.meta({ title: 'EmbeddingResult' }),
      }),
    ];
  },
  describeAbilities: async () =>
    (await import('./abilities.json', { with: { type: 'json' } })).default.openai,
};

function takesAsIs({ inputs, encoding, purpose, truncate }: EmbeddingAsk, flags: Flags): boolean {
  const { tokens, base64 } = flags;
  return (
    inputs.length <= getShare({ ...flags, base64: encoding === 'base64' }, { inputs: mostTexts }).inputs &&
    (base64 || encoding === 'float') &&
    (tokens || typeof inputs[0] === 'string') &&
    purpose === undefined &&
    truncate === undefined
  );
}

/** The items in the order of their indexes, which are numbers from 0, or missing. */
function sortByIndex(items: readonly Fields[]): readonly Fields[] {
  const sorted: Fields[] = [];
  for (const [position, item] of items.entries()) {
    const index = toCount(item.index) ?? position;
    if (index >= items.length || sorted[index])
      throw new GatewayError('upstream_failed', 'The provider sent vectors whose order is not known.');
    sorted[index] = item;
  }
  return sorted;
}

/** Decodes a list of vectors in OpenAI's form. */
export function decodeList(body: unknown): ReadAnswer<readonly unknown[]> {
  const { data, usage } = readObject(body);
  const { prompt_tokens: prompt, total_tokens: total } = readObject(usage);
  return {
    answer: sortByIndex(readList(data).map(readObject)).map(({ embedding }) => embedding),
    usage: countInput(prompt) ?? countInput(total),
  };
}

export const openai = defineWire({
  name: wireName,
  client,
  most: { inputs: mostTexts },
  hasUser: true,
  selectInputs: (ask, model) =>
    readFlags(model.capabilities).tokens && ask.inputs.every(isEncoded)
      ? ask.inputs
      : requireTexts(ask, model),
  encodeBody: ({ model, flags, inputs, dimensions, encoding, user, rest }) =>
    overlay(rest, {
      model: model.upstream,
      input: inputs,
      dimensions,
      encoding_format: flags.base64 ? encoding : undefined,
      user,
    }),
  decodeBody: decodeList,
  correct(text, { encoding }) {
    // LM Studio and others write numbers whatever they are asked for. A reply without them has one list.
    if (encoding === 'float' || !text.includes('[', text.indexOf('[') + 1)) return text;
    const reply = readObject(JSON.parse(text));
    const items = readObjects(reply.data);
    if (items.every(({ embedding }) => typeof embedding === 'string')) return text;
    const data = items.map((item) => ({ ...item, embedding: encodeVector(readVector(item.embedding)) }));
    return JSON.stringify({ ...reply, data });
  },
});
