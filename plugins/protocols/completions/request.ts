/**
 * A request in both directions. One text is a user's message, so any model can continue it; several prompts,
 * the numbers of tokens and a suffix are for models that complete texts alone. Mistral's wire to fill in the
 * middle has fewer fields.
 */
import {
  GatewayError,
  type Block,
  type CanonicalRequest,
  type EncodedRequest,
  type Model,
} from '../../../core/index.ts';
import { fitLimit } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { collectLosses, refusePart, type Lose } from '../../shared/wire-kit/losses.ts';
import { buildLost, sendUnchanged, Settings, textOnly } from '../../shared/wire-kit/settings.ts';
import { overlay, trackReads, type Fields, type Tracked } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName, readPrompts, type Request } from './wire.ts';

/** OpenAI's default, which other vendors of the wire have too. */
export const usualLimit = 16;

interface Sending {
  readonly model: Model;
  readonly lose: Lose;
}

export const settings = new Settings<Tracked<Request>, Sending>({
  outputLimit: {
    field: 'max_tokens',
    decode: ({ seen }) => seen.max_tokens ?? usualLimit,
    fit: (limit, { model, lose }) => [fitLimit(limit, model, { least: 0, lose })],
  },
  candidates: { field: 'n', decode: ({ seen }) => seen.n, fit: sendUnchanged },
  temperature: { field: 'temperature', decode: ({ seen }) => seen.temperature, fit: sendUnchanged },
  topP: { field: 'top_p', decode: ({ seen }) => seen.top_p, fit: sendUnchanged },
  frequencyPenalty: {
    field: 'frequency_penalty',
    decode: ({ seen }) => seen.frequency_penalty || undefined,
    fit: sendUnchanged,
  },
  presencePenalty: {
    field: 'presence_penalty',
    decode: ({ seen }) => seen.presence_penalty || undefined,
    fit: sendUnchanged,
  },
  seed: {
    field: 'seed',
    decode: ({ seen }) => seen.seed,
    fit: (seed) => [typeof seed === 'string' ? JSON.rawJSON(seed) : seed],
  },
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
  user: { field: 'user', decode: ({ seen }) => seen.user, fit: sendUnchanged },
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
});

/** What only models that complete texts can read, so that any other wire refuses the call for it. */
function buildNeeded(at: string, value: Fields): Block {
  return { type: 'foreign', protocol: protocolName, value, needed: true, at };
}

export function decodeRequest(wire: Request): CanonicalRequest {
  const body = trackReads(wire);
  const { model, stream, prompt, suffix, provider: _preferences, stream_options: _options } = body.seen;
  const prompts = readPrompts(prompt) ?? [];
  const [only] = prompts;
  const blocks: Block[] =
    prompts.length === 1 && typeof only === 'string'
      ? [{ type: 'text', text: only, at: 'prompt' }]
      : [buildNeeded('prompt', { type: 'prompt', prompt })];
  if (suffix) blocks.push(buildNeeded('suffix', { type: 'suffix', suffix }));
  const decoded = settings.decode(body);
  return {
    model,
    stream: stream ?? false,
    turns: [{ role: 'user', blocks, at: 'prompt' }],
    ...decoded,
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

export function encodeRequest(
  request: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const { stream } = request;
  const body = overlay(bag.getFields(request), {
    model: model.upstream,
    ...encodePrompt(request, model),
    ...settings.encode(limitOutput(request, outputLimit, model), { model, lose }),
    ...(stream && { stream, stream_options: { include_usage: true } }),
  });
  return { body, losses: [...losses, ...listForeignFields(request, protocolName)] };
}

/** What Mistral's wire lacks of OpenAI's; the others have the same names. */
const unknownToMistral = ['n', 'logprobs', 'frequency_penalty', 'presence_penalty', 'user'];

/** https://docs.mistral.ai/api/endpoint/fim */
export function encodeForMistral(
  request: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const { prompt, suffix } = encodePrompt(request, model);
  if (typeof prompt !== 'string')
    throw new GatewayError('unsupported_parameter', `The model "${model.id}" takes one text as prompt.`, {
      param: 'prompt',
    });
  const { seed, ...encoded } = settings.encode(limitOutput(request, outputLimit, model), { model, lose });
  const fields = Object.entries(encoded).filter(([name]) => !unknownToMistral.includes(name));
  for (const [name, field] of Object.entries(settings.fieldNames))
    if (unknownToMistral.includes(field) && encoded[field] !== undefined)
      if (field !== 'n' || encoded.n !== 1) lose(name, 'the wire to fill in the middle has no such field');
  for (const name of Object.keys(bag.getFields(request)))
    lose(name, 'the wire to fill in the middle has no such field');
  const { stream } = request;
  return {
    body: {
      model: model.upstream,
      prompt,
      suffix,
      ...Object.fromEntries(fields),
      random_seed: seed,
      ...(stream && { stream }),
    },
    losses: [...losses, ...listForeignFields(request, protocolName)],
  };
}
