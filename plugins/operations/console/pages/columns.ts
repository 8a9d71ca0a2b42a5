/** Columns of tables: what a row has in them, and how it is shown. */
import { count, duration, when } from './format.ts';
import type { ComponentChildren } from './kit.ts';
import { usd } from './money.ts';

export type Value = string | number | boolean | null | undefined;

export interface Column<Row> {
  readonly title: string;
  /** What is sorted, filtered, copied and exported. */
  value(row: Row): Value;
  /** What is shown, if it is more than the value. */
  readonly cell?: ((row: Row) => ComponentChildren) | undefined;
  /** Figures are aligned to the right, and wide columns have room for long texts. */
  readonly kind?: 'figure' | 'wide' | undefined;
}

type Cell<Row> = (row: Row) => ComponentChildren;

/** Builds a column. The columns of times, figures and actions below have their forms. */
export function column<Row>(
  title: string,
  value: (row: Row) => Value,
  cell?: Cell<Row>,
  kind?: Column<Row>['kind'],
): Column<Row> {
  return { title, value, cell, kind };
}

export function figureColumn<Row>(title: string, value: (row: Row) => Value, cell?: Cell<Row>): Column<Row> {
  return { title, value, cell, kind: 'figure' };
}

type Figure<Row> = (row: Row) => number | null | undefined;

export function countColumn<Row>(title: string, value: Figure<Row>): Column<Row> {
  return figureColumn(title, value, (row) => count(value(row)));
}

export function durationColumn<Row>(title: string, value: Figure<Row>): Column<Row> {
  return figureColumn(title, value, (row) => duration(value(row)));
}

export function amountColumn<Row>(
  title: string,
  value: (row: Row) => string | null | undefined,
): Column<Row> {
  return figureColumn(title, value, (row) => usd(value(row)));
}

export function timeColumn<Row>(title: string, value: (row: Row) => string | null): Column<Row> {
  return column(title, value, (row) => when(value(row), 'brief'));
}

/** What can be done with a row. */
export function actionsColumn<Row>(cell: Cell<Row>): Column<Row> {
  return column('', () => null, cell);
}
