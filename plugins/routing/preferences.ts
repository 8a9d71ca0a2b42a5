/**
 * The caller's own routing: the `provider` object of a request. It filters and orders the targets the catalogue
 * gives, by name and by price; what needs knowledge of latency or load is refused until a plugin has it.
 */
import { z } from 'zod';
import { definePlugin, GatewayError, parseUsd, type Preferences, type Target } from '../../core/index.ts';

function refuse(field: string, value: string): never {
  throw new GatewayError('unsupported_parameter', `This gateway cannot route by "${value}"; use "priority", "cost", or leave it out.`, { param: `provider.${field}` });
}

/** Price of a typical call, three parts of input to one of output, to compare targets by. */
function typicalPrice({ price }: Target): bigint {
  return 3n * price.input + price.output;
}

function inOrder(targets: readonly Target[], order: readonly string[]): Target[] {
  const rank = ({ provider }: Target): number => (order.includes(provider.name) ? order.indexOf(provider.name) : order.length);
  return targets.toSorted((first, second) => rank(first) - rank(second));
}

function isWithin(rate: bigint, most: string | undefined): boolean {
  return most === undefined || rate <= parseUsd(most);
}

function isAffordable({ price }: Target, limit: NonNullable<Preferences['max_price']>): boolean {
  return isWithin(price.input, limit.prompt) && isWithin(price.output, limit.completion);
}

/** The targets that the preferences leave, in the order they ask for. Throws where they ask for what is not to be had. */
export function applyPreferences(targets: readonly Target[], wanted: Preferences): Target[] {
  if (wanted.routing === 'latency' || wanted.routing === 'balanced') refuse('routing', wanted.routing);
  if (wanted.sort === 'latency' || wanted.sort === 'throughput') refuse('sort', wanted.sort);
  const left = targets.filter(
    (target) =>
      (wanted.only === undefined || wanted.only.includes(target.provider.name)) &&
      !wanted.ignore?.includes(target.provider.name) &&
      (wanted.max_price === undefined || isAffordable(target, wanted.max_price)),
  );
  const byPrice = wanted.routing === 'cost' || wanted.sort === 'price';
  const ranked = byPrice ? left.toSorted((first, second) => Number(typicalPrice(first) - typicalPrice(second))) : left;
  return inOrder(ranked, wanted.order ?? []);
}

export const preferences = definePlugin({
  name: 'preferences',
  options: z.strictObject({}),
  apply(host) {
    host.hooks.route.tapPromise('preferences', async (targets, { call, protocol }) => {
      const wanted = call.preferences;
      const fallbacks = (wanted.fallback ?? []).map((model) => {
        const others = host.targetsFor(model, protocol);
        if (others.length === 0) throw new GatewayError('model_not_found', `The fallback model "${model}" does not exist.`, { param: 'provider.fallback' });
        return applyPreferences(others, wanted);
      });
      const left = [applyPreferences(targets, wanted), ...fallbacks].flat();
      if (targets.length > 0 && left.length === 0) {
        throw new GatewayError('model_not_found', 'The `provider` object of the request leaves no provider for this model.', { param: 'provider' });
      }
      return wanted.allow_fallbacks === false ? left.slice(0, 1) : left;
    });
  },
});
