/** What a call was charged for, line by line, as the ledger booked it. */
import type { CallDetail, CostLine } from '../../../shared/replies/calls.ts';
import { buildColumn, buildFigureColumn, type Column } from './columns.ts';
import { formatCount } from './format.ts';
import { html } from './kit.ts';
import { renderUsd } from './money.ts';
import { renderTable } from './table.ts';

type Entry = CallDetail['entries'][number];

interface CostRow extends Partial<CostLine> {
  readonly entry: string;
  readonly rule: string | undefined;
}

/** The lines of each entry, and below them their sum and what was charged. */
function buildRows(entries: readonly Entry[]): CostRow[] {
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
  buildColumn('Entry', ({ entry }) => entry),
  buildColumn(
    'Use',
    ({ kind }) => kind,
    (row) => (isSum(row) ? html`<strong>${row.kind}</strong>` : row.kind),
  ),
  buildColumn('Rule', ({ rule }) => rule),
  buildFigureColumn(
    'Quantity',
    ({ units }) => units,
    ({ units }) => units !== undefined && formatCount(units),
  ),
  buildFigureColumn(
    'Price',
    ({ price }) => price,
    ({ price, per }) =>
      price !== undefined &&
      html`${renderUsd(price)} <span class="dim">${per === 1 ? 'each' : 'per million'}</span>`,
  ),
  buildFigureColumn(
    'Amount',
    ({ amount }) => amount,
    (row) => (isSum(row) ? html`<strong>${renderUsd(row.amount)}</strong>` : renderUsd(row.amount)),
  ),
];

export function renderCostLines(entries: readonly Entry[]) {
  const rows = buildRows(entries);
  if (rows.length === 0) return null;
  return html`<h2>Cost lines</h2>
    ${renderTable({ name: 'Cost lines', columns: costColumns, rows, isPlain: true })}
    <p class="dim">
      Lines are exact. The ledger rounds the sum of a call once, half to even, to a billionth of a dollar.
    </p>`;
}
