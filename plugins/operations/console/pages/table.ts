/** Tables that sort, filter, copy and export. Rows beyond the first few hundred are shown on demand. */
import { type ComponentChildren, copyText, html, saveFile, useMemo, useSignal, takeText } from './kit.ts';
import { isDecimal, nano } from './money.ts';

type Value = string | number | boolean | null | undefined;

export interface Column<Row> {
  readonly title: string;
  /** What is sorted, filtered, copied and exported. */
  value(row: Row): Value;
  /** What is shown, if it is more than the value. */
  cell?(row: Row): ComponentChildren;
  /** Whether its cells are figures, aligned to the right. */
  readonly isFigure?: boolean;
  /** Long texts get more room. */
  readonly isWide?: boolean;
}

interface TableProps<Row> {
  /** Names the table for screen readers, and its file. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined until they have come. */
  readonly rows: readonly Row[] | undefined;
  /** Why they did not come. The page says it above the table, which stays empty. */
  readonly error?: Error | undefined;
  readonly empty: ComponentChildren;
  /** Loads the next page, if there is one. */
  readonly more?: (() => void) | undefined;
  readonly rowKey?: (row: Row) => string;
  /** Marks a row. */
  readonly rowClass?: (row: Row) => string | undefined;
  /** Buttons and inputs beside the filter. */
  readonly tools?: ComponentChildren;
  /** Without it the table only shows rows. */
  readonly isPlain?: boolean;
}

function textOf(value: Value): string {
  return value === null || value === undefined ? '' : String(value);
}

function compare(one: Value, other: Value): number {
  const [a, b] = [textOf(one), textOf(other)];
  if (a === '' || b === '') return Number(a === '') - Number(b === '');
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (isDecimal(a) && isDecimal(b)) return Number(nano(a) > nano(b)) - Number(nano(a) < nano(b));
  return a.localeCompare(b, 'en', { numeric: true });
}

/** A cell of CSV. Text that a spreadsheet would run as a formula is made harmless. */
function csvCell(value: Value): string {
  const text = textOf(value);
  const safe = /^[=+@\t\r]|^-(?!\d+(\.\d+)?$)/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function lines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  separator: string,
  cell: (value: Value) => string,
): string {
  const all = rows.map((row) => columns.map(({ value }) => cell(value(row))).join(separator));
  return [columns.map(({ title }) => cell(title)).join(separator), ...all, ''].join('\r\n');
}

const plainCell = (value: Value): string => textOf(value).replaceAll(/[\t\r\n]+/g, ' ');
const firstRows = 200;

interface Sorting {
  readonly column: number;
  readonly isDown: boolean;
}

function select<Row>(rows: readonly Row[], columns: readonly Column<Row>[], text: string): readonly Row[] {
  const word = text.trim().toLowerCase();
  if (word === '') return rows;
  return rows.filter((row) => columns.some(({ value }) => textOf(value(row)).toLowerCase().includes(word)));
}

function sort<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  by: Sorting | undefined,
): readonly Row[] {
  const column = by && columns[by.column];
  if (!column) return rows;
  const sorted = rows.toSorted((one, other) => compare(column.value(one), column.value(other)));
  return by.isDown ? sorted.toReversed() : sorted;
}

function classOf<Row>({ title, isFigure, isWide }: Column<Row>): string {
  if (isFigure) return 'figure';
  if (isWide) return 'wide';
  return title === '' ? 'actions' : '';
}

interface HeadingProps {
  readonly column: Column<unknown>;
  readonly isPlain: boolean;
  readonly by: Sorting | undefined;
  readonly onSort: () => void;
}

function Heading({ column, isPlain, by, onSort }: HeadingProps) {
  const { title } = column;
  const [order, arrow] = by?.isDown ? ['descending', ' ↓'] : ['ascending', ' ↑'];
  return html`<th
    scope="col"
    class=${classOf({ ...column, isWide: false })}
    aria-sort=${by ? order : undefined}
  >
    ${
      isPlain || title === ''
        ? title || html`<span class="visually-hidden">Actions</span>`
        : html`<button class="sort" onClick=${onSort}>
            ${title}<span aria-hidden="true">${by ? arrow : ''}</span>
          </button>`
    }
  </th>`;
}

/** Buttons that copy and save what a table shows. */
function Exports<Row>({ name, columns, rows }: Required<Pick<TableProps<Row>, 'name' | 'columns' | 'rows'>>) {
  const file = `${name.toLowerCase().replaceAll(/\W+/g, '-')}.csv`;
  const text = (separator: string, cell: (value: Value) => string): string =>
    lines(columns, rows ?? [], separator, cell);
  return html`<button class="quiet" onClick=${() => copyText(text('\t', plainCell), 'Table copied')}>
      Copy
    </button>
    <button class="quiet" onClick=${() => saveFile(file, text(',', csvCell))}>CSV</button>`;
}

function describeCount(shown: number, all: number, hasMore: boolean): string {
  const part = shown < all ? `${shown} of ` : '';
  return `${part}${all}${hasMore ? '+' : ''} ${all === 1 ? 'row' : 'rows'}`;
}

function rowOf<Row>(row: Row, columns: readonly Column<Row>[]) {
  return columns.map((column) => {
    const { value, cell } = column;
    return html`<td class=${classOf(column)}>${cell ? cell(row) : textOf(value(row))}</td>`;
  });
}

interface NothingProps {
  readonly of: Pick<TableProps<unknown>, 'rows' | 'error' | 'empty'>;
  readonly filter: string;
}

/** What a table says that shows no row. */
function Nothing({ of: { rows, error, empty }, filter }: NothingProps) {
  if (rows === undefined && error) return null;
  if (rows === undefined) return html`<p class="empty" aria-busy="true">Loading …</p>`;
  if (rows.length === 0) return html`<div class="empty">${empty}</div>`;
  return html`<p class="empty">No row contains “${filter}”.</p>`;
}

const button = (title: string, act: () => void) =>
  html`<button class="more" onClick=${act}>${title}</button>`;

export function Table<Row>(props: TableProps<Row>) {
  const { name, columns, rows, more, rowKey, rowClass, tools, isPlain = false } = props;
  const sorting = useSignal<Sorting | undefined>(undefined);
  const filter = useSignal('');
  const most = useSignal(firstRows);
  const shown = useMemo(
    () => sort(select(rows ?? [], columns, filter.value), columns, sorting.value),
    [rows, filter.value, sorting.value, columns],
  );
  const sortBy = (column: number, { isFigure = false }: Column<Row>): void => {
    const by = sorting.value;
    sorting.value = { column, isDown: by?.column === column ? !by.isDown : isFigure };
  };
  const showMore = (): void => void (most.value += firstRows);
  const heading = (column: Column<Row>, index: number) => {
    const by = sorting.value?.column === index ? sorting.value : undefined;
    const onSort = (): void => sortBy(index, column);
    return html`<${Heading} column=${column} isPlain=${isPlain} by=${by} onSort=${onSort} />`;
  };
  return html`<section class="table" aria-label=${name}>
    ${
      !isPlain &&
      html`<div class="tools">
        <input
          type="search"
          class="filter"
          placeholder="Filter"
          aria-label=${`Filter ${name.toLowerCase()}`}
          value=${filter}
          onInput=${takeText((text) => (filter.value = text))}
        />
        ${tools}
        <span class="space"></span>
        <span class="dim" role="status">
          ${rows && describeCount(shown.length, rows.length, more !== undefined)}
        </span>
        <${Exports} name=${name} columns=${columns} rows=${shown} />
      </div>`
    }
    <div class="scroll" tabindex="0" role="region" aria-label=${`${name}, scrollable`}>
      <table>
        <thead>
          <tr>
            ${columns.map(heading)}
          </tr>
        </thead>
        <tbody>
          ${shown.slice(0, most.value).map(
            (row, index) =>
              html`<tr key=${rowKey?.(row) ?? index} class=${rowClass?.(row)}>
                ${rowOf(row, columns)}
              </tr>`,
          )}
        </tbody>
      </table>
      ${shown.length === 0 && html`<${Nothing} of=${props} filter=${filter.value} />`}
    </div>
    ${shown.length > most.value ? button('Show more rows', showMore) : more && button('Load more', more)}
  </section>`;
}
