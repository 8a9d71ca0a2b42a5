/** The overview: spending, calls and waiting times in any range, by model, key, account, provider or tag. */
import type { Overview } from '../../../shared/replies/spending.ts';
import { buildUrl, useData } from './api.ts';
import { buildUsesColumn } from './call-columns.ts';
import { Chart, getColourClass, type Series } from './chart.ts';
import { renderChoice, bindQuery, bindState, isTyped, renderInput, renderSelect } from './form.ts';
import {
  formatCount,
  formatDuration,
  formatPercent,
  formatShort,
  formatThings,
  renderTime,
  formatClock,
  formatMinute,
  formatUtcDay,
  renderUsd,
  formatDollars,
  nameUnit,
} from './format.ts';
import { html, useMemo, takeText, buildHref, setQuery, type Place } from './kit.ts';
import { renderBadge, renderHead, renderProblem, renderTiles } from './parts.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

type OverviewSeries = Overview['series'][number];

const hour = 3_600_000;

const groups = [
  ['model', 'Model'],
  ['key', 'Key'],
  ['account', 'Account'],
  ['provider', 'Provider'],
  ['tag', 'Tag'],
] as const;

const measures = [
  ['cost', 'Spend'],
  ['calls', 'Calls'],
  ['tokens', 'Tokens'],
  ['errors', 'Errors'],
  ['cache_hits', 'Cache hits'],
  ['ttft', 'Time to first token'],
] as const;
type Measure = (typeof measures)[number][0];

const stepMs: Readonly<Record<string, number>> = { '5m': hour / 12, '1h': hour, '1d': 24 * hour };

/** The filter of the calls page that leads to the calls of a series. A tag has its name before its value. */
const buildFilter = ({ by }: Overview, name: string): Readonly<Record<string, string>> => ({ [by]: name });

function listValues(series: OverviewSeries, measure: Measure): number[] {
  if (measure === 'tokens') return series.input.map((input, index) => input + (series.output[index] ?? 0));
  // Only the height of a bar: the amount beside it is exact.
  if (measure === 'cost') return series.cost.map(Number);
  return measure === 'ttft' ? [] : [...series[measure]];
}

/** What people call a series: of a key its name, which is not its id. */
const getTitle = ({ name, key_name: title }: OverviewSeries, others: number): string =>
  name === '' ? 'none' : ((title || name) ?? formatThings(others, 'other'));

function buildSeries(data: Overview, measure: Measure): Series[] {
  return data.series.map((each, colour) => {
    const { name } = each;
    const error = measure === 'errors' ? { outcome: 'error' } : {};
    // No filter finds calls without a name, or all but some: their segments lead to all calls of that time.
    const filter = name === null || name === '' ? {} : buildFilter(data, name);
    return {
      name: getTitle(each, data.others),
      values: listValues(each, measure),
      colour,
      ...(measure === 'cost' ? { texts: each.cost.map(formatDollars) } : {}),
      buildHref: (bucket) => buildHref('calls', { ...filter, ...error, ...computeRange(data, bucket) }),
    };
  });
}

function computeRange(data: Overview, bucket: number): { readonly from: string; readonly to: string } {
  const from = data.times[bucket] ?? data.from;
  return { from, to: new Date(Date.parse(from) + (stepMs[data.step] ?? hour)).toISOString() };
}

function formatBucket(at: string, step: string, range: number): string {
  if (step === '1d') return formatUtcDay(at);
  return range > 26 * hour ? formatMinute(at) : formatClock(at);
}

function MainChart({ data, measure }: { readonly data: Overview; readonly measure: Measure }) {
  const range = Date.parse(data.to) - Date.parse(data.from);
  const buckets = data.times.map((at) => formatBucket(at, data.step, range));
  const label = measures.find(([key]) => key === measure)?.[1] ?? '';
  const series = useMemo(() => {
    if (measure !== 'ttft') return buildSeries(data, measure);
    return data.series.flatMap((each, colour) =>
      [each.p50, each.p95].map((values, index) => ({
        name: `${getTitle(each, data.others)} ${index === 0 ? 'p50' : 'p95'}`,
        values: values.map((value) => value ?? Number.NaN),
        colour,
        isDashed: index === 1,
      })),
    );
  }, [data, measure]);
  const formats: Partial<Record<Measure, (value: number) => string>> = {
    cost: (value) => `$${formatShort(value)}`,
    ttft: formatDuration,
  };
  return html`<${Chart}
    label=${label}
    buckets=${buckets}
    series=${series}
    kind=${measure === 'ttft' ? 'lines' : 'bars'}
    buildHref=${(bucket: number) => buildHref('calls', computeRange(data, bucket))}
    format=${formats[measure] ?? formatShort}
  />`;
}

/** The name of a series, which leads to its calls. */
function renderName(data: Overview, series: OverviewSeries) {
  const { name, key_name: title } = series;
  const shown = getTitle(series, data.others);
  if (name === null || name === '') return html`<span class="dim">${shown}</span>`;
  const { from, to } = data;
  const id = title && html`<br /><span class="mono dim">${name}</span>`;
  return html`<a href=${buildHref('calls', { ...buildFilter(data, name), from, to })}>${shown}</a>${id}`;
}

function buildColumns(data: Overview): Column<OverviewSeries>[] {
  return [
    buildColumn(
      groups.find(([key]) => key === data.by)?.[1] ?? 'Name',
      ({ name, key_name: title = '' }) =>
        name === null ? formatThings(data.others, 'other') : `${title} ${name}`.trim(),
      (series) =>
        html`<i class=${getColourClass(data.series.indexOf(series))}></i> ${renderName(data, series)}`,
    ),
    buildColumn('Spend', ({ totals }) => totals.cost, 'amount'),
    buildColumn('Vendor', ({ totals }) => totals.vendor_cost, 'amount'),
    buildColumn('Margin', ({ totals }) => totals.margin, 'amount'),
    buildColumn('Calls', ({ totals }) => totals.calls, 'count'),
    buildColumn(
      'Errors',
      ({ totals }) => totals.errors,
      ({ totals: { errors, calls } }) => `${formatCount(errors)} (${formatPercent(errors, calls)})`,
      'figure',
    ),
    buildUsesColumn(({ totals }) => totals.uses),
    buildColumn('First token p50', ({ totals }) => totals.first_event_ms.p50, 'duration'),
    buildColumn('First token p95', ({ totals }) => totals.first_event_ms.p95, 'duration'),
  ];
}

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
      totals?.uses.map((use) => `${formatShort(use.count)} ${nameUnit(use)}`).join(', '),
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

/** When a day of the address, or one some days later, begins. What is no day stays for the API to refuse. */
function toMidnight(day: string, later: number, isUtc: boolean): string {
  const at = Date.parse(day) + later * 24 * hour;
  if (Number.isNaN(at)) return day;
  const date = new Date(at).toISOString().slice(0, 10);
  return isUtc ? date : new Date(`${date}T00:00`).toISOString();
}

/**
 * What to ask for whole local days, the last of which is part of the range. A long range has a bar for each
 * day in UTC, so it asks for the same dates in UTC. Local midnights would add one more day.
 */
function readDays({ from, to }: Readonly<Record<string, string>>) {
  const toRange = (isUtc: boolean) => ({
    from: from && toMidnight(from, 0, isUtc),
    to: to && toMidnight(to, 1, isUtc),
  });
  const local = toRange(false);
  const length = (local.to ? Date.parse(local.to) : Date.now()) - Date.parse(local.from ?? '');
  return length > mostHourly ? { ...toRange(true), step: '1d' } : local;
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

function renderDayInput(label: 'From' | 'To') {
  const name = label.toLowerCase();
  const change = (date: string): void => {
    if (isTyped(date)) setQuery({ range: undefined, [name]: date });
  };
  const state = bindState(() => bindQuery(name).value, change);
  return renderInput(label, state, { type: 'date' });
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
  const { data, error } = useData(asked, params, { every: 30_000 });
  const measure = measures.find(([key]) => key === query['show'])?.[0] ?? 'cost';
  const columns = useMemo(() => (data ? buildColumns(data) : []), [data]);
  const rangeState = bindState<string>(
    () => range,
    (next) => setQuery({ range: next, from: undefined, to: undefined }),
  );
  const named = ranges.map(([key, label]) => [key, label] as const);
  return html`${renderHead(
      'Overview',
      html`${renderChoice('Range', named, rangeState)} ${renderDayInput('From')} ${renderDayInput('To')}`,
    )}
    ${renderProblem(error)}
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
