/** The audit of all books, and the repair of what can be computed from them. */
import { formatUsd, type Command, type CommandResult } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import type { RollupGap } from '../calls/rollup-repair.ts';
import type { Action, Store } from '../store.ts';
import { buildVerbAction } from './actions.ts';
import { defineOperation, formatCount } from './operation.ts';

function formatAudit({
  ok,
  entries,
  accounts,
  pending,
  broken,
  findings,
}: Replies['GET /admin/audit']): string {
  const looked = [
    formatCount(entries, 'entry', 'entries'),
    `of ${formatCount(accounts, 'account')},`,
    `${formatCount(pending, 'reservation')} pending`,
  ].join(' ');
  if (ok) return `The books are sound: ${looked}.`;
  const lines = findings.map(({ rule, entry, account, message }) => {
    const parts = [rule, entry === undefined ? undefined : `entry ${entry}`, account, message];
    return parts.filter((part) => part !== undefined).join('  ');
  });
  const repair = findings.some(({ rule }) => rule === 'I12')
    ? ['I12 is about the sums of usage alone: `tollgate ledger repair` makes them equal the entries.']
    : [];
  return [`The books break ${formatCount(broken, 'rule')}: ${looked}.`, ...lines, ...repair].join('\n');
}

export const auditOperations = [
  defineOperation({
    route: 'GET /admin/audit',
    summary: 'Audit all books',
    roles: roles.read,
    run: ({ store }) => store.audit(),
    verbs: [
      {
        name: 'audit',
        description: 'read all books and say where they break a rule; exits with 1 where they do',
        format: formatAudit,
        isFault: ({ ok }) => !ok,
      },
    ],
  }),
];

/** How many sums one transaction corrects: calls wait for it in SQLite. */
const mostAtOnce = 5000;
const mostShown = 20;

function describeGap({ table, place, money: [cost = 0n, , posts = 0n] }: RollupGap): string {
  const [where, at] = [place.toSpliced(2, 1), place[2]];
  const added = `${cost < 0n ? '' : '+'}${formatUsd(cost)} USD, ${posts < 0n ? '' : '+'}${posts} calls`;
  return `${new Date(Number(at)).toISOString()}  ${table}  ${where.join(' ')}  ${added}`;
}

async function repairSums(store: Store, action: Action): Promise<CommandResult> {
  let corrected = 0;
  const shown: string[] = [];
  for (let isDone = false; !isDone;) {
    const found = await store.findGaps({ limit: mostAtOnce });
    const { gaps } = found;
    isDone = gaps.length < mostAtOnce;
    if (gaps.length === 0) break;
    if (!(await store.closeGaps({ ...found, at: Date.now() }))) {
      isDone = false;
      continue;
    }
    if (corrected === 0) await store.recordAction(action);
    corrected += gaps.length;
    for (const gap of gaps.slice(0, mostShown - shown.length)) shown.push(describeGap(gap));
  }
  const more = corrected > shown.length ? [`and ${corrected - shown.length} more`] : [];
  return {
    json: { corrected },
    text:
      corrected === 0
        ? 'All sums of usage equal the entries.'
        : [
            ...shown,
            ...more,
            `${formatCount(corrected, 'sum of usage was', 'sums of usage were')} corrected.`,
            '`tollgate audit` checks them.',
          ].join('\n'),
  };
}

/** Corrects sums in the database, so it has no operation. */
export function createRepairCommand(author: string, open: () => Promise<Store>): Command {
  return {
    name: 'ledger repair',
    description: 'correct sums of usage that differ from the entries (I12), while gateways run',
    async run() {
      const store = await open();
      try {
        return await repairSums(store, buildVerbAction(author, 'ledger repair', [], {}));
      } finally {
        await store.close();
      }
    },
  };
}
