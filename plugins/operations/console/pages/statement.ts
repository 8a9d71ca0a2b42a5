/** An account's statement, like a bank's, by the months and days of a time zone. */
import type { Statement } from '../../../shared/replies/spending.ts';
import { buildUrl, useData } from './api.ts';
import { buildAmountColumn, buildColumn, buildCountColumn, type Column } from './columns.ts';
import { bindQuery, renderSelect } from './controls.ts';
import { html, useMemo } from './kit.ts';
import { renderUsd } from './money.ts';
import { renderTiles } from './parts.ts';
import { renderTable } from './table.ts';

const local = Intl.DateTimeFormat().resolvedOptions().timeZone;

const zones = [...new Set([local, 'UTC', ...Intl.supportedValuesOf('timeZone')])];

/** The last twelve months of a zone, the current one first: `2026-11`. */
function listMonths(zone: string): string[] {
  const now = new Date().toLocaleDateString('sv-SE', { timeZone: zone });
  const [year = 0, month = 1] = now.split('-').map(Number);
  return Array.from({ length: 12 }, (_, back) =>
    new Date(Date.UTC(year, month - 1 - back, 1)).toISOString().slice(0, 7),
  );
}

/** Times of credits, and days of usage, as the zone has them. */
function buildColumns(zone: string): Column<Statement['lines'][number]>[] {
  const options = { day: 'numeric', month: 'short', timeZone: zone } as const;
  const day = new Intl.DateTimeFormat('en-GB', options);
  const minute = new Intl.DateTimeFormat('en-GB', { ...options, hour: '2-digit', minute: '2-digit' });
  const renderDate = ({ at, kind }: Statement['lines'][number]) =>
    html`<time datetime=${at} title=${at}>${(kind === 'usage' ? day : minute).format(new Date(at))}</time>`;
  return [
    buildColumn('Date', ({ at }) => at, renderDate),
    buildColumn('Kind', ({ kind }) => kind),
    buildColumn('Text', ({ text }) => text),
    buildColumn('Reference', ({ reference }) => reference),
    buildCountColumn('Calls', ({ calls }) => calls),
    buildAmountColumn('Amount', ({ amount }) => amount),
    buildAmountColumn('Balance', ({ balance }) => balance),
  ];
}

export function StatementOf({ account }: { readonly account: string }) {
  const zoneState = bindQuery('zone', local);
  const zone = zones.find((each) => each === zoneState.value) ?? local;
  const listed = useMemo(() => listMonths(zone), [zone]);
  const monthState = bindQuery('month', listed[0]);
  const month = monthState.value;
  const { data, error, reload } = useData('GET /admin/accounts/:account/statement', { account, month, zone });
  const columns = useMemo(() => buildColumns(zone), [zone]);
  const csv = buildUrl('GET /admin/accounts/:account/statement', { account, month, zone, format: 'csv' });
  return html`${renderTiles(
    ['Opening balance', renderUsd(data?.opening)],
    ['Credited', renderUsd(data?.credited)],
    ['Spent', renderUsd(data?.used)],
    ['Closing balance', renderUsd(data?.closing)],
  )}
  ${renderTable({
    name: `Statement ${month}`,
    columns,
    rows: data?.lines,
    error,
    reload,
    tools: html`${renderSelect('Month', listed, monthState)} ${renderSelect('Time zone', zones, zoneState)}
      <a class="button" href=${csv} download>Statement as CSV</a>`,
    empty: 'Nothing was credited or spent in this month.',
  })}`;
}
