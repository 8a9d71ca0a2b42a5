/** The overview: spending, calls and waiting times in any range, by model, key, account, provider or tag. */
import type { Overview } from '../../../shared/replies/spending.ts';
import { buildUrl, useData } from './api.ts';
import { renderChoice, bindQuery, isTyped, renderSelect } from './controls.ts';
import {
  formatCount,
  formatDuration,
  formatPercent,
  formatShort,
  formatThings,
  renderTime,
} from './format.ts';
import { html, useMemo, takeText } from './kit.ts';
import { renderUsd } from './money.ts';
import { buildColumns, groups, MainChart, measures } from './overview-chart.ts';
import { renderBadge, renderHead, renderProblem, renderTiles } from './parts.ts';
import { buildHref, setQuery, type Place } from './router.ts';
import { renderTable } from './table.ts';

const hour = 3_600_000;
const ranges = [
  ['1h', '1 h', hour],
  ['24h', '24 h', 24 * hour],
  ['7d', '7 d', 7 * 24 * hour],
  ['30d', '30 d', 30 * 24 * hour],
] as const;

/** So many entries and calls are read one by one if they are not summed up yet, and nothing is missing. */
const mostBehind = 40_000;

function renderReservedNote({ calls, oldest }: Overview['pending']) {
  return calls === 0
    ? 'no call is running'
    : html`${formatThings(calls, 'call')}, oldest ${renderTime(oldest, 'brief')}`;
}

function renderTotals(data: Overview | undefined) {
  const { totals, pending, audit } = data ?? {};
  const range = data && { from: data.from, to: data.to };
  const verdict =
    audit && renderBadge(audit.ok ? 'OK' : formatThings(audit.findings, 'fault'), audit.ok ? 'good' : 'bad');
  return renderTiles(
    [
      'Spend',
      renderUsd(totals?.cost),
      totals && html`vendors ${renderUsd(totals.vendor_cost)}, margin ${renderUsd(totals.margin)}`,
    ],
    ['Calls', totals ? formatShort(totals.calls) : '–', 'all outcomes', buildHref('calls', range)],
    [
      'Tokens',
      totals ? formatShort(totals.input + totals.output) : '–',
      totals && `${formatShort(totals.input)} in, ${formatShort(totals.output)} out`,
    ],
    [
      'Errors',
      totals ? formatPercent(totals.errors, totals.calls) : '–',
      totals && formatThings(totals.errors, 'call'),
      buildHref('calls', { ...range, outcome: 'error' }),
    ],
    [
      'Cache hits',
      totals ? formatPercent(totals.cache_hits, totals.calls) : '–',
      totals && `${formatShort(totals.cached)} tokens read from caches`,
    ],
    [
      'Time to first token',
      formatDuration(totals?.first_event_ms.p50),
      `p95 ${formatDuration(totals?.first_event_ms.p95)}`,
    ],
    ['Reserved', renderUsd(pending?.amount), pending && renderReservedNote(pending)],
    ['Ledger check', verdict ?? '–', audit ? renderTime(audit.at, 'brief') : data && 'not yet audited'],
  );
}

/** The longest range with a bar for each hour. */
const mostHourly = 8 * 24 * hour;

/** Midnight in UTC of a moment's local date. */
function toUtcMidnight(iso: string | undefined): string | undefined {
  if (iso === undefined) return undefined;
  const at = new Date(iso);
  return new Date(Date.UTC(at.getFullYear(), at.getMonth(), at.getDate())).toISOString();
}

/**
 * What to ask for between two local midnights. A long range has a bar for each day in UTC, so it asks for the
 * same dates in UTC. Local midnights would add one more day.
 */
function readDays({ from, to }: Readonly<Record<string, string>>) {
  const end = to === undefined ? Date.now() : Date.parse(to);
  if (from === undefined || !(end - Date.parse(from) > mostHourly)) return { from, to };
  return { from: toUtcMidnight(from), to: toUtcMidnight(to), step: '1d' };
}

/** What of the address the API understands. A range ends now, and so moves with each reload. */
function readParams(query: Readonly<Record<string, string>>): {
  params: Readonly<Record<string, string | undefined>>;
  range: string;
} {
  const { by = 'model', tag, from, to } = query;
  const named = by === 'tag' ? { by, tag: tag ?? '' } : { by };
  if (from !== undefined || to !== undefined)
    return { params: { ...named, ...readDays(query) }, range: 'any' };
  const [range, , length] = ranges.find(([key]) => key === query['range']) ?? ranges[1];
  // In steps of a minute, so that drawing again does not ask again.
  const start = Math.floor((Date.now() - length) / 60_000) * 60_000;
  return { params: { ...named, from: new Date(start).toISOString() }, range };
}

/** Midnight of a local date, some days later. */
function computeMidnight(date: string, later: number): Date {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  return new Date(year, month - 1, day + later);
}

/** Whole local days. The last one is part of the range, which ends a day later. */
function renderDayInput(
  iso: string | undefined,
  [name, label, later]: readonly ['from' | 'to', string, number],
) {
  const at = new Date(iso ?? '');
  const shown = Number.isNaN(at.getTime())
    ? ''
    : new Date(at.getFullYear(), at.getMonth(), at.getDate() - later).toLocaleDateString('sv-SE');
  const change = (date: string): void => {
    if (isTyped(date))
      setQuery({ range: undefined, [name]: date && computeMidnight(date, later).toISOString() });
  };
  return html`<label class="control"
    ><span>${label}</span><input type="date" value=${shown} onChange=${takeText(change)}
  /></label>`;
}

/** The range of the figures, which is wider than the one that was asked for: they are sums of whole steps. */
function renderRange({ from, to, step }: Overview) {
  if (step !== '1d') return html`From ${renderTime(from, 'brief')} to ${renderTime(to, 'brief')}.`;
  const last = new Date(Date.parse(to) - 1).toISOString();
  return `Days in UTC, from ${from.slice(0, 10)} to ${last.slice(0, 10)}.`;
}

function renderGrouping({ by, tag = '' }: Readonly<Record<string, string>>) {
  const name = html`<input
    aria-label="Name of the tag"
    placeholder="name of the tag"
    value=${tag}
    onChange=${takeText((text) => setQuery({ tag: text.trim() }))}
  />`;
  return html`${renderSelect('By', groups, bindQuery('by', 'model'))} ${by === 'tag' && name}`;
}

function describeNothing({ tag }: ReturnType<typeof readParams>['params']): string {
  return tag === undefined
    ? 'No calls in this range. Create a key and make the first one.'
    : `No calls in this range have the tag “${tag}”.`;
}

function renderExports({ from, to }: Overview) {
  const usage = buildUrl('GET /admin/usage', { from, to, format: 'csv' });
  const entries = buildUrl('GET /admin/entries/export', { from, to });
  return html`<a class="button quiet" href=${usage} download>Usage as CSV</a>
    <a class="button quiet" href=${entries} download>Entries as CSV</a>`;
}

export function Page({ place: { query } }: { readonly place: Place }) {
  const { params, range } = readParams(query);
  const isUnnamed = params['by'] === 'tag' && params['tag'] === '';
  const asked = isUnnamed ? undefined : 'GET /admin/overview';
  const { data, error, reload } = useData(asked, params, { every: 30_000 });
  const measure = measures.find(([key]) => key === query['show'])?.[0] ?? 'cost';
  const columns = useMemo(() => (data ? buildColumns(data) : []), [data]);
  const rangeState = {
    get value() {
      return range;
    },
    set value(next: string) {
      setQuery({ range: next, from: undefined, to: undefined });
    },
  };
  const named = ranges.map(([key, label]) => [key, label] as const);
  return html`${renderHead(
      'Overview',
      html`${renderChoice('Range', named, rangeState)} ${renderDayInput(query['from'], ['from', 'From', 0])}
      ${renderDayInput(query['to'], ['to', 'To', 1])}`,
    )}
    ${renderProblem(error, reload)}
    ${
      data &&
      data.behind > mostBehind &&
      html`<p class="hint" role="status">
        Not complete yet: ${formatCount(data.behind)} entries and calls are still being summed up.
      </p>`
    }
    ${renderTotals(data)}
    <section class="card">
      <div class="head">
        ${renderChoice('Figure', measures, bindQuery('show', 'cost'))}
        <div class="actions">${renderGrouping(query)}</div>
      </div>
      ${
        data && !isUnnamed
          ? html`<${MainChart} data=${data} measure=${measure} />`
          : html`<div class="chart-space"></div>`
      }
      <p class="dim">${data && !isUnnamed && renderRange(data)}</p>
    </section>
    ${renderTable({
      name: 'Breakdown',
      columns,
      rows: isUnnamed ? [] : (data?.series ?? (error && [])),
      getKey: ({ name }) => String(name),
      tools: data && renderExports(data),
      empty: isUnnamed ? 'Name the tag to group by.' : !error && describeNothing(params),
    })}`;
}
