/** What a call was charged for, line by line, as the ledger booked it. */
import { count } from './format.ts';
import { html } from './kit.ts';
import { Amount } from './money.ts';
import { Table, type Column } from './table.ts';

interface CostLine {
  readonly kind: string;
  readonly units: number;
  readonly price: string;
  readonly per: number;
  readonly amount: string;
}

export interface Entry {
  readonly number: number;
  readonly kind: string;
  readonly at: string;
  readonly revenue: string;
  readonly rule?: string;
  readonly lines: readonly CostLine[];
  /** The exact sum of the lines. */
  readonly total: string;
}

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
  { title: 'Entry', value: ({ entry }) => entry },
  {
    title: 'Use',
    value: ({ kind }) => kind,
    cell: (row) => (isSum(row) ? html`<strong>${row.kind}</strong>` : row.kind),
  },
  { title: 'Rule', value: ({ rule }) => rule },
  {
    title: 'Quantity',
    value: ({ units }) => units,
    cell: (row) => !isSum(row) && count(row.units),
    isFigure: true,
  },
  {
    title: 'Price',
    value: ({ price }) => price,
    cell: ({ price, per }) =>
      price !== undefined &&
      html`<${Amount} usd=${price} /> <span class="dim">${per === 1 ? 'each' : 'per million'}</span>`,
    isFigure: true,
  },
  {
    title: 'Amount',
    value: ({ amount }) => amount,
    cell: (row) =>
      isSum(row)
        ? html`<strong><${Amount} usd=${row.amount} /></strong>`
        : html`<${Amount} usd=${row.amount} />`,
    isFigure: true,
  },
];

export function CostLines({ of }: { readonly of: readonly Entry[] }) {
  const rows = costRows(of);
  if (rows.length === 0) return null;
  return html`<h2>Cost lines</h2>
    <${Table} name="Cost lines" columns=${costColumns} rows=${rows} isPlain />
    <p class="dim">
      Lines are exact. The ledger rounds the sum of a call once, half to even, to a billionth of a dollar.
    </p>`;
}
