/** Columns of tables: what a row has in them, and how it is shown. */
import { formatCount, formatDuration, renderTime } from './format.ts';
import type { ComponentChildren } from './kit.ts';
import { renderUsd } from './money.ts';

export type Value = string | number | boolean | null | undefined;

export interface Column<Row> {
  readonly title: string;
  /** What is sorted, filtered, copied and exported. */
  getValue(row: Row): Value;
  /** What is shown, if it is more than the value. */
  readonly renderCell?: ((row: Row) => ComponentChildren) | undefined;
  /** Figures are aligned to the right, and wide columns have room for long texts. */
  readonly kind?: 'figure' | 'wide' | undefined;
}

type Cell<Row> = (row: Row) => ComponentChildren;

/** Builds a column. Times, figures and actions have builders of their own below. */
export function buildColumn<Row>(
  title: string,
  getValue: (row: Row) => Value,
  renderCell?: Cell<Row>,
  kind?: Column<Row>['kind'],
): Column<Row> {
  return { title, getValue, renderCell, kind };
}

export function buildFigureColumn<Row>(
  title: string,
  getValue: (row: Row) => Value,
  renderCell?: Cell<Row>,
): Column<Row> {
  return { title, getValue, renderCell, kind: 'figure' };
}

type Figure<Row> = (row: Row) => number | null | undefined;

export function buildCountColumn<Row>(title: string, getValue: Figure<Row>): Column<Row> {
  return buildFigureColumn(title, getValue, (row) => formatCount(getValue(row)));
}

export function buildDurationColumn<Row>(title: string, getValue: Figure<Row>): Column<Row> {
  return buildFigureColumn(title, getValue, (row) => formatDuration(getValue(row)));
}

export function buildAmountColumn<Row>(
  title: string,
  getValue: (row: Row) => string | null | undefined,
): Column<Row> {
  return buildFigureColumn(title, getValue, (row) => renderUsd(getValue(row)));
}

export function buildTimeColumn<Row>(title: string, getValue: (row: Row) => string | null): Column<Row> {
  return buildColumn(title, getValue, (row) => renderTime(getValue(row), 'brief'));
}

/** What can be done with a row. */
export function buildActionsColumn<Row>(renderCell: Cell<Row>): Column<Row> {
  return buildColumn('', () => null, renderCell);
}
