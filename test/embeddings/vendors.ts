/** Fake vendors of each wire, as strict as the real ones: an unknown field, or one too many, is refused. */
import { z } from 'zod';
import { checkModel, type Model } from '../../core/index.ts';
import type { FamilyVendor } from '../contract/family.ts';
import { buildModelFacts } from '../support/test-provider.ts';
import { lengths } from './clients.ts';
import { toBase64, toVector } from './vectors.ts';

const toInput: FamilyVendor['toUsage'] = (tokens) => ({ input: tokens, output: 0 });

function makeModel(wire: string, flags: object = {}): Model {
  return checkModel(
    buildModelFacts({
      id: 'house/embed',
      upstream: 'embed',
      output: ['embeddings'],
      protocols: [wire],
      capabilities: { wire: { [wire]: { dimensions: [...lengths], ...flags } } },
    }),
  );
}

function write(vector: readonly number[], encoding: string | undefined): unknown {
  return encoding === 'base64' ? toBase64(vector) : vector;
}

/** Those of the models at random, and of the catalogue. */
const dimension = z.literal([...lengths, 256, 512, 1024]).optional();
const modelName = z.string().regex(/^[\w./:-]+$/);
const texts = z.array(z.string().min(1)).min(1);

const openaiBody = z.strictObject({
  model: modelName,
  input: z.union([z.string().min(1), texts.max(2048)]),
  dimensions: dimension,
  encoding_format: z.enum(['float', 'base64']).optional(),
  user: z.string().optional(),
  x_unknown: z.number().optional(),
});

const openai: FamilyVendor = {
  model: makeModel('embeddings', { inputs: 3 }),
  answer(body, tokens) {
    const { input, dimensions, encoding_format: encoding } = openaiBody.parse(body);
    const data = [input].flat().map((each, index) => ({
      object: 'embedding',
      index,
      embedding: write(toVector(each, dimensions), encoding),
    }));
    return {
      object: 'list',
      data,
      model: 'embed',
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  },
  toUsage: toInput,
};

const cohereBody = z.strictObject({
  model: modelName,
  texts: texts.max(96),
  input_type: z.enum(['search_document', 'search_query', 'classification', 'clustering']),
  embedding_types: z.array(z.enum(['float', 'base64'])).length(1),
  output_dimension: dimension,
  truncate: z.enum(['NONE', 'START', 'END']),
});

const cohere: FamilyVendor = {
  model: makeModel('cohere-embed', { inputs: 2 }),
  answer(body, tokens) {
    const {
      texts: asked,
      embedding_types: [type = 'float'],
      output_dimension: length,
    } = cohereBody.parse(body);
    return {
      id: 'e',
      embeddings: { [type]: asked.map((each) => write(toVector(each, length), type)) },
      meta: { billed_units: { input_tokens: tokens } },
    };
  },
  toUsage: toInput,
};

const taskTypes = [
  'RETRIEVAL_QUERY',
  'RETRIEVAL_DOCUMENT',
  'SEMANTIC_SIMILARITY',
  'CLASSIFICATION',
  'CLUSTERING',
  'QUESTION_ANSWERING',
  'FACT_VERIFICATION',
  'CODE_RETRIEVAL_QUERY',
] as const;

const geminiContent = z.strictObject({
  parts: z.array(z.strictObject({ text: z.string().min(1) })).min(1),
});
const geminiSettings = {
  taskType: z.enum(taskTypes).optional(),
  title: z.string().optional(),
  outputDimensionality: dimension,
};

const geminiBody = z.strictObject({
  requests: z
    .array(
      z.strictObject({
        model: z.string().startsWith('models/'),
        content: geminiContent,
        x_unknown: z.number().optional(),
        ...geminiSettings,
      }),
    )
    .min(1)
    .max(100),
});

/** One part is its text, and several are what they are. */
function toAsked({ parts }: z.output<typeof geminiContent>): unknown {
  const [first, ...others] = parts.map(({ text }) => text);
  return others.length === 0 ? first : [first, ...others].join('\n');
}

const gemini: FamilyVendor = {
  model: makeModel('embed-content', { inputs: 2 }),
  answer(body, tokens) {
    const { requests } = geminiBody.parse(body);
    const embeddings = requests.map(({ content, outputDimensionality: length }) => ({
      values: toVector(toAsked(content), length),
    }));
    return { embeddings, usageMetadata: { promptTokenCount: tokens, promptTokensDetails: [] } };
  },
  toUsage: toInput,
};

const predictBody = z.strictObject({
  instances: z
    .array(
      z.strictObject({
        content: z.string().min(1),
        task_type: z.enum(taskTypes).optional(),
        title: z.string().optional(),
      }),
    )
    .min(1)
    .max(250),
  parameters: z.strictObject({ autoTruncate: z.boolean(), outputDimensionality: dimension }),
});

const predict: FamilyVendor = {
  model: makeModel('vertex-predict', { inputs: 2 }),
  answer(body, tokens) {
    const { instances, parameters } = predictBody.parse(body);
    const predictions = instances.map(({ content }, index) => ({
      embeddings: {
        values: toVector(content, parameters.outputDimensionality),
        statistics: { token_count: index === 0 ? tokens : 0, truncated: false },
      },
    }));
    return { predictions, metadata: { billableCharacterCount: 7 } };
  },
  toUsage: toInput,
};

/** A vendor with a body of its own and OpenAI's reply. */
function defineDialect(
  wire: string,
  flags: object,
  settings: z.ZodRawShape,
  read: (body: Readonly<Record<string, unknown>>) => { readonly length: unknown; readonly encoding: unknown },
): FamilyVendor {
  const schema = z.strictObject({ model: modelName, input: texts, ...settings });
  return {
    model: makeModel(wire, flags),
    answer(body, tokens) {
      const asked = schema.parse(body);
      const { length, encoding } = read(asked);
      const data = asked.input.map((each, index) => ({
        object: 'embedding',
        index,
        embedding: write(toVector(each, dimension.parse(length)), z.string().optional().parse(encoding)),
      }));
      return { object: 'list', data, model: 'embed', usage: { total_tokens: tokens } };
    },
    toUsage: toInput,
  };
}

const encodings = z.enum(['float', 'base64']);

const mistral = defineDialect(
  'mistral-embed',
  { bytes: 9 },
  { output_dimension: dimension, encoding_format: encodings.optional() },
  ({ output_dimension: length, encoding_format: encoding }) => ({ length, encoding }),
);

const voyage = defineDialect(
  'voyage-embed',
  { inputs: 3 },
  {
    input_type: z.enum(['query', 'document']).optional(),
    truncation: z.boolean(),
    output_dimension: dimension,
    encoding_format: z.literal('base64').optional(),
  },
  ({ output_dimension: length, encoding_format: encoding }) => ({ length, encoding }),
);

const jina = defineDialect(
  'jina-embed',
  {},
  {
    task: z
      .enum(['retrieval.query', 'retrieval.passage', 'text-matching', 'classification', 'separation'])
      .optional(),
    truncate: z.boolean(),
    dimensions: dimension,
    embedding_type: encodings,
  },
  ({ dimensions: length, embedding_type: encoding }) => ({ length, encoding }),
);

const nvidia = defineDialect(
  'nvidia-embed',
  { inputs: 2, base64: false },
  {
    input_type: z.enum(['query', 'passage']),
    truncate: z.enum(['NONE', 'START', 'END']),
    dimensions: dimension,
    encoding_format: encodings,
    user: z.string().optional(),
  },
  ({ dimensions: length, encoding_format: encoding }) => ({ length, encoding }),
);

const ollamaBody = z.strictObject({
  model: modelName,
  input: texts,
  dimensions: dimension,
  truncate: z.boolean(),
});

const ollama: FamilyVendor = {
  model: makeModel('ollama-embed', { inputs: 2 }),
  answer(body, tokens) {
    const { input, dimensions } = ollamaBody.parse(body);
    const embeddings = input.map((each) => toVector(each, dimensions));
    return { model: 'embed', embeddings, total_duration: 9, load_duration: 1, prompt_eval_count: tokens };
  },
  toUsage: toInput,
};

const titanBody = z.strictObject({
  inputText: z.string().min(1),
  dimensions: dimension,
  normalize: z.literal(true),
});

const titan: FamilyVendor = {
  model: makeModel('titan-embed'),
  answer(body, tokens) {
    const { inputText, dimensions } = titanBody.parse(body);
    return { embedding: toVector(inputText, dimensions), inputTextTokenCount: tokens };
  },
  toUsage: toInput,
};

export const vendors: Readonly<Record<string, FamilyVendor>> = {
  embeddings: openai,
  'embed-content': gemini,
  'cohere-embed': cohere,
  'vertex-predict': predict,
  'titan-embed': titan,
  'ollama-embed': ollama,
  'mistral-embed': mistral,
  'voyage-embed': voyage,
  'jina-embed': jina,
  'nvidia-embed': nvidia,
};
