/** The verbs that read all books, and that correct what can be computed from them. */
import { formatUsd } from '../../../../core/index.ts';
import type { RollupGap } from '../calls/rollup-repair.ts';
import { buildVerbAction } from './actions.ts';
import { formatCount, type Verb, type Work } from './verbs.ts';

const runAudit: Work = async ({ store }) => {
  const report = await store.audit();
  const { ok, entries, accounts, pending, broken, findings } = report;
  const looked = [
    formatCount(entries, 'entry', 'entries'),
    `of ${formatCount(accounts, 'account')},`,
    `${formatCount(pending, 'reservation')} pending`,
  ].join(' ');
  const lines = findings.map(({ rule, entry, account, message }) => {
    const parts = [rule, entry === undefined ? undefined : `entry ${entry}`, account, message];
    return parts.filter((part) => part !== undefined).join('  ');
  });
  const repair = findings.some(({ rule }) => rule === 'I12')
    ? ['I12 is about the sums of usage alone: `tollgate ledger repair` makes them equal the entries.']
    : [];
  const text = ok
    ? `The books are sound: ${looked}.`
    : [`The books break ${formatCount(broken, 'rule')}: ${looked}.`, ...lines, ...repair].join('\n');
  return { json: report, text, failed: !ok };
};

/** How many sums one transaction corrects: calls wait for it in SQLite. */
const mostAtOnce = 5000;
const mostShown = 20;

function describeGap({ table, place, money: [cost = 0n, , posts = 0n] }: RollupGap): string {
  const [where, at] = [place.toSpliced(2, 1), place[2]];
  const added = `${cost < 0n ? '' : '+'}${formatUsd(cost)} USD, ${posts < 0n ? '' : '+'}${posts} calls`;
  return `${new Date(Number(at)).toISOString()}  ${table}  ${where.join(' ')}  ${added}`;
}

const runRepair: Work = async ({ store, author }) => {
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
    if (corrected === 0) await store.recordAction(buildVerbAction(author, 'ledger repair', [], {}));
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
};

export const ledgerVerbs: readonly Verb[] = [
  {
    name: 'audit',
    description: 'read all books and say where they break a rule; exits with 1 where they do',
    run: runAudit,
  },
  {
    name: 'ledger repair',
    description: 'correct sums of usage that differ from the entries (I12), while gateways run',
    run: runRepair,
  },
];
