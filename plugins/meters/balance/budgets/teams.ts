/**
 * The tree of accounts: each account stores the line of accounts above it, so that a call reads one row.
 */
import { deepestTeam } from './budget.ts';

/** A place of an account in the tree: below `parent`, or at the top if it is undefined. */
export interface Move {
  readonly account: string;
  readonly parent: string | undefined;
}

/** `cycle`: the parent is the account itself or below it. `deep`: the tree would have too many levels. */
export type Moved = 'moved' | 'not_found' | 'no_parent' | 'cycle' | 'deep';

type Lines = ReadonlyMap<string, readonly string[]>;

/**
 * The new lines of an account and of all accounts below it, or why it cannot move. `lines` has those of
 * the account, the parent, and all accounts below the account; extra lines do no harm.
 */
export function moveLines(lines: Lines, { account, parent }: Move): Lines | Exclude<Moved, 'moved'> {
  if (!lines.has(account)) return 'not_found';
  const above = parent === undefined ? [] : lines.get(parent);
  if (!above) return 'no_parent';
  const line = parent === undefined ? [] : [parent, ...above];
  if (line.includes(account)) return 'cycle';
  const moved = new Map<string, readonly string[]>([[account, line]]);
  for (const [name, old] of lines) {
    const place = old.indexOf(account);
    if (place >= 0) moved.set(name, [...old.slice(0, place + 1), ...line]);
  }
  return moved.values().some(({ length }) => length >= deepestTeam) ? 'deep' : moved;
}
