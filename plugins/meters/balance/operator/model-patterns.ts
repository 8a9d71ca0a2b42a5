/**
 * Refuses patterns that match no model on offer: a key limited to them could call nothing, and a markup would
 * never apply.
 */
import type { Catalog } from '../../../../core/index.ts';
import { buildRefusal } from './replies.ts';

/** Edits (insert, delete, replace) from one text to the other. */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [place, letter] of [...from].entries()) {
    const next = [place + 1];
    for (let index = 1; index <= to.length; index += 1)
      next[index] = Math.min(
        (row[index] ?? 0) + 1,
        (next[index - 1] ?? 0) + 1,
        (row[index - 1] ?? 0) + (letter === to[index - 1] ? 0 : 1),
      );
    row = next;
  }
  return row[to.length] ?? 0;
}

/** More edits than these mean another name, and not a slip. */
const mostEdits = 2;
const mostNamed = 3;
/** Characters of a pattern that are compared with names. */
const longestCompared = 100;

function matchesAny(pattern: string, ids: readonly string[]): boolean {
  const start = pattern.endsWith('*') ? pattern.slice(0, -1) : undefined;
  return ids.some((id) => (start === undefined ? id === pattern : id.startsWith(start)));
}

/**
 * The models on offer, as far as they are known: a command knows none that a provider lists itself before it
 * asks.
 */
export type Offer = Pick<Catalog, 'listModels' | 'lookAtListings'>;

/** What is wrong with a pattern that matches none of the ids. */
function describeUnknown(pattern: string, ids: readonly string[]): string {
  if (ids.length === 0) return `no model matches "${pattern}": no provider offers any`;
  const owners = [...new Set(ids.map((id) => `${id.slice(0, id.indexOf('/'))}/*`))];
  const typed = pattern.slice(0, longestCompared);
  const nearest = (pattern.endsWith('/*') ? owners : ids)
    .map((name) => ({ name, edits: countEdits(typed, name) }))
    .toSorted((one, other) => one.edits - other.edits)
    .slice(0, mostNamed);
  const near = nearest.filter(({ edits }) => edits <= mostEdits);
  const joinNames = (named: typeof near, between: string): string =>
    named.map(({ name }) => `"${name}"`).join(between);
  return near.length > 0
    ? `no model matches "${pattern}"; did you mean ${joinNames(near, ' or ')}?`
    : `no model on offer matches "${pattern}"; the nearest: ${joinNames(nearest, ', ')}`;
}

/** Throws `invalid_request` for a pattern that matches no model on offer. `param` is where it was written. */
export async function checkModelPatterns(
  patterns: readonly string[] | null | undefined,
  offer: Offer,
  param: string,
): Promise<void> {
  const findFault = (): string | undefined => {
    const ids = offer.listModels().map(({ id }) => id);
    const unknown = patterns?.find((pattern) => !matchesAny(pattern, ids));
    return unknown === undefined ? undefined : describeUnknown(unknown, ids);
  };
  if (findFault() === undefined) return;
  await offer.lookAtListings();
  const fault = findFault();
  if (fault !== undefined) throw buildRefusal('invalid_request', fault, param);
}
