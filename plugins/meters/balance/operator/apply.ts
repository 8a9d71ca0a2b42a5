/**
 * `tollgate apply` brings a ledger to the state that a file of a repository describes: a JSON list of
 * accounts, keys and budgets, each with its kind, its name and what it has to be.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { getMessage } from '../../../../core/index.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import type { Verbs } from '../../../shared/operator-verbs.ts';
import { statedAccount } from './agreements.ts';
import { statedBudget } from './budgets.ts';
import { statedKey } from './keys.ts';
import type { Ledger } from './operation.ts';
import type { Stated } from './stated.ts';

const operations = { account: statedAccount, key: statedKey, budget: statedBudget };
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

async function readEntries(file: string): Promise<z.output<typeof entries>> {
  try {
    return readInput(entries, JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new Error(`${file}: ${getMessage(error)}`, { cause: error });
  }
}

const outcomes = ['created', 'changed', 'unchanged'] as const;

function nameOutcome({ made, changed }: Stated): (typeof outcomes)[number] {
  if (made) return 'created';
  return changed ? 'changed' : 'unchanged';
}

/** `changed key laptop: limits.spendCap null → "5"` */
function formatOutcome(reply: Stated): string {
  const { kind, name, changes, key } = reply;
  const facts = changes.map(
    ({ path, before, after }) => `${path} ${JSON.stringify(before)} → ${JSON.stringify(after)}`,
  );
  if (key !== undefined) facts.push(`its secret, shown this once: ${key}`);
  return `${nameOutcome(reply)} ${kind} ${name}${facts.length > 0 ? `: ${facts.join(', ')}` : ''}`;
}

export const applyVerbs: Verbs<Ledger> = {
  'apply <file>': {
    description: 'bring accounts, keys and budgets to the state that a JSON file describes',
    creates: true,
    flags: { '--dry-run': 'only show what would change' },
    async run({ call, print }, { args: { file = '' }, options: { dryRun: isDry = false } }) {
      const replies: Stated[] = [];
      for (const [index, { kind, name, ...state }] of (await readEntries(file)).entries()) {
        const asked = { params: { [kind]: name }, input: { ...state, dryRun: isDry } };
        const reply = await call(operations[kind], asked).catch((error: unknown) => {
          throw new Error(`${file}: ${index} (${kind} ${name}): ${getMessage(error)}`, { cause: error });
        });
        print(formatOutcome(reply), reply);
        replies.push(reply);
      }
      const counts = Map.groupBy(replies, nameOutcome);
      const words = outcomes.map((word) => `${counts.get(word)?.length ?? 0} ${word}`);
      const text = `${words.join(', ')}${isDry ? ': nothing was written, as it was a dry run' : ''}.`;
      return { json: replies, text };
    },
  },
};
