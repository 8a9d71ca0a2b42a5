/**
 * `tollgate apply` brings a ledger to the state that a file of a repository describes: a JSON list of
 * accounts, keys and budgets, each with its kind, its name and what it has to be.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { getMessage } from '../../../../core/index.ts';
import type { OperatorClient, Verbs } from '../../../shared/operator-verbs.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import type { Ledger } from './operation.ts';
import { statedAccount, statedBudget, statedKey } from './stated.ts';

type Stated = Replies['PUT /admin/budgets/:budget'];

const kinds = ['account', 'key', 'budget'] as const;
const entries = z
  .array(
    z.looseObject({
      kind: z.enum(kinds, `a kind is one of ${kinds.join(', ')}`),
      name: z.string('it needs a name').min(1, 'it needs a name'),
    }),
    'it has to be a list',
  )
  .max(10_000, 'at most 10000 at once');

type Entry = z.output<typeof entries>[number];

async function readEntries(file: string): Promise<readonly Entry[]> {
  try {
    const { data, error } = entries.safeParse(JSON.parse(await readFile(file, 'utf8')));
    if (data) return data;
    const faults = error.issues.map(({ path, message }) =>
      [path.join('.'), message].filter(Boolean).join(': '),
    );
    throw new Error(faults.slice(0, 10).join('; '));
  } catch (error) {
    throw new Error(`${file}: ${getMessage(error)}`, { cause: error });
  }
}

function applyEntry(
  { call }: OperatorClient<Ledger>,
  { kind, name, ...state }: Entry,
  dryRun: boolean,
): Promise<Stated> {
  const input = { ...state, dryRun };
  if (kind === 'account') return call(statedAccount, { params: { account: name }, input });
  if (kind === 'key') return call(statedKey, { params: { key: name }, input });
  return call(statedBudget, { params: { budget: name }, input });
}

const outcomes = ['created', 'changed', 'unchanged'] as const;

function nameOutcome({ made, changed }: Stated): (typeof outcomes)[number] {
  if (made) return 'created';
  return changed ? 'changed' : 'unchanged';
}

const quote = (value: unknown): string => JSON.stringify(value) ?? 'null';

/** `changed key laptop: limits.spendCap null → "5"` */
function formatOutcome(reply: Stated): string {
  const { kind, name, changes, key } = reply;
  const all = changes.map(({ path, before, after }) => `${path} ${quote(before)} → ${quote(after)}`);
  const secret = key === undefined ? [] : [`its secret, shown this once: ${key}`];
  const facts = [...all, ...secret].join(', ');
  return `${nameOutcome(reply)} ${kind} ${name}${facts === '' ? '' : `: ${facts}`}`;
}

export const applyVerbs: Verbs<Ledger> = {
  'apply <file>': {
    description: 'bring accounts, keys and budgets to the state that a JSON file describes',
    creates: true,
    flags: { '--dry-run': 'only show what would change' },
    async run(client, { args: { file = '' }, options }) {
      const isDry = options.dryRun === true;
      const replies: Stated[] = [];
      for (const [index, entry] of (await readEntries(file)).entries()) {
        const reply = await applyEntry(client, entry, isDry).catch((error: unknown) => {
          const place = `${file}: ${index} (${entry.kind} ${entry.name})`;
          throw new Error(`${place}: ${getMessage(error)}`, { cause: error });
        });
        client.print(formatOutcome(reply), reply);
        replies.push(reply);
      }
      const counts = Map.groupBy(replies, nameOutcome);
      const words = outcomes.map((word) => `${counts.get(word)?.length ?? 0} ${word}`);
      const text = `${words.join(', ')}${isDry ? ': nothing was written, as it was a dry run' : ''}.`;
      return { json: replies, text };
    },
  },
};
