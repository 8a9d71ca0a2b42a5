/** The rows of completions on the capability page, measured with a strict vendor of each wire. */
import { z } from 'zod';
import { checkModel } from '../../core/index.ts';
import { mistral, protocol } from '../../plugins/protocols/completions/index.ts';
import { testAbilities, type Way } from '../contract/family.ts';
import { families, type Wire } from '../support/families.ts';
import { buildModelFacts } from '../support/test-provider.ts';
import { requestSchema as chatCompletions } from '../support/vendor/chat-completions/request.ts';
import { completion } from '../support/vendor/completions.ts';
import { requestSchema as generateContent } from '../support/vendor/generate-content/request.ts';
import { requestSchema as messages } from '../support/vendor/messages/request.ts';
import { requestSchema as responses } from '../support/vendor/responses/request.ts';

const model = checkModel(buildModelFacts());

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
