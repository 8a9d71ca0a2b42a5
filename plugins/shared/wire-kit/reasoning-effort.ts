/**
 * One scale of reasoning efforts, with the token budget of each step. Every protocol translates by this
 * table, so that a step survives the way to another protocol and back.
 */
import type { Reasoning } from '../../../core/index.ts';
import type { Lose } from './losses.ts';

/** From lowest to highest, each with the largest token budget that still counts as the step. */
export const efforts = [
  { name: 'none', budget: 0 },
  { name: 'minimal', budget: 1024 },
  { name: 'low', budget: 2048 },
  { name: 'medium', budget: 8192 },
  { name: 'high', budget: 24576 },
  { name: 'xhigh', budget: 32768 },
  { name: 'max', budget: Number.POSITIVE_INFINITY },
] as const;

const medium = 3;

/** Vendors have words of their own, such as "default". Each counts as "medium". */
function getRank(name: string): number {
  const rank = efforts.findIndex((effort) => effort.name === name);
  return rank < 0 ? medium : rank;
}

/** The step for a token budget; undefined for a negative one, which leaves the choice to the model. */
export function findEffort(budget: number): string | undefined {
  return budget < 0 ? undefined : efforts.find((effort) => budget <= effort.budget)?.name;
}

/** The effort that a request states, or that its budget amounts to. */
export function findWantedEffort({ effort, budget }: Reasoning): string | undefined {
  return effort ?? (budget === undefined ? undefined : findEffort(budget));
}

/** Reports the reasoning that a model without any was asked for. */
export function loseReasoning(reasoning: Reasoning, lose: Lose, reason = 'the model does not reason'): void {
  const wanted = findWantedEffort(reasoning);
  if (wanted === undefined ? reasoning.display !== 'none' : wanted !== 'none')
    lose('reasoning', reason, 'model');
}

const high = getRank('high');

/**
 * The allowed step nearest to the wanted one; of two equally near, the one nearer to `high`. Without a list
 * of allowed steps it is the wanted one.
 */
export function findNearestEffort(wanted: string, allowed: readonly string[] | undefined): string {
  if (!allowed || allowed.length === 0 || allowed.includes(wanted)) return wanted;
  const place = getRank(wanted);
  const sorted = allowed.toSorted(
    (first, second) => Math.abs(getRank(first) - high) - Math.abs(getRank(second) - high),
  );
  return sorted.reduce((best, name) =>
    Math.abs(getRank(name) - place) < Math.abs(getRank(best) - place) ? name : best,
  );
}
