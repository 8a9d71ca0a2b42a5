/**
 * Encodes reasoning as the model's generation expects it: as a token budget, or as an effort for a model that
 * decides itself. Thinking is omitted if a tool is forced, or if the reasoning at the start of a tool loop is
 * missing.
 */
import type { CanonicalRequest, Reasoning } from '../../../core/index.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import {
  efforts,
  findNearestEffort,
  findWantedEffort,
  loseReasoning,
} from '../../shared/wire-kit/reasoning-effort.ts';
import { readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import type { Encoding } from './encoding.ts';

interface EncodedThinking {
  readonly thinking?: Fields;
  readonly effort?: string | undefined;
}

interface ThinkingPlace {
  readonly limit: number;
  readonly messages: readonly Fields[];
  /** True if the model must call a tool. */
  readonly forced: boolean;
}

/** Anthropic's minimum budget in tokens. */
export const leastBudget = 1024;
const displays = { none: 'omitted', summary: 'summarized', full: 'summarized' } as const;

export function encodeThinking(
  request: CanonicalRequest,
  place: ThinkingPlace,
  encoding: Encoding,
): EncodedThinking {
  const { reasoning } = request;
  if (!reasoning) return {};
  const { style, canDisable = true } = encoding.model.capabilities.reasoning;
  const { effort, budget, display } = reasoning;
  const wanted = findWantedEffort(reasoning);
  if (style === 'none') {
    loseReasoning(reasoning, encoding.lose);
    return {};
  }
  // A client of another protocol that only hides reasoning does not request any.
  if (effort === undefined && budget === undefined && display === 'none') return {};
  if (wanted === 'none' && canDisable) return { thinking: { type: 'disabled' } };
  return style === 'budget'
    ? encodeBudget(reasoning, place, encoding)
    : encodeEffort({ ...reasoning, wanted }, encoding);
}

type WantedReasoning = Reasoning & { readonly wanted: string | undefined };

function encodeEffort(
  { effort, budget, display, wanted }: WantedReasoning,
  { model, lose }: Encoding,
): EncodedThinking {
  const sent =
    wanted === undefined
      ? undefined
      : findNearestEffort(wanted, model.capabilities.reasoning.efforts ?? adaptiveEfforts);
  const reason = sent === undefined ? 'the model decides itself' : `sent as effort "${sent}"`;
  if (effort === undefined && budget !== undefined) lose('reasoning.budget', reason, 'approximated');
  else if (sent !== wanted)
    lose(wanted === 'none' ? 'reasoning' : 'reasoning.effort', reason, 'approximated');
  // Newer models hide their reasoning by default.
  const shown = display === undefined ? 'summarized' : displays[display];
  return { thinking: { type: 'adaptive', display: shown }, effort: sent };
}

const adaptiveEfforts = ['low', 'medium', 'high', 'xhigh', 'max'];

function encodeBudget(
  { effort, budget, display }: Reasoning,
  place: ThinkingPlace,
  { lose }: Encoding,
): EncodedThinking {
  const { limit, messages, forced } = place;
  const loseThinking = (reason: string): EncodedThinking => {
    lose('reasoning', `${reason}: ${unthinking}`, 'model');
    return {};
  };
  if (forced) return loseThinking('thinking is not allowed with a forced tool');
  if (messages.at(-1)?.role === 'assistant')
    return loseThinking('thinking is not allowed if the model continues an answer');
  if (!beginsWithThoughts(messages)) return loseThinking(thoughtless);
  if (limit <= leastBudget)
    return loseThinking(`the output limit leaves no room for ${leastBudget} tokens of thinking`);
  const requested = Math.max(leastBudget, budget !== undefined && budget > 0 ? budget : findBudget(effort));
  const sent = requested < limit ? requested : Math.max(leastBudget, Math.floor((limit * 3) / 4));
  if (effort !== undefined && !efforts.some(({ name }) => name === effort))
    lose('reasoning.effort', 'unknown effort; sent as the budget of "medium"', 'approximated');
  if (budget !== undefined && sent !== budget)
    lose('reasoning.budget', `sent as ${sent} tokens`, 'approximated');
  else if (sent !== requested && Number.isFinite(requested))
    lose('reasoning.effort', `sent as a budget of ${sent} tokens, below the output limit`, 'approximated');
  return {
    thinking: { type: 'enabled', budget_tokens: sent, display: display && displays[display] },
  };
}

const unthinking = 'the model answers without thinking';
const thoughtless = 'the reasoning that led to the tool calls is missing';

/** Removes thinking from a client's own body if the reasoning at the start of its tool loop was removed. */
export function fitThinking(body: Fields, lose: Lose): Fields {
  const { thinking, ...rest } = body;
  if (!isObject(thinking) || thinking.type !== 'enabled') return body;
  if (beginsWithThoughts(readObjects(body.messages))) return body;
  lose('reasoning', `${thoughtless}: ${unthinking}`, 'model');
  return rest;
}

/** Returns the budget for an effort: that of "medium" if the effort is missing or unknown. */
function findBudget(effort = 'medium'): number {
  return efforts.find(({ name }) => name === effort)?.budget ?? findBudget();
}

const thoughts: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/** In a loop of tool calls, Anthropic requires the assistant's last message to start with its reasoning. */
function beginsWithThoughts(messages: readonly Fields[]): boolean {
  const last: unknown = messages.at(-1)?.content;
  const inLoop = Array.isArray(last) && last.some((block: Fields) => block.type === 'tool_result');
  if (!inLoop) return true;
  const answered: unknown = messages.findLast(({ role }) => role === 'assistant')?.content;
  const first: Fields | undefined = Array.isArray(answered) ? answered[0] : undefined;
  return thoughts.has(first?.type);
}
