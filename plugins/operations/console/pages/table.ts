/**
 * Tables that sort, filter, copy and export, and their columns. Rows beyond the first few hundred are shown
 * on demand.
 */
import { renderSearch } from './form.ts';
import {
  formatCount,
  formatThings,
  formatDuration,
  renderTime,
  isDecimal,
  parseUsd,
  renderUsd,
} from './format.ts';
import { useKept } from './kept.ts';
import { type ComponentChildren, copyText, html, saveFile, useMemo } from './kit.ts';
import { renderProblem, RowMenu, type Action } from './parts.ts';

type Value = string | number | boolean | null | undefined;
type Cell<Row> = (row: Row) => ComponentChildren;
type Kind = 'amount' | 'count' | 'duration' | 'figure' | 'time' | 'wide';

export interface Column<Row> {
  readonly title: string;
  /** What is sorted, filtered, copied and exported. */
  getValue(row: Row): Value;
  /** What is shown, if it is more than the value. */
  readonly renderCell?: Cell<Row> | undefined;
  readonly kind?: Kind | undefined;
}

const toNumber = (value: Value): number | null => (typeof value === 'number' ? value : null);

/** How values of a kind are shown, if not as they are. */
const formats: Partial<Record<Kind, (value: Value) => ComponentChildren>> = {
  amount: (value) => renderUsd(toText(value) || null),
  count: (value) => formatCount(toNumber(value)),
  duration: (value) => formatDuration(toNumber(value)),
  time: (value) => renderTime(toText(value), 'brief'),
};

/** Figures are aligned to the right, and wide columns have room for long texts. */
function getStyle({ kind }: Pick<Column<never>, 'kind'>): string | undefined {
  if (kind === undefined || kind === 'time') return undefined;
  return kind === 'wide' ? kind : 'figure';
}

/** Names of the members that can be shown, of those that the type names. */
type MemberOf<Row> = keyof {
  [Name in keyof Row as string extends Name ? never : Row[Name] extends Value ? Name : never]: true;
} &
  keyof Row;

function toValue(member: unknown): Value {
  const isShown = typeof member === 'string' || typeof member === 'number' || typeof member === 'boolean';
  return isShown ? member : null;
}

/**
 * A column of a member of each row, of what is made of the row, or of actions, which have no value. Its cells
 * show their values by its kind, or what `show` makes of a row.
 */
export function buildColumn<Row>(
  title: string,
  value: MemberOf<Row> | ((row: Row) => Value) | undefined,
  show?: Cell<Row> | Kind,
  kind?: Kind,
): Column<Row> {
  const getValue = typeof value === 'function' ? value : (row: Row) => value && toValue(row[value]);
  return typeof show === 'string'
    ? { title, getValue, kind: show }
    : { title, getValue, renderCell: show, kind };
}

/** The menu of what can be done with a row, which `name` names. */
export function buildActions<Row>(
  name: (row: Row) => string,
  list: (row: Row) => readonly Action[],
): Column<Row> {
  return buildColumn('', undefined, (row: Row) => html`<${RowMenu} of=${name(row)} items=${list(row)} />`);
}

interface TableProps<Row> {
  /** Names the table for screen readers, and its file. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined until they have loaded. */
  readonly rows: readonly Row[] | undefined;
  /** Why they could not be loaded. */
  readonly error?: Error | undefined;
  /** Whether these rows wait for others, which were asked for last. */
  readonly loading?: boolean;
  readonly empty?: ComponentChildren;
  /** Loads the next page, if there is one. */
  readonly loadMore?: (() => void) | undefined;
  readonly getKey?: (row: Row) => string;
  /** Marks a row. */
  readonly getClass?: (row: Row) => string | undefined;
  /** Buttons and inputs beside the filter. */
  readonly tools?: ComponentChildren;
  /** The text of the filter at first. */
  readonly search?: string;
  /** With it the table only shows rows. */
  readonly isPlain?: boolean;
  /** Whether the page has filters of its own, so that the table needs none. */
  readonly isFiltered?: boolean;
  /** Rows of one line, for long lists. */
  readonly isCompact?: boolean;
  /** Files of more than the rows that are shown, by their titles: their addresses. */
  readonly files?: Readonly<Record<string, string>> | undefined;
}

function toText(value: Value): string {
  return value === null || value === undefined ? '' : String(value);
}

function compare(one: Value, other: Value): number {
  const [a, b] = [toText(one), toText(other)];
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (isDecimal(a) && isDecimal(b))
    return Number(parseUsd(a) > parseUsd(b)) - Number(parseUsd(a) < parseUsd(b));
  return a.localeCompare(b, 'en', { numeric: true });
}

/** A CSV cell. Text that a spreadsheet would run as a formula is made harmless. */
function toCsvCell(value: Value): string {
  const text = toText(value);
  const safe = /^[=+@\t\r]|^-(?!\d+(\.\d+)?$)/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function joinRows<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  separator: string,
  cell: (value: Value) => string,
): string {
  const all = rows.map((row) => columns.map(({ getValue }) => cell(getValue(row))).join(separator));
  return [columns.map(({ title }) => cell(title)).join(separator), ...all, ''].join('\r\n');
}

const toPlainCell = (value: Value): string => toText(value).replaceAll(/[\t\r\n]+/g, ' ');
const firstRows = 200;

interface Sorting {
  readonly column: number;
  readonly isDown: boolean;
}

/** `2 down` */
function readSorting(text: string): Sorting | undefined {
  const [column, way] = text.split(' ');
  return way === undefined ? undefined : { column: Number(column), isDown: way === 'down' };
}

function filterRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  text: string,
): readonly Row[] {
  const word = text.trim().toLowerCase();
  if (word === '') return rows;
  return rows.filter((row) =>
    columns.some(({ getValue }) => toText(getValue(row)).toLowerCase().includes(word)),
  );
}

function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  by: Sorting | undefined,
): readonly Row[] {
  const column = by && columns[by.column];
  if (!column) return rows;
  const isEmpty = (row: Row): boolean => toText(column.getValue(row)) === '';
  const sorted = rows
    .filter((row) => !isEmpty(row))
    .toSorted((one, other) => compare(column.getValue(one), column.getValue(other)));
  // Empty values are the last ones in both directions.
  return [...(by.isDown ? sorted.toReversed() : sorted), ...rows.filter(isEmpty)];
}

function renderHeading<Row>(column: Column<Row>, by: Sorting | undefined, onSort: (() => void) | undefined) {
  const { title } = column;
  if (title === '')
    return html`<th scope="col" class="actions"><span class="visually-hidden">Actions</span></th>`;
  const [order, arrow] = by?.isDown ? ['descending', ' ↓'] : ['ascending', ' ↑'];
  const sort = html`<button class="sort" onClick=${onSort}>
    ${title}<span aria-hidden="true">${by && arrow}</span>
  </button>`;
  return html`<th scope="col" class=${getStyle(column) === 'figure' && 'figure'} aria-sort=${by && order}>
    ${onSort ? sort : title}
  </th>`;
}

function describeCount(shown: number, all: number, hasMore: boolean): string {
  const part = shown < all ? `${formatCount(shown)} of ` : '';
  return part + (hasMore ? `${formatCount(all)}+ rows` : formatThings(all, 'row'));
}

function renderCells<Row>(row: Row, columns: readonly Column<Row>[]) {
  return columns.map((column) => {
    const { title, getValue, renderCell, kind } = column;
    const format = (kind && formats[kind]) ?? toText;
    const shown = renderCell ? renderCell(row) : format(getValue(row));
    const style = title === '' ? 'actions' : getStyle(column);
    // On a phone each row is a card, on which each value has its name.
    return html`<td class=${style} data-label=${title}>${shown}</td>`;
  });
}

/** What a table without visible rows shows. */
function renderEmpty<Row>({ rows, error, empty, loadMore }: TableProps<Row>, filter: string) {
  if (rows === undefined && error) return null;
  if (rows === undefined) return html`<p class="empty" aria-busy="true">Loading …</p>`;
  const missing = `${loadMore ? 'No loaded row' : 'No row'} contains “${filter}”.`;
  return html`<div class="empty">${rows.length === 0 ? empty : missing}</div>`;
}

const renderMore = (title: string, act: () => void) =>
  html`<button class="more" onClick=${act}>${title}</button>`;

/** What is above a table: its filter, the page's own tools, and a menu that copies and saves its rows. */
function renderTools<Row>(
  { name, columns, rows, loadMore, tools, isFiltered, files = {} }: TableProps<Row>,
  shown: readonly Row[],
  filter: { value: string },
) {
  const file = `${name.toLowerCase().replaceAll(/\W+/g, '-')}`;
  const items = [
    ['Copy these rows', () => void copyText(joinRows(columns, shown, '\t', toPlainCell), 'Table copied')],
    ['These rows as CSV', () => saveFile(`${file}.csv`, joinRows(columns, shown, ',', toCsvCell))],
    ...Object.entries(files),
  ];
  return html`<div class="tools">
    ${!isFiltered && renderSearch(`Filter ${name.toLowerCase()}`, filter, 'filter')} ${tools}
    <span class="space"></span>
    <span class="dim" role="status">
      ${rows && describeCount(shown.length, rows.length, loadMore !== undefined)}
    </span>
    <${RowMenu} of=${name} label="Export" items=${items} />
  </div>`;
}

function Table<Row>(props: TableProps<Row>) {
  const { name, columns, rows, error, loadMore, getKey, getClass, search, isPlain, isCompact, loading } =
    props;
  const order = useKept(`order of ${name}`);
  const sorting = readSorting(order.value);
  const filter = useKept(`filter of ${name}`, search);
  const kept = useKept(`most rows of ${name}`, String(firstRows));
  const most = Number(kept.value);
  const shown = useMemo(
    () => sortRows(filterRows(rows ?? [], columns, filter.value), columns, sorting),
    [rows, filter.value, order.value, columns],
  );
  const renderColumn = (each: Column<Row>, column: number) => {
    const by = sorting?.column === column ? sorting : undefined;
    const onSort = (): void => {
      const isDown = by ? !by.isDown : getStyle(each) === 'figure';
      order.value = `${column} ${isDown ? 'down' : 'up'}`;
    };
    return renderHeading(each, by, isPlain ? undefined : onSort);
  };
  const renderRow = (each: Row, index: number) =>
    html`<tr key=${getKey?.(each) ?? index} class=${getClass?.(each)}>
      ${renderCells(each, columns)}
    </tr>`;
  const showMore = (): void => void (kept.value = String(most + firstRows));
  return html`${renderProblem(error)}
    <section
      class=${`table ${isCompact ? 'compact' : ''}`}
      aria-label=${name}
      aria-busy=${loading ? 'true' : undefined}
    >
      ${!isPlain && renderTools(props, shown, filter)}
      <div class="scroll" tabindex="0" role="region" aria-label=${`${name}, scrollable`}>
        <table>
          <thead>
            <tr>
              ${columns.map(renderColumn)}
            </tr>
          </thead>
          <tbody>
            ${shown.slice(0, most).map(renderRow)}
          </tbody>
        </table>
        ${shown.length === 0 && renderEmpty(props, filter.value)}
      </div>
      ${
        shown.length > most
          ? renderMore('Show more rows', showMore)
          : loadMore && renderMore('Load more', loadMore)
      }
    </section>`;
}

/** A table. Another `key` makes another one, with its own filter and order. */
export function renderTable<Row>(props: TableProps<Row> & { readonly key?: string }) {
  return html`<${Table} ...${props} />`;
}
