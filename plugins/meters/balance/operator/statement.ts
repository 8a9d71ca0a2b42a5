/** An account's statement, like a bank's: what it had, what came and went, and what it has. */
import { z } from 'zod';
import { formatUsd, kinds, nameKind, type Nano, type Use } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { formatTable } from '../../../shared/table.ts';
import { formatDate, isZone, findStartOfDate } from '../budgets/periods.ts';
import type { Store } from '../store.ts';
import { requireRecord, readAllCredits } from './accounts.ts';
import { formatCsv, formatUses } from './csv.ts';
import { defineOperation } from './operation.ts';
import { toIso, buildRefusal } from './replies.ts';
import { findDay, computeSpentBefore, computeSpentByDay, type Range } from './statement-days.ts';

const date = z.iso
  .date('a day is written 2027-01-31')
  .refine((text) => text >= '1970-01-01' && text < '9000-01-01', 'has to be a day since 1970');

export const statementQuery = z
  .strictObject({
    month: z
      .string()
      .regex(/^(19[7-9]\d|[2-8]\d{3})-(0[1-9]|1[0-2])$/, 'a month is written 2027-01')
      .optional(),
    from: date.optional(),
    to: date.optional(),
    zone: z.string().max(100).refine(isZone, 'a time zone is written Europe/Berlin').default('UTC'),
  })
  .refine(
    ({ month, from, to }) =>
      (month === undefined || from === undefined) && (to === undefined || from !== undefined),
    {
      message: 'say a month, or from and to (days; the second is not included)',
      path: ['month'],
    },
  );

type Query = z.output<typeof statementQuery>;

/** A date, some days or months later. */
export function addToDate(
  text: string,
  { days = 0, months = 0 }: { days?: number; months?: number },
): string {
  const [year = 0, month = 1, day = 1] = text.split('-').map(Number);
  return new Date(Date.UTC(year, month - 1 + months, day + days)).toISOString().slice(0, 10);
}

/** The current month, if the query names neither a month nor a day. */
function computeRange({ month, from, to, zone }: Query): Range {
  const current = formatDate(zone, Date.now());
  const first = from ?? `${month ?? current.slice(0, 7)}-01`;
  const last = from === undefined ? addToDate(first, { months: 1 }) : (to ?? addToDate(current, { days: 1 }));
  if (first >= last) throw buildRefusal('invalid_request', 'from: it has to be before "to"', 'from');
  return { from: findStartOfDate(zone, first), to: findStartOfDate(zone, last), zone };
}

/** What was used of each unit. */
function sumUses(uses: readonly Use[]): Use[] {
  const sums = new Map<string, Use>();
  for (const use of uses) {
    const name = nameKind(use);
    sums.set(name, { ...use, count: (sums.get(name)?.count ?? 0) + use.count });
  }
  return kinds.flatMap(({ name }) => sums.get(name) ?? []);
}

interface Line {
  /** The first moment of its day. */
  readonly day: number;
  readonly at: number;
  readonly kind: 'credit' | 'usage';
  readonly text: string;
  readonly reference: string | null;
  readonly calls: number | null;
  readonly uses: readonly Use[];
  readonly amount: Nano;
}

async function listUsageLines(store: Store, account: string, range: Range): Promise<Line[]> {
  return (await computeSpentByDay(store, account, range)).map(({ day, model, cost, posts, uses }) => ({
    day,
    at: day,
    kind: 'usage',
    text: model,
    reference: null,
    calls: posts,
    uses: sumUses(uses),
    amount: -cost,
  }));
}

async function listCreditLines(store: Store, account: string, { from, to, zone }: Range): Promise<Line[]> {
  const lines: Line[] = [];
  const credited = readAllCredits(store, { account, from, to });
  for await (const { at, source = 'credit', reason, reference = null, credits } of credited) {
    const text = reason === undefined ? source : `${source}: ${reason}`;
    const what = { kind: 'credit', text, reference, calls: null, uses: [], amount: -credits } as const;
    lines.push({ day: findDay(zone, at), at, ...what });
  }
  return lines;
}

export async function computeStatement(store: Store, account: string, query: Query) {
  const { terms } = await requireRecord(store, account);
  const range = computeRange(query);
  const { from, to, zone } = range;
  const used = await computeSpentBefore(store, account, from);
  const opening = (await store.sumCreditsBefore({ account, at: from })) - used;
  const moves = [
    ...(await listCreditLines(store, account, range)),
    ...(await listUsageLines(store, account, range)),
  ].toSorted(
    (one, other) =>
      one.day - other.day ||
      rankLine(one) - rankLine(other) ||
      one.at - other.at ||
      (one.text < other.text ? -1 : 1),
  );
  let balance = opening;
  const lines = moves.map(({ day: _day, at, amount, ...line }) => {
    balance += amount;
    return { at: toIso(at), ...line, amount: formatUsd(amount), balance: formatUsd(balance) };
  });
  const sumKind = (kind: Line['kind']): Nano =>
    moves.reduce((sum, line) => (line.kind === kind ? sum + line.amount : sum), 0n);
  return {
    account,
    currency: 'USD' as const,
    zone,
    from: toIso(from),
    to: toIso(to),
    opening: formatUsd(opening),
    closing: formatUsd(balance),
    credited: formatUsd(sumKind('credit')),
    used: formatUsd(-sumKind('usage')),
    to_invoice: terms.postpaid ? formatUsd(balance < 0n ? -balance : 0n) : null,
    lines,
  };
}

/** Within a day credits come first, since the usage of a day has no time. */
function rankLine({ kind }: Line): number {
  return kind === 'credit' ? 0 : 1;
}

type Statement = Replies['GET /admin/accounts/:account/statement'];

function formatStatementCsv({ from, to, opening, closing, to_invoice: owed, lines }: Statement): string {
  const ends = { reference: null, calls: null, amount: null, uses: null };
  return formatCsv(
    ['at', 'kind', 'text', 'reference', 'calls', 'amount', 'balance', 'uses'],
    [
      { at: from, kind: 'opening', text: 'opening balance', ...ends, balance: opening },
      ...lines.map((line) => ({ ...line, uses: formatUses(line.uses) })),
      { at: to, kind: 'closing', text: 'closing balance', ...ends, balance: closing },
      ...(owed === null ? [] : [{ ...ends, at: to, kind: 'invoice', text: 'to invoice', amount: owed }]),
    ],
  );
}

function formatStatement({ from, to, opening, closing, to_invoice: owed, lines }: Statement): string {
  const rows = lines.map(({ at, kind, text, calls, uses, amount, balance }) =>
    [at, kind, text, calls ?? '', formatUses(uses), amount, balance].map(String),
  );
  return formatTable(
    ['AT', 'KIND', 'TEXT', 'CALLS', 'USED', 'USD', 'BALANCE'],
    [
      [from, 'opening', '', '', '', '', opening],
      ...rows,
      [to, 'closing', '', '', '', '', closing],
      ...(owed === null ? [] : [[to, 'invoice', '', '', '', owed, '']]),
    ],
  );
}

export const statementOperations = [
  defineOperation({
    route: 'GET /admin/accounts/:account/statement',
    summary: 'Show what an account had, was credited and spent in a month or other range, day by day',
    roles: roles.readOwn,
    input: statementQuery,
    run: ({ store }, query, { account }) => computeStatement(store, account, query),
    csv: { name: 'statement', format: formatStatementCsv },
    verbs: {
      'accounts statement <account>': {
        flags: {
          '--month <month>': '2027-01; the current one unless given',
          '--from <day>': 'instead of a month: the first day',
          '--to <day>': 'the day after the last one',
          '--zone <zone>': 'time zone of the days, such as Europe/Berlin (UTC unless given)',
        },
        format: formatStatement,
      },
    },
  }),
];
