/**
 * What whole and streamed replies share: identity, the text of each candidate within the limit, and usage,
 * correct or as the scenario says.
 */
import { type Asked, type OfferedTool, improvise, saysNothing } from '../improvise.ts';
import type { Said, Scenario, UsageFigures } from '../scenario.ts';
import { countSoundTokens, countSpeechTokens, placeCitations, speak, type Speech } from '../speech.ts';
import type { ModelFacts } from './models.ts';
import type { ChatRequest } from './request.ts';
import { countPromptTokens } from './tokens.ts';

function listOfferedTools({ tools = [], tool_choice: choice }: ChatRequest): OfferedTool[] {
  if (choice === 'none') return [];
  const all = tools.map((tool): OfferedTool =>
    tool.type === 'custom'
      ? { name: tool.custom.name, freeform: true }
      : { name: tool.function.name, schema: tool.function.parameters },
  );
  if (choice === undefined || typeof choice === 'string') return all;
  if (choice.type === 'allowed_tools') {
    const allowed = JSON.stringify(choice.allowed_tools.tools);
    return all.filter(({ name }) => allowed.includes(`"name":"${name}"`));
  }
  const wanted = choice.type === 'function' ? choice.function.name : choice.custom.name;
  return all.filter(({ name }) => name === wanted);
}

function joinText(content: ChatRequest['messages'][number]['content']): string {
  if (!Array.isArray(content)) return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join(' ');
}

function listResults({ messages }: ChatRequest): Asked['results'] {
  const start = messages.findLastIndex(({ role }) => role !== 'tool');
  const before = messages[start];
  const calls = before?.role === 'assistant' ? (before.tool_calls ?? []) : [];
  const names = new Map(
    calls.map((call) => [call.id, call.type === 'function' ? call.function.name : call.custom.name]),
  );
  return messages
    .slice(start + 1)
    .flatMap((message) =>
      message.role === 'tool'
        ? [{ name: names.get(message.tool_call_id) ?? '', text: joinText(message.content) }]
        : [],
    );
}

function describeRequest(request: ChatRequest, { extensions }: ModelFacts): Asked {
  const { model, tool_choice: choice, response_format: format } = request;
  const schema =
    format?.type === 'json_schema'
      ? (format.json_schema.schema ?? true)
      : format?.type === 'json_object'
        ? true
        : undefined;
  return {
    model,
    tools: listOfferedTools(request),
    mustCall:
      choice === 'required' ||
      (typeof choice === 'object' &&
        (choice.type !== 'allowed_tools' || choice.allowed_tools.mode === 'required')),
    parallel: request.parallel_tool_calls ?? true,
    results: listResults(request),
    ...(schema === undefined ? {} : { schema }),
    // OpenAI hides its reasoning on this wire; others show it.
    reasons: extensions?.messageFields?.includes('reasoning_content') ?? false,
    searches: request.web_search_options !== undefined,
  };
}

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
    return speak(said, {
      limit,
      stops: [request.stop ?? []].flat(),
      callId: (index) => `call_${number}x${candidate}y${index}`,
    });
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

const reasons = {
  end: 'stop',
  'stop-sequence': 'stop',
  limit: 'length',
  calls: 'tool_calls',
  refusal: 'stop',
} as const;

export function getFinishReason({ reason, finish }: Speech): string {
  return reason === 'limit' ? reasons.limit : (finish ?? reasons[reason]);
}

export function buildAnnotations(speech: Speech): object[] {
  return placeCitations(speech).map(({ cited }) => ({
    type: 'url_citation',
    url_citation: cited,
  }));
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
