/**
 * What whole and streamed replies share: identity, the text of each candidate within the limit, and usage,
 * correct or as the scenario says.
 */
import { improvise, saysNothing, type Asked } from '../improvise.ts';
import { describeRequest } from './asked.ts';
import type { ModelFacts } from './models.ts';
import type { ChatRequest } from './request.ts';
import type { Scenario, UsageFigures } from './scenario.ts';
import { countSoundTokens, speak, countSpeechTokens, type Said, type Speech } from './speech.ts';
import { countPromptTokens } from './tokens.ts';

interface Billed {
  readonly prompt: number;
  readonly completion: number;
}

export interface Composition {
  readonly identity: { readonly id: string; readonly created: number; readonly model: string };
  readonly request: ChatRequest;
  readonly facts: ModelFacts;
  readonly scenario: Scenario;
  readonly speeches: readonly Speech[];
  /** What an honest vendor would bill for the whole reply. */
  readonly billed: Billed;
  /** What the reply says of its usage. */
  readonly usage: UsageFigures | undefined;
}

function chooseWords(said: Said, asked: Asked, candidate: number): Said {
  return saysNothing(said) ? { ...improvise(asked, candidate), ...said } : said;
}

function buildHonestUsage(billed: Billed, reasoning: number, sound: number, cached = 0): UsageFigures {
  return {
    prompt_tokens: billed.prompt,
    completion_tokens: billed.completion,
    total_tokens: billed.prompt + billed.completion,
    prompt_tokens_details: { cached_tokens: Math.min(cached, billed.prompt), audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: sound,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function mergeFigures(truth: UsageFigures, figures: UsageFigures): UsageFigures {
  const merged = { ...truth, ...figures };
  const { prompt_tokens: prompt, completion_tokens: completion } = merged;
  if ('total_tokens' in figures || typeof prompt !== 'number' || typeof completion !== 'number')
    return merged;
  return { ...merged, total_tokens: prompt + completion };
}

export function compose(
  request: ChatRequest,
  facts: ModelFacts,
  scenario: Scenario,
  number: number,
): Composition {
  const limit = scenario.overrun
    ? Infinity
    : (request.max_completion_tokens ?? request.max_tokens ?? facts.outputLimit ?? Infinity);
  const asked = describeRequest(request, facts);
  const speeches = Array.from({ length: request.n ?? 1 }, (_, candidate) => {
    const said = chooseWords(scenario.candidates?.[candidate] ?? scenario, asked, candidate);
    return speak(said, `call_${number}x${candidate}y`, limit, [request.stop ?? []].flat());
  });
  const billed = {
    prompt: countPromptTokens(request),
    completion: speeches.reduce((sum, speech) => sum + countSpeechTokens(speech), 0),
  };
  const truth = buildHonestUsage(
    billed,
    speeches.reduce((sum, { reasoning }) => sum + reasoning.length, 0),
    speeches.reduce((sum, speech) => sum + countSoundTokens(speech), 0),
    scenario.cached,
  );
  const id = `chatcmpl-fake${String(number).padStart(8, '0')}`;
  return {
    identity: { id, created: Math.floor(Date.now() / 1000), model: facts.snapshot ?? request.model },
    request,
    facts,
    scenario,
    speeches,
    billed,
    usage: scenario.usage === 'missing' ? undefined : mergeFigures(truth, scenario.usage ?? {}),
  };
}

/** What every object of a reply ends with; reasoning models have no fingerprint to show. */
export function buildTrailer({ facts }: Composition): object {
  return { service_tier: 'default', system_fingerprint: facts.reasoning ? null : 'fp_0000000000' };
}

/**
 * The field for log probabilities, as a model sure of itself would give them; reasoning models have no such
 * field.
 */
export function buildLogprobs({ request, facts }: Composition, text: readonly string[]): object {
  if (facts.reasoning) return {};
  if (!request.logprobs || !text.length) return { logprobs: null };
  const content = text.map((token) => {
    const entry = { token, logprob: -0.25, bytes: [...Buffer.from(token)] };
    return { ...entry, top_logprobs: Array.from({ length: request.top_logprobs ?? 0 }, () => entry) };
  });
  return { logprobs: { content, refusal: null } };
}
