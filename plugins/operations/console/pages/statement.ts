/** An account's statement, like a bank's, by the months and days of a time zone. */
import { address, useData } from './api.ts';
import { amountColumn, countColumn } from './columns.ts';
import { html, notify, takeText, useMemo } from './kit.ts';
import { Amount } from './money.ts';
import { Fault, Select, Tile } from './parts.ts';
import { setQuery } from './router.ts';
import { Table, type Column } from './table.ts';

interface Line {
  readonly at: string;
  readonly kind: string;
  readonly text: string;
  readonly reference: string | null;
  readonly calls: number | null;
  readonly amount: string;
  readonly balance: string;
}

interface Statement {
  readonly opening: string;
  readonly closing: string;
  readonly credited: string;
  readonly used: string;
  readonly lines: readonly Line[];
}

const local = Intl.DateTimeFormat().resolvedOptions().timeZone;

const zones = [...new Set([local, 'UTC', ...Intl.supportedValuesOf('timeZone')])];

function isZone(zone: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: zone }).format() !== '';
  } catch {
    return false;
  }
}

/** Suggests the zones that the browser lists, and takes any that it knows. */
function ZoneInput({ zone }: { readonly zone: string }) {
  const change = (text: string): void => {
    if (isZone(text.trim())) setQuery({ zone: text.trim() });
    else notify(`There is no time zone “${text}”. A time zone is written Europe/Berlin.`, true);
  };
  return html`<label class="select"
      ><span>Time zone</span
      ><input list="time-zones" value=${zone} spellcheck=${false} onChange=${takeText(change)}
    /></label>
    <datalist id="time-zones">${zones.map((each) => html`<option value=${each} />`)}</datalist>`;
}

/** The last twelve months of a zone, the current one first: `2026-11`. */
function months(zone: string): string[] {
  const now = new Date().toLocaleDateString('sv-SE', { timeZone: zone });
  const [year = 0, month = 1] = now.split('-').map(Number);
  return Array.from({ length: 12 }, (_, back) =>
    new Date(Date.UTC(year, month - 1 - back, 1)).toISOString().slice(0, 7),
  );
}

/** Times of credits, and days of usage, as the zone has them. */
function columnsIn(zone: string): Column<Line>[] {
  const options = { day: 'numeric', month: 'short', timeZone: zone } as const;
  const day = new Intl.DateTimeFormat('en-GB', options);
  const minute = new Intl.DateTimeFormat('en-GB', { ...options, hour: '2-digit', minute: '2-digit' });
  return [
    {
      title: 'Date',
      value: ({ at }) => at,
      cell: ({ at, kind }) =>
        html`<time datetime=${at} title=${at}>
          ${(kind === 'usage' ? day : minute).format(new Date(at))}
        </time>`,
    },
    { title: 'Kind', value: ({ kind }) => kind },
    { title: 'Text', value: ({ text }) => text },
    { title: 'Reference', value: ({ reference }) => reference },
    countColumn('Calls', ({ calls }) => calls),
    amountColumn('Amount', ({ amount }) => amount),
    amountColumn('Balance', ({ balance }) => balance),
  ];
}

function Tiles({ of }: { readonly of: Statement | undefined }) {
  return html`<div class="tiles">
    <${Tile} label="Opening balance" value=${html`<${Amount} usd=${of?.opening} />`} />
    <${Tile} label="Credited" value=${html`<${Amount} usd=${of?.credited} />`} />
    <${Tile} label="Spent" value=${html`<${Amount} usd=${of?.used} />`} />
    <${Tile} label="Closing balance" value=${html`<${Amount} usd=${of?.closing} />`} />
  </div>`;
}

export function StatementOf(props: {
  readonly account: string;
  readonly query: Readonly<Record<string, string>>;
}) {
  const { account, query } = props;
  const path = `/admin/accounts/${encodeURIComponent(account)}/statement`;
  const zone = isZone(query['zone'] ?? '') ? (query['zone'] ?? local) : local;
  const listed = useMemo(() => months(zone), [zone]);
  const month = query['month'] ?? listed[0] ?? '';
  const { data, error, reload } = useData<Statement>(path, { month, zone });
  const columns = useMemo(() => columnsIn(zone), [zone]);
  return html`<${Fault} error=${error} retry=${reload} />
    <${Tiles} of=${data} />
    <${Table}
      name=${`Statement ${month}`}
      columns=${columns}
      rows=${data?.lines}
      error=${error}
      tools=${html`<${Select}
          label="Month"
          options=${listed.map((each) => [each, each])}
          value=${month}
          onChange=${(value: string) => setQuery({ month: value })}
        />
        <${ZoneInput} zone=${zone} />
        <a class="button" href=${address(path, { month, zone, format: 'csv' })} download
          >Statement as CSV</a
        >`}
      empty="Nothing was credited or spent in this month."
    />`;
}
