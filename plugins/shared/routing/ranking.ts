/**
 * How a strategy takes part in `route`. It ranks the targets of each model among themselves, if the caller
 * asks for it by name, or if the caller asks for nothing and the operator made it the default. Providers that
 * the caller put in an order stay in front, in that order.
 */
import { z } from 'zod';
import type { Host, Parsed, Preferences, Target } from '../../../core/index.ts';

type Strategy = 'priority' | 'cost' | 'latency' | 'throughput' | 'balanced';

/**
 * The order of the taps of `route`: aliases, the caller's wishes, ranks, keys, the caller's wish for only one
 * provider, health, caches, and last the wish for only one of its keys. A provider that fails is no reason to
 * go elsewhere, so that wish comes before health.
 */
export const stages = {
  aliases: -10,
  preferences: 0,
  ranking: 10,
  keys: 20,
  confine: 25,
  health: 30,
  affinity: 40,
  limit: 50,
} as const;

const sorts = { price: 'cost', latency: 'latency', throughput: 'throughput' } as const satisfies Record<
  string,
  Strategy
>;

/** The strategy that a caller asks for; undefined if the operator decides. */
export function findStrategy({ routing, sort }: Preferences): Strategy | undefined {
  return routing ?? (sort && sorts[sort]);
}

/** Gets two or more targets of one model, and returns the same targets, best first. */
type Rank = (targets: readonly Target[], parsed: Parsed) => readonly Target[];

export const strategyOptions = z.strictObject({
  /** Whether calls that name no strategy are routed this way. */
  byDefault: z.boolean().default(false),
});

/** Taps `route` for a strategy. */
export function tapRanking(
  { hooks }: Pick<Host, 'hooks'>,
  name: Strategy,
  byDefault: boolean,
  rank: Rank,
): void {
  hooks.route.tap({ name, stage: stages.ranking }, (targets, parsed) => {
    if (targets.length < 2) return targets;
    const { preferences } = parsed.call;
    const asked = findStrategy(preferences);
    if (asked === undefined ? !byDefault : asked !== name) return targets;
    // Targets of one model are adjacent: if the last has the model of the first, all have it.
    if (targets[0]?.model.id === targets.at(-1)?.model.id) return rankRest(targets, parsed, rank);
    return groupAdjacent(targets, isSameModel).flatMap((group) => rankRest(group, parsed, rank));
  });
}

/** The targets in groups of alike neighbours, in the same order. */
export function groupAdjacent(
  targets: readonly Target[],
  isAlike: (one: Target, other: Target) => boolean,
): Target[][] {
  const groups: Target[][] = [];
  for (const target of targets) {
    const group = groups.at(-1);
    if (group?.[0] && isAlike(group[0], target)) group.push(target);
    else groups.push([target]);
  }
  return groups;
}

/** Whether two targets are the same model. */
function isSameModel({ model }: Target, other: Target): boolean {
  return model.id === other.model.id;
}

/** Whether two targets differ in the key alone. */
export function isSameOffer(one: Target, other: Target): boolean {
  return isSameModel(one, other) && one.provider.name === other.provider.name;
}

function rankRest(group: readonly Target[], parsed: Parsed, rank: Rank): readonly Target[] {
  const { order } = parsed.call.preferences;
  if (!order) return group.length < 2 ? group : rank(group, parsed);
  const named = group.filter(({ provider }) => order.includes(provider.name));
  const rest = group.filter(({ provider }) => !order.includes(provider.name));
  return [...named, ...(rest.length < 2 ? rest : rank(rest, parsed))];
}

/** The same items, lowest figure first. */
export function sortLowestFirst<Each>(targets: readonly Each[], figure: (target: Each) => number): Each[] {
  return targets
    .map((target) => ({ target, value: figure(target) }))
    .toSorted((one, other) => one.value - other.value)
    .map(({ target }) => target);
}
