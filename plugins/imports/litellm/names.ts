/** The names that clients send: groups of deployments, their other names, and what is asked if one fails. */
import { z } from 'zod';
import type { Deployments, Member } from './deployments.ts';
import type { Source } from './source.ts';

type Shared = string | readonly { readonly model: string; readonly weight: number }[];

/** Each model once, with the weights of its deployments together; 0 if it is only a fallback. */
function share(members: readonly Member[], reserve: readonly string[]): Shared {
  const first = Math.min(...members.map(({ order }) => order));
  const weights = new Map<string, number>();
  for (const { id, weight, order } of members.toSorted((one, other) => one.order - other.order))
    weights.set(id, (weights.get(id) ?? 0) + (order === first ? weight : 0));
  for (const id of reserve) weights.set(id, weights.get(id) ?? 0);
  const models = [...weights].map(([model, weight]) => ({ model, weight }));
  return models.length === 1 ? (models[0]?.model ?? '') : models;
}

/** The names to ask if one fails: `[{ 'gpt-5.4': ['claude'] }]`, and those for all. */
function readFallbacks(source: Source, groups: Iterable<string>): Map<string, string[]> {
  const fallbacks = new Map<string, string[]>();
  const add = (name: string, to: readonly string[]): void =>
    void fallbacks.set(name, [...(fallbacks.get(name) ?? []), ...to]);
  const parts = ['router_settings', 'litellm_settings'];
  for (const part of parts)
    for (const kind of ['fallbacks', 'context_window_fallbacks'])
      for (const path of source.list([part, kind]).flatMap((each) => source.list(each)))
        add(String(path.at(-1)), source.read(path, z.array(z.string())) ?? []);
  const all = parts.flatMap((part) => source.read([part, 'default_fallbacks'], z.array(z.string())) ?? []);
  for (const name of groups) add(name, all);
  return fallbacks;
}

/** The option of `aliases()`. */
export function readNames(source: Source, { groups }: Deployments): Record<string, Shared> {
  for (const path of source.list(['router_settings', 'model_group_alias'])) {
    const meant = source.readText(path) ?? source.readText([...path, 'model']);
    groups.set(String(path.at(-1)), groups.get(meant ?? '') ?? []);
  }
  const fallbacks = readFallbacks(source, groups.keys());
  const ids = new Set([...groups.values()].flat().map(({ id }) => id));
  const names: Record<string, Shared> = {};
  for (const [name, members] of groups) {
    const to = fallbacks.get(name)?.flatMap((other) => groups.get(other) ?? []) ?? [];
    const reserve = to.map(({ id }) => id);
    const shared = share(members, reserve);
    if (ids.has(name) && shared !== name)
      source.note(['model_list'], `"${name}" is an id, so its fallbacks and weights do not apply: rename it`);
    else if (shared !== name && members.length > 0) names[name] = shared;
  }
  return names;
}
