/** Tables that sort, filter, copy and export. Rows beyond the first few hundred are shown on demand. */
import { type ComponentChildren, copyText, html, saveFile, useMemo, useSignal } from './kit.ts';
import { isDecimal, nano } from './money.ts';

type Value = string | number | boolean | null | undefined;

export interface Column<Row> {
  readonly title: string;
  /** What is sorted, filtered, copied and exported. */
  value(row: Row): Value;
  /** What is shown, if it is more than the value. */
  cell?(row: Row): ComponentChildren;
  /** Figures stand at the right. */
  readonly isFigure?: boolean;
  /** Long texts get more room. */
  readonly isWide?: boolean;
}

interface TableProps<Row> {
  /** Names the table for screen readers, and its file. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[] | undefined;
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
  if (isDecimal(a) && isDecimal(b)) return nano(a) < nano(b) ? -1 : nano(a) > nano(b) ? 1 : 0;
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

export function Table<Row>(props: TableProps<Row>) {
  const { name, columns, rows, empty, more, rowKey, rowClass, tools, isPlain = false } = props;
  const sorting = useSignal<Sorting | undefined>(undefined);
  const filter = useSignal('');
  const most = useSignal(firstRows);
  const shown = useMemo(() => {
    const word = filter.value.trim().toLowerCase();
    const kept = (rows ?? []).filter(
      (row) => word === '' || columns.some(({ value }) => textOf(value(row)).toLowerCase().includes(word)),
    );
    const by = sorting.value;
    const column = by && columns[by.column];
    if (!column) return kept;
    const sorted = kept.toSorted((one, other) => compare(column.value(one), column.value(other)));
    return by.isDown ? sorted.toReversed() : sorted;
  }, [rows, filter.value, sorting.value, columns]);

  const sortBy = (column: number): void => {
    const isDown =
      sorting.value?.column === column ? !sorting.value.isDown : columns[column]?.isFigure === true;
    sorting.value = { column, isDown };
  };
  const heading = ({ title, isFigure }: Column<Row>, index: number) => {
    const by = sorting.value?.column === index ? sorting.value : undefined;
    const order = by ? (by.isDown ? 'descending' : 'ascending') : undefined;
    return html`<th
      scope="col"
      class=${isFigure ? 'figure' : title === '' ? 'doings' : ''}
      aria-sort=${order}
    >
      ${
        isPlain || title === ''
          ? title || html`<span class="visually-hidden">Actions</span>`
          : html`<button class="sort" onClick=${() => sortBy(index)}>
              ${title}<span aria-hidden="true">${by ? (by.isDown ? ' ↓' : ' ↑') : ''}</span>
            </button>`
      }
    </th>`;
  };
  const isFiltered = rows !== undefined && shown.length < rows.length;

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
          onInput=${(event: { currentTarget: HTMLInputElement }) => (filter.value = event.currentTarget.value)}
        />
        ${tools}
        <span class="space"></span>
        <span class="dim" role="status">
          ${
            rows &&
            `${isFiltered ? `${shown.length} of ` : ''}${rows.length}${more ? '+' : ''} ${rows.length === 1 ? 'row' : 'rows'}`
          }
        </span>
        <button
          class="quiet"
          onClick=${() => copyText(lines(columns, shown, '\t', plainCell), 'Table copied')}
        >
          Copy
        </button>
        <button
          class="quiet"
          onClick=${() =>
            saveFile(
              `${name.toLowerCase().replaceAll(/\W+/g, '-')}.csv`,
              lines(columns, shown, ',', csvCell),
            )}
        >
          CSV
        </button>
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
                ${columns.map(
                  ({ title, value, cell, isFigure, isWide }) =>
                    html`<td class=${isFigure ? 'figure' : isWide ? 'wide' : title === '' ? 'doings' : ''}>
                      ${cell ? cell(row) : textOf(value(row))}
                    </td>`,
                )}
              </tr>`,
          )}
        </tbody>
      </table>
      ${rows === undefined && html`<p class="empty" aria-busy="true">Loading …</p>`}
      ${rows?.length === 0 && html`<div class="empty">${empty}</div>`}
      ${isFiltered && shown.length === 0 && html`<p class="empty">No row contains “${filter}”.</p>`}
    </div>
    ${
      shown.length > most.value &&
      html`<button class="more" onClick=${() => (most.value += firstRows)}>Show more rows</button>`
    }
    ${shown.length <= most.value && more && html`<button class="more" onClick=${more}>Load more</button>`}
  </section>`;
}
