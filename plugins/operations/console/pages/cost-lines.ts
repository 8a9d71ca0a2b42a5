/** What a call was charged for, line by line, as the ledger booked it. */
import type { CallDetail, CostLine } from '../../../shared/replies/calls.ts';
import { column, figureColumn, type Column } from './columns.ts';
import { count } from './format.ts';
import { html } from './kit.ts';
import { usd } from './money.ts';
import { table } from './table.ts';

type Entry = CallDetail['entries'][number];

interface CostRow extends Partial<CostLine> {
  readonly entry: string;
  readonly rule: string | undefined;
}

/** The lines of each entry, and below them their sum and what was charged. */
function costRows(entries: readonly Entry[]): CostRow[] {
  return entries.flatMap(({ number, kind, rule, lines, total, revenue }) => {
    const entry = `${number} ${kind}`;
    if (lines.length === 0) return [];
    const sums = [
      { entry, rule: undefined, kind: 'total', amount: total },
      { entry, rule: undefined, kind: 'charged', amount: revenue },
    ];
    return [...lines.map((line) => ({ ...line, entry, rule })), ...sums];
  });
}

const isSum = ({ units }: CostRow): boolean => units === undefined;

const costColumns: readonly Column<CostRow>[] = [
  column('Entry', ({ entry }) => entry),
  column(
    'Use',
    ({ kind }) => kind,
    (row) => (isSum(row) ? html`<strong>${row.kind}</strong>` : row.kind),
  ),
  column('Rule', ({ rule }) => rule),
  figureColumn(
    'Quantity',
    ({ units }) => units,
    ({ units }) => units !== undefined && count(units),
  ),
  figureColumn(
    'Price',
    ({ price }) => price,
    ({ price, per }) =>
      price !== undefined &&
      html`${usd(price)} <span class="dim">${per === 1 ? 'each' : 'per million'}</span>`,
  ),
  figureColumn(
    'Amount',
    ({ amount }) => amount,
    (row) => (isSum(row) ? html`<strong>${usd(row.amount)}</strong>` : usd(row.amount)),
  ),
];

export function costLines(entries: readonly Entry[]) {
  const rows = costRows(entries);
  if (rows.length === 0) return null;
  return html`<h2>Cost lines</h2>
    ${table({ name: 'Cost lines', columns: costColumns, rows, isPlain: true })}
    <p class="dim">
      Lines are exact. The ledger rounds the sum of a call once, half to even, to a billionth of a dollar.
    </p>`;
}
