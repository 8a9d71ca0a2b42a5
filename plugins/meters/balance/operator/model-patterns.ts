/** Catches misspelt models in a key's limits: a key for a model that does not exist could call nothing. */
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

function matchesAny(pattern: string, ids: readonly string[]): boolean {
  const start = pattern.endsWith('*') ? pattern.slice(0, -1) : undefined;
  return ids.some((id) => (start === undefined ? id === pattern : id.startsWith(start)));
}

/**
 * Throws `invalid_request` for a pattern that matches no model and is nearly the name of one. Other unknown
 * names pass: their provider may be off, or may not have listed its models yet.
 */
export function checkModelPatterns(
  patterns: readonly string[] | null | undefined,
  ids: readonly string[],
): void {
  const owners = [...new Set(ids.map((id) => `${id.slice(0, id.indexOf('/'))}/*`))];
  for (const pattern of patterns ?? []) {
    if (matchesAny(pattern, ids)) continue;
    const near = (pattern.endsWith('/*') ? owners : ids)
      .map((name) => ({ name, edits: countEdits(pattern, name) }))
      .filter(({ edits }) => edits <= mostEdits)
      .toSorted((one, other) => one.edits - other.edits)
      .slice(0, mostNamed);
    if (near.length > 0)
      throw buildRefusal(
        'invalid_request',
        `no model matches "${pattern}"; did you mean ${near.map(({ name }) => `"${name}"`).join(' or ')}?`,
        'limits.models',
      );
  }
}
