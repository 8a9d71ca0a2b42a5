/**
 * OpenAI's wire, which Mistral has for texts; https://platform.openai.com/docs/api-reference/moderations.
 * Each vendor has categories of its own, which reach the client as they are.
 */
import { z } from 'zod';
import { GatewayError, toCount, type InputSize, type Model } from '../../../core/index.ts';
import type { Wire } from '../../shared/family/wires.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import { refuse } from '../../shared/wire-kit/losses.ts';
import { providerObject, readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { matchPost } from '../../shared/wire-kit/read-call.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { isObject, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { checkWire, mediaUrl, modelId } from '../../shared/wire-kit/wire-check.ts';

const mostInputs = 1000;
const url = z.looseObject({ url: mediaUrl });
const part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image_url'), image_url: url }),
]);

const isText = (item: unknown): item is string => typeof item === 'string';
const items = z.array(z.union([z.string(), part])).min(1);

/** A list of parts is one input, and a list of texts is as many. */
const request = z.looseObject({
  model: modelId.nullish(),
  input: z.union([
    z.string(),
    items.max(mostInputs).refine((list) => list.every(isText) || !list.some(isText), 'texts, or parts'),
  ]),
  provider: providerObject.nullish(),
});

export type ModerationAsk = Pick<z.output<typeof request>, 'input'>;

/** What the vendor says of each input. */
const verdict = z.looseObject({
  flagged: z.boolean().optional(),
  categories: z.record(z.string(), z.boolean().nullable()),
  category_scores: z.record(z.string(), z.number()),
});
export type Verdicts = readonly Fields[];

/** What OpenAI takes if a call names no model. */
const usualModel = 'openai/omni-moderation-latest';

const isPicture = (item: unknown): boolean => isObject(item) && item.type === 'image_url';

/** The inputs as texts, which is all that most models take. */
export function listTexts({ input }: ModerationAsk): readonly string[] {
  if (isText(input)) return [input];
  if (input.every(isText)) return input;
  return [input.flatMap((item) => (!isText(item) && item.type === 'text' ? item.text : [])).join('\n')];
}

function measureInput(ask: ModerationAsk): InputSize {
  const texts = listTexts(ask);
  const textBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const images = isText(ask.input) ? 0 : ask.input.filter(isPicture).length;
  return { textBytes, images, mediaBytes: 0, items: texts.length };
}

function takesAsIs({ input }: ModerationAsk, model: Model): boolean {
  return isText(input) || isText(input[0]) || model.input.includes('image');
}

export const wire: Wire<ModerationAsk, Verdicts> = {
  name: 'moderations',
  errors: { encodeError, decodeError },
  client: {
    match: matchPost('/v1/moderations', '/moderations'),
    read(body) {
      const { model, input, provider, ...rest } = checkWire(request, body);
      return {
        model: model ?? usualModel,
        ask: { input },
        preferences: readPreferences(provider),
        size: measureInput({ input }),
        defaulted: model ? [] : ['model'],
        rest,
        suits: (offered) => takesAsIs({ input }, offered),
      };
    },
    *write(results, _ask, { id, model, usage: { input = 0 } }) {
      yield JSON.stringify({ id, model, results, usage: { prompt_tokens: input, total_tokens: input } });
    },
    address: { client: 'openai', path: '/v1' },
    async describeCalls() {
      const { describePost } = await import('../../shared/wire-kit/reply-schemas.ts');
      const examples = [{ model: 'demo/guard', input: 'Tea or coffee?' }];
      const body = request.meta({ title: 'ModerationRequest', examples });
      const description = "One for each input; categories are the vendor's own.";
      const results = z.array(verdict).meta({ description });
      const reply = z.looseObject({ id: z.string(), model: z.string(), results });
      const described = { body, reply: reply.meta({ title: 'ModerationResult' }) };
      return [describePost({ path: '/v1/moderations', summary: 'Judge texts and pictures', ...described })];
    },
    describeAbilities: async () => (await import('./abilities.json', { with: { type: 'json' } })).default,
  },
  encode(ask, model, { rest }) {
    const [isWhole, { input }] = [takesAsIs(ask, model), ask];
    const picture = isWhole || isText(input) ? -1 : input.findIndex(isPicture);
    if (picture >= 0)
      refuse(`input[${picture}]`, `The model "${model.id}" takes texts only: leave pictures out.`);
    return [overlay(rest, { model: model.upstream, input: isWhole ? input : listTexts(ask)[0] })];
  },
  decode(body, ask) {
    const { results, usage } = readObject(body);
    const answer = z.array(verdict).length(listTexts(ask).length).safeParse(results).data;
    if (!answer)
      throw new GatewayError('upstream_failed', 'The provider sent verdicts that could not be read.');
    const tokens = toCount(readObject(usage).prompt_tokens) ?? toCount(readObject(usage).total_tokens);
    return { answer, usage: tokens ? { input: tokens, output: 0 } : undefined };
  },
};
