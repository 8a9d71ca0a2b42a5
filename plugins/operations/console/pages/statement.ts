/** An account's statement, like a bank's, by the months and days of a time zone. */
import type { Statement } from '../../../shared/replies/spending.ts';
import { address, useData } from './api.ts';
import { amountColumn, column, countColumn, type Column } from './columns.ts';
import { inQuery, input, select, type State } from './controls.ts';
import { html, notify, useMemo } from './kit.ts';
import { usd } from './money.ts';
import { tiles } from './parts.ts';
import { setQuery } from './router.ts';
import { table } from './table.ts';

const local = Intl.DateTimeFormat().resolvedOptions().timeZone;

const zones = [...new Set([local, 'UTC', ...Intl.supportedValuesOf('timeZone')])];

function isZone(zone: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: zone }).format() !== '';
  } catch {
    return false;
  }
}

/** The time zone of the query, if the browser knows it. */
function zoneInQuery(): State {
  const zone = inQuery('zone');
  return {
    get value() {
      return isZone(zone.value) ? zone.value : local;
    },
    set value(text) {
      if (isZone(text.trim())) setQuery({ zone: text.trim() });
      else notify(`There is no time zone “${text}”. A time zone is written Europe/Berlin.`, true);
    },
  };
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
function columnsIn(zone: string): Column<Statement['lines'][number]>[] {
  const options = { day: 'numeric', month: 'short', timeZone: zone } as const;
  const day = new Intl.DateTimeFormat('en-GB', options);
  const minute = new Intl.DateTimeFormat('en-GB', { ...options, hour: '2-digit', minute: '2-digit' });
  const date = ({ at, kind }: Statement['lines'][number]) =>
    html`<time datetime=${at} title=${at}>${(kind === 'usage' ? day : minute).format(new Date(at))}</time>`;
  return [
    column('Date', ({ at }) => at, date),
    column('Kind', ({ kind }) => kind),
    column('Text', ({ text }) => text),
    column('Reference', ({ reference }) => reference),
    countColumn('Calls', ({ calls }) => calls),
    amountColumn('Amount', ({ amount }) => amount),
    amountColumn('Balance', ({ balance }) => balance),
  ];
}

export function StatementOf({ account }: { readonly account: string }) {
  const path = `/admin/accounts/${encodeURIComponent(account)}/statement`;
  const zoneState = zoneInQuery();
  const zone = zoneState.value;
  const listed = useMemo(() => months(zone), [zone]);
  const monthState = inQuery('month', listed[0]);
  const month = monthState.value;
  const { data, error, reload } = useData<Statement>(path, { month, zone });
  const columns = useMemo(() => columnsIn(zone), [zone]);
  const csv = address(path, { month, zone, format: 'csv' });
  return html`${tiles(
    ['Opening balance', usd(data?.opening)],
    ['Credited', usd(data?.credited)],
    ['Spent', usd(data?.used)],
    ['Closing balance', usd(data?.closing)],
  )}
  ${table({
    name: `Statement ${month}`,
    columns,
    rows: data?.lines,
    error,
    reload,
    tools: html`${select('Month', listed, monthState)} ${input('Time zone', zoneState, { suggest: zones })}
      <a class="button" href=${csv} download>Statement as CSV</a>`,
    empty: 'Nothing was credited or spent in this month.',
  })}`;
}
