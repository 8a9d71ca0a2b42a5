/**
 * A request in both directions. One text is a user's message, so any model can continue it; several prompts,
 * the numbers of tokens and a suffix are for models that complete texts alone. Mistral's wire to fill in the
 * middle has fewer fields.
 */
import { z } from 'zod';
import {
  GatewayError,
  type Block,
  type CanonicalRequest,
  type Model,
  type UpstreamSide,
} from '../../../core/index.ts';
import { allowTexts, readTexts } from '../../shared/openai/texts.ts';
import { fitLimit } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { collectLosses, refuse, refusePart, type Lose } from '../../shared/wire-kit/losses.ts';
import { providerObject } from '../../shared/wire-kit/provider-object.ts';
import { buildLost, refusal, sendUnchanged, Settings, textOnly } from '../../shared/wire-kit/settings.ts';
import {
  createBag,
  overlay,
  trackReads,
  type Fields,
  type Tracked,
} from '../../shared/wire-kit/vendor-bag.ts';
import { allowInteger, allowNumber, modelId } from '../../shared/wire-kit/wire-check.ts';

export const protocolName = 'completions';
const bag = createBag(protocolName);

const stop = z.union(
  [z.string(), z.array(z.string()).max(16)],
  'a string, or an array of at most 16 strings',
);

/** The body of a client. Unknown fields pass, `null` means unset. */
export const request = z.looseObject({
  model: modelId,
  prompt: allowTexts('a text', 'Several, and numbers of tokens, are for models that complete texts.'),
  suffix: z.string().nullish(),
  max_tokens: allowInteger(0, Number.MAX_SAFE_INTEGER).nullish(),
  temperature: allowNumber(0, 2).nullish(),
  top_p: allowNumber(0, 1).nullish(),
  n: allowInteger(1, 128).nullish(),
  best_of: allowInteger(1, 128).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: allowInteger(0, 20).nullish(),
  echo: z.boolean().nullish(),
  stop: stop.nullish(),
  frequency_penalty: allowNumber(-2, 2).nullish(),
  presence_penalty: allowNumber(-2, 2).nullish(),
  seed: z.int().nullish(),
  user: z.string().nullish(),
  provider: providerObject.nullish(),
});

export type Request = z.output<typeof request>;

/** OpenAI's default, which other vendors of the wire have too. */
export const usualLimit = 16;

/** A wire's own names of fields; undefined: it lacks the field. */
type Names = Readonly<Record<string, string | undefined>>;

interface Sending {
  readonly model: Model;
  readonly lose: Lose;
  readonly names: Names;
}

/** The row of a setting that is the value of a field. */
const useField = <Name extends string>(field: Name) => ({
  field,
  decode: ({ seen }: Tracked<Request>) => seen[field],
  fit: sendUnchanged,
});

export const settings = new Settings<Tracked<Request>, Sending>(
  {
    outputLimit: {
      field: 'max_tokens',
      decode: ({ seen }) => seen.max_tokens ?? usualLimit,
      fit: (limit, { model, lose }) => [fitLimit(limit, model, { least: 0, lose })],
    },
    // One is what every wire makes.
    candidates: { ...useField('n'), fit: (count) => [count > 1 ? count : undefined] },
    temperature: useField('temperature'),
    topP: useField('top_p'),
    // Many clients send penalties of 0, which mean none.
    frequencyPenalty: {
      ...useField('frequency_penalty'),
      decode: ({ seen }) => seen.frequency_penalty || undefined,
    },
    presencePenalty: {
      ...useField('presence_penalty'),
      decode: ({ seen }) => seen.presence_penalty || undefined,
    },
    seed: { ...useField('seed'), fit: (seed) => [typeof seed === 'string' ? JSON.rawJSON(seed) : seed] },
    stop: {
      field: 'stop',
      decode: ({ seen: { stop } }) => (typeof stop === 'string' ? [stop] : stop),
      fit: (stop) => [stop.length > 0 ? stop : undefined],
    },
    logprobs: {
      field: 'logprobs',
      decode: ({ seen: { logprobs } }) => (typeof logprobs === 'number' ? { top: logprobs } : undefined),
      fit: ({ top = 0 }) => [top],
    },
    user: useField('user'),
    modalities: textOnly,
    tools: buildLost(protocolName),
    toolChoice: buildLost(protocolName),
    parallelToolCalls: buildLost(protocolName),
    topK: buildLost(protocolName),
    reasoning: buildLost(protocolName),
    format: buildLost<CanonicalRequest['format']>(protocolName, ({ type }) => type !== 'text'),
    verbosity: buildLost(protocolName),
    image: buildLost(protocolName),
    metadata: buildLost(protocolName),
    serviceTier: buildLost(protocolName),
    cacheKey: buildLost(protocolName),
  },
  (field, { names }) => (Object.hasOwn(names, field) ? names[field] : field),
);

/** What only models that complete texts can read, so that any other wire refuses the call for it. */
function buildNeeded(at: string, value: Fields): Block {
  return { type: 'foreign', protocol: protocolName, value, needed: true, at };
}

export function decodeRequest(wire: Request): CanonicalRequest {
  const body = trackReads(wire);
  const { model, stream, prompt, suffix, provider: _preferences, stream_options: _options } = body.seen;
  const prompts = readTexts(prompt) ?? [];
  const [only] = prompts;
  const blocks: Block[] =
    prompts.length === 1 && typeof only === 'string'
      ? [{ type: 'text', text: only, at: 'prompt' }]
      : [buildNeeded('prompt', { type: 'prompt', prompt })];
  if (suffix) blocks.push(buildNeeded('suffix', { type: 'suffix', suffix }));
  return {
    model,
    stream: stream ?? false,
    turns: [{ role: 'user', blocks, at: 'prompt' }],
    ...settings.decode(body),
    ...bag.keep(body.pickRest()),
  };
}

/** The prompt and the suffix. Throws for a conversation, which these models do not hold. */
function encodePrompt({ turns }: CanonicalRequest, { id }: Model): { prompt: unknown; suffix: unknown } {
  const [turn, ...others] = turns;
  if (others.length > 0 || turn?.role !== 'user')
    throw new GatewayError(
      'invalid_request',
      `The model "${id}" completes texts and holds no conversations: send it one message of a user, or a ` +
        'prompt to /v1/completions.',
      { param: turns[0]?.at },
    );
  let prompt: unknown = '';
  let suffix: unknown;
  for (const [index, block] of turn.blocks.entries()) {
    const path = `turns[0].blocks[${index}]`;
    if (block.type === 'text') prompt = `${String(prompt)}${block.text}`;
    else if (block.type !== 'foreign' || block.protocol !== protocolName)
      refusePart(block, path, `The model "${id}" takes text only.`);
    else if (block.value.type === 'suffix') suffix = block.value.suffix;
    else prompt = block.value.prompt;
  }
  return { prompt, suffix };
}

/**
 * The request with its limit. A chat without one would get the few tokens that are usual here, so it gets
 * those that surely fit.
 */
function limitOutput(request: CanonicalRequest, granted: number | undefined, model: Model): CanonicalRequest {
  const room = Math.min(model.outputLimit, model.contextLength - JSON.stringify(request.turns).length);
  const outputLimit = granted ?? request.outputLimit ?? Math.max(usualLimit, room);
  return { ...request, outputLimit };
}

/** Mistral's names to fill in the middle of one text; https://docs.mistral.ai/api/endpoint/fim */
const mistralNames: Names = {
  seed: 'random_seed',
  n: undefined,
  logprobs: undefined,
  frequency_penalty: undefined,
  presence_penalty: undefined,
  user: undefined,
};

function createEncoder(wire: 'openai' | 'mistral'): UpstreamSide['encodeRequest'] {
  const isMistral = wire === 'mistral';
  return (request, model, granted) => {
    const { losses, lose } = collectLosses();
    const { stream } = request;
    const { prompt, suffix } = encodePrompt(request, model);
    if (isMistral && typeof prompt !== 'string')
      refuse('prompt', `The model "${model.id}" takes one text as prompt.`);
    const rest = bag.getFields(request);
    if (isMistral) for (const name of Object.keys(rest)) lose(name, refusal, 'model');
    const names = isMistral ? mistralNames : {};
    const body = overlay(isMistral ? {} : rest, {
      model: model.upstream,
      prompt,
      suffix,
      ...settings.encode(limitOutput(request, granted, model), { model, lose, names }),
      ...(stream && { stream, ...(!isMistral && { stream_options: { include_usage: true } }) }),
    });
    return { body, losses: [...losses, ...listForeignFields(request, protocolName)] };
  };
}

export const encodeRequest = createEncoder('openai');
export const encodeForMistral = createEncoder('mistral');
