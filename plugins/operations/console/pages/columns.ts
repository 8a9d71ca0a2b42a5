/** Columns of counts and of amounts, which the tables of all pages share. */
import { count } from './format.ts';
import { html } from './kit.ts';
import { Amount } from './money.ts';
import type { Column } from './table.ts';

export function countColumn<Row>(title: string, value: (row: Row) => number | null): Column<Row> {
  return { title, value, cell: (row) => count(value(row)), isFigure: true };
}

export function amountColumn<Row>(title: string, value: (row: Row) => string | null): Column<Row> {
  return { title, value, cell: (row) => html`<${Amount} usd=${value(row)} />`, isFigure: true };
}
