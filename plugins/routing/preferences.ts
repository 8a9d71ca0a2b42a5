/**
 * The `provider` object of a request, by which callers route their own calls. This plugin adds the models to
 * fall back to, leaves out targets, and moves those in front that the caller names. Ranking by price or speed
 * is left to the plugin of that name.
 */
import {
  getAskedMode,
  definePlugin,
  GatewayError,
  findRate,
  getModeRates,
  getTerms,
  kinds,
  places,
  scaleDecimal,
  type ClientCall,
  type Host,
  type Parsed,
  type Preferences,
  type Table,
  type Target,
  type Terms,
} from '../../core/index.ts';
import { findStrategy, isSameOffer, sortLowestFirst, stages } from '../shared/routing/ranking.ts';
import { noPreferences } from '../shared/wire-kit/provider-object.ts';

/** Throws if two wishes contradict each other, or no plugin of this gateway can fulfil one. */
function checkRanking(wanted: Preferences, { plugins }: Host): void {
  const { routing, sort } = wanted;
  const strategy = findStrategy(wanted);
  if (strategy === undefined) return;
  const field = routing ? 'routing' : 'sort';
  if (routing && sort && findStrategy({ sort }) !== routing) {
    throw new GatewayError(
      'invalid_request',
      `"provider.sort" is "${sort}", and "provider.routing" is "${routing}": send one of the two.`,
      { param: 'provider.sort' },
    );
  }
  if (strategy === 'priority' || plugins.has(strategy)) return;
  throw new GatewayError(
    'unsupported_parameter',
    `This gateway cannot route by "${routing ?? sort}": its plugin "${strategy}" is not switched on.`,
    { param: `provider.${field}` },
  );
}

/** Units that have another name in `max_price`. */
const words: ReadonlyMap<string, string> = new Map([
  ['input', 'prompt'],
  ['output', 'completion'],
]);

/**
 * All rates that a call may be charged at. Tiers that need more tokens than the call has bytes cannot apply.
 */
function listTables(call: ClientCall, terms: Terms): Table[] {
  const served = getModeRates(terms, getAskedMode(call)) ?? terms;
  return [terms, served, ...terms.tiers, ...(served.tiers ?? [])].filter(
    (table) => !('above' in table) || call.size.textBytes > table.above,
  );
}

function isAffordable(
  { price, schedule }: Target,
  call: ClientCall,
  limit: NonNullable<Preferences['max_price']>,
): boolean {
  const met = schedule?.listPossibleRules(Date.now()) ?? [undefined];
  return met.every((rule) => {
    const terms = getTerms(price, rule);
    const tables = listTables(call, terms);
    return kinds.every((kind) => {
      const most = limit[words.get(kind.name) ?? kind.name];
      return (
        most === undefined ||
        tables.every((table) => (findRate([table, terms], kind)?.value ?? 0n) <= scaleDecimal(most, places))
      );
    });
  });
}

/** The targets that the caller's wishes allow. Those in the caller's order come first. */
function filterTargets(targets: readonly Target[], { call }: Parsed): Target[] {
  const { only, ignore, order, max_price: most } = call.preferences;
  const left = targets.filter(
    (target) =>
      (only === undefined || only.includes(target.provider.name)) &&
      !ignore?.includes(target.provider.name) &&
      (most === undefined || isAffordable(target, call, most)),
  );
  if (!order) return left;
  return sortLowestFirst(left, ({ provider: { name } }) =>
    order.includes(name) ? order.indexOf(name) : order.length,
  );
}

/** The first target, with those that differ in the key alone. */
function filterAlike(targets: readonly Target[]): readonly Target[] {
  const [first] = targets;
  return targets.filter((target) => first && isSameOffer(first, target));
}

export const preferences = definePlugin({
  name: 'preferences',
  apply(host) {
    const { hooks, catalog } = host;
    hooks.route.tap(
      { name: 'preferences', stage: stages.preferences, because: 'the request leaves it out' },
      (targets, parsed) => {
        const { call, protocol } = parsed;
        const wanted = call.preferences;
        if (wanted === noPreferences) return targets;
        checkRanking(wanted, host);
        const others = new Set(wanted.allow_fallbacks === false ? [] : wanted.fallback);
        others.delete(call.model);
        const fallbacks = [...others].map((model) => {
          const found = host.findTargets(model, protocol);
          if (found.length === 0) throw catalog.buildMissingError(model, 'provider.fallback');
          return filterTargets(found, parsed);
        });
        const left = [filterTargets(targets, parsed), ...fallbacks].flat();
        if (targets.length > 0 && left.length === 0) {
          throw new GatewayError(
            'model_not_found',
            'The `provider` object of the request leaves no provider for this model.',
            { param: 'provider' },
          );
        }
        return left;
      },
    );
    const because = 'the request allows no fallback';
    hooks.route.tap({ name: 'preferences', stage: stages.confine, because }, (targets, { call }) =>
      call.preferences.allow_fallbacks === false ? filterAlike(targets) : targets,
    );
    hooks.route.tap({ name: 'preferences', stage: stages.limit, because }, (targets, { call }) =>
      call.preferences.allow_fallbacks === false ? targets.slice(0, 1) : targets,
    );
  },
});
