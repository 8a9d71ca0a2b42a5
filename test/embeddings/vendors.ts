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

const dimension = z.literal(lengths).optional();
const texts = z.array(z.string().min(1)).min(1);

const openaiBody = z.strictObject({
  model: z.literal('embed'),
  input: texts.max(2048),
  dimensions: dimension,
  encoding_format: z.enum(['float', 'base64']).optional(),
  user: z.string().optional(),
  x_unknown: z.number().optional(),
});

const openai: FamilyVendor = {
  model: makeModel('embeddings', { inputs: 3 }),
  answer(body, tokens) {
    const { input, dimensions, encoding_format: encoding } = openaiBody.parse(body);
    const data = input.map((each, index) => ({
      object: 'embedding',
      index,
      embedding: write(toVector(each, dimensions), encoding),
    }));
    return {
      object: 'list',
      // The order of the list is not promised.
      data: data.toReversed(),
      model: 'embed',
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  },
  toUsage: toInput,
};

const cohereBody = z.strictObject({
  model: z.literal('embed'),
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
        model: z.literal('models/embed'),
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

export const vendors: Readonly<Record<string, FamilyVendor>> = {
  embeddings: openai,
  'embed-content': gemini,
  'cohere-embed': cohere,
  'vertex-predict': predict,
};
