/**
 * One scale of how hard a model should think, and what each step means in tokens where a protocol counts them. Every
 * protocol translates by this table, so that going there and back gives the same step.
 */

/** From least to most. The tokens are the largest budget that still counts as the step. */
export const efforts = [
  { name: 'none', budget: 0 },
  { name: 'minimal', budget: 1024 },
  { name: 'low', budget: 2048 },
  { name: 'medium', budget: 8192 },
  { name: 'high', budget: 24576 },
  { name: 'xhigh', budget: 32768 },
  { name: 'max', budget: Number.POSITIVE_INFINITY },
] as const;

function rank(name: string): number {
  return efforts.findIndex((effort) => effort.name === name);
}

/** The step that a budget of reasoning tokens amounts to. A negative budget leaves it to the model, and has no step. */
export function effortFor(budget: number): string | undefined {
  return budget < 0 ? undefined : efforts.find((effort) => budget <= effort.budget)?.name;
}

const high = rank('high');

/**
 * The allowed step nearest to the one wanted; of two equally near, the one nearer to `high`. Where nothing is known
 * about the model it is the wanted one itself. An unknown word counts as the middle step.
 */
export function nearestEffort(wanted: string, allowed: readonly string[] | undefined): string {
  if (!allowed || allowed.length === 0 || allowed.includes(wanted)) return wanted;
  const place = rank(rank(wanted) < 0 ? 'medium' : wanted);
  const known = allowed
    .filter((name) => rank(name) >= 0)
    .toSorted((first, second) => Math.abs(rank(first) - high) - Math.abs(rank(second) - high));
  return known.reduce(
    (best, name) => (Math.abs(rank(name) - place) < Math.abs(rank(best) - place) ? name : best),
    known[0] ?? wanted,
  );
}
