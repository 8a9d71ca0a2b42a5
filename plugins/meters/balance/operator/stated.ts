/**
 * Brings an account, a key or a budget to the state that a repository has: it makes what is missing and
 * changes what is different, by the operations that do so alone. So the same order again changes nothing.
 * What is not stated stays as it is, and null takes a limit away.
 */
import { z } from 'zod';
import { formatUsd } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import { setField, type Fields } from '../../../shared/operator-verbs.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { isObject } from '../../../shared/wire-kit/vendor-bag.ts';

export type Stated = Replies['PUT /admin/budgets/:budget'];
type Changes = Stated['changes'];

/** What the operations that bring something to a state have in common. */
export const stating = {
  details:
    'Makes it if it is missing, and changes what is stated and different; the same order again gets ' +
    '`changed: false`. What is not stated stays, null takes a limit away, and `dryRun` changes nothing.',
  roles: roles.manage,
  statuses: [200, 201],
};

/** Whether an order only asks what would change. */
export const dryRun = z.boolean().default(false);

interface Subject extends Pick<Stated, 'kind' | 'name' | 'dryRun'> {
  /** What is stated, as replies show it. */
  readonly after: Fields;
  /** As replies show it; undefined: there is none. */
  readonly find: () => Promise<Pick<Stated, 'id'> | undefined>;
  /** May leave what `change` can do. A key's secret is in the reply. */
  readonly make: () => Promise<object>;
  /** Gets the fields that are different. In a dry run it only throws what keeps them from being changed. */
  readonly change: (changed: Fields, known: Fields, isDry: boolean) => unknown;
}

/** What was stated, as replies show it. */
export function toShown(stated: object): Fields {
  const text = JSON.stringify(stated, (_, value: unknown) =>
    typeof value === 'bigint' ? formatUsd(value) : value,
  );
  return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
}

function listChanges(before: Fields, after: Fields, above = ''): Changes {
  return Object.entries(after).flatMap(([name, value]) => {
    const known = before[name] ?? null;
    const path = above + name;
    if (isObject(value)) return listChanges(isObject(known) ? known : {}, value, `${path}.`);
    return JSON.stringify(known) === JSON.stringify(value) ? [] : [{ path, before: known, after: value }];
  });
}

export async function applyState(subject: Subject): Promise<Stated> {
  const { after, find, make, change, ...what } = subject;
  const known = await find();
  const changes = listChanges({ ...known }, after);
  const changed = changes.reduce<Fields>(
    (fields, { path, after: value }) => setField(fields, path.split('.'), value),
    {},
  );
  if (changes.length > 0) await change(changed, { ...known }, what.dryRun || !known);
  const id = known?.id ?? null;
  const reply = { ...what, id, made: !known, changed: !known || changes.length > 0, changes };
  if (known || what.dryRun) return reply;
  const made = await make().catch(async (error: unknown) => {
    // Another process may have made it just now.
    if (await find()) return undefined;
    throw error;
  });
  const rest = await applyState(subject);
  return made ? { ...reply, id: rest.id, ...('key' in made && { key: String(made.key) }) } : rest;
}
