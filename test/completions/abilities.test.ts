/** The rows of completions on the capability page, measured with a strict vendor of each wire. */
import { z } from 'zod';
import { checkModel } from '../../core/index.ts';
import { mistral, protocol } from '../../plugins/protocols/completions/index.ts';
import { testAbilities, type Way } from '../contract/family.ts';
import { families, type Wire } from '../support/families.ts';
import { buildModelFacts } from '../support/test-provider.ts';
import { requestSchema as chatCompletions } from '../support/vendor/chat-completions/request.ts';
import { requestSchema as generateContent } from '../support/vendor/generate-content/request.ts';
import { requestSchema as messages } from '../support/vendor/messages/request.ts';
import { requestSchema as responses } from '../support/vendor/responses/request.ts';

const model = checkModel(buildModelFacts());

/** What OpenAI's older models take. */
const completion = z.strictObject({
  model: z.string(),
  prompt: z.union([z.string(), z.array(z.string()), z.array(z.int()), z.array(z.array(z.int()))]),
  suffix: z.string().optional(),
  max_tokens: z.int().min(0),
  temperature: z.number().optional(),
  n: z.int().optional(),
  best_of: z.int().optional(),
  echo: z.boolean().optional(),
  logprobs: z.int().max(5).optional(),
  logit_bias: z.record(z.string(), z.number()).optional(),
  stop: z.array(z.string()).max(4).optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  seed: z.int().optional(),
  user: z.string().optional(),
  stream: z.boolean().optional(),
  stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
});

const fillIn = completion
  .pick({ model: true, prompt: true, suffix: true, max_tokens: true, temperature: true, stop: true })
  .extend({ random_seed: z.int().optional(), stream: z.boolean().optional() });

const answerBy =
  (schema: z.ZodType): Way[1]['answer'] =>
  (body) =>
    schema.parse(body);

const buildWay = (name: Wire, schema: z.ZodType): Way => [
  families[name].protocol,
  { model: families[name].model, answer: answerBy(schema) },
];

testAbilities(protocol, [
  [protocol, { model, answer: answerBy(completion) }],
  [mistral, { model, answer: answerBy(fillIn) }],
  buildWay('chat-completions', chatCompletions),
  buildWay('responses', responses),
  buildWay('messages', messages),
  buildWay('generate-content', generateContent),
]);
