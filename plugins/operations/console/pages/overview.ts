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
  formatShortUsd,
  formatThings,
  renderTime,
  formatClock,
  formatDay,
  formatMinute,
  formatUtcDay,
  renderUsd,
  formatDollars,
  nameUnit,
  sumAmounts,
} from './format.ts';
import { type ComponentChildren, html, useMemo, takeText, buildHref, setQuery, type Place } from './kit.ts';
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
    const filter = name === null || name === '' ? {} : { [data.by]: name };
    return {
      name: getTitle(each, data.others),
      values: listValues(each, measure),
      colour,
      ...(measure === 'cost' ? { texts: each.cost.map(formatDollars) } : {}),
      buildHref: (bucket) => buildHref('calls', { ...filter, ...error, ...computeRange(data, bucket) }),
    };
  });
}

/** Days have 23, 24 or 25 hours. */
const computeRange = ({ times, from, to }: Overview, bucket: number) => ({
  from: times[bucket] ?? from,
  to: times[bucket + 1] ?? to,
});

/** The step of days as the clocks of the reader have them. */
const localDay = 'day';
/** Hours from which on a chart has a bar for each day. */
const shortestDaily = 48 * hour;

/** Sums of hours as sums of the reader's days. Waiting times cannot be added, and keep their hours. */
function foldDays(data: Overview, measure: Measure): Overview {
  const isLong = Date.parse(data.to) - Date.parse(data.from) > shortestDaily;
  if (data.step !== '1h' || !isLong || measure === 'ttft') return data;
  const days = [
    ...Map.groupBy(data.times.keys(), (index) => new Date(data.times[index] ?? '').toDateString()).values(),
  ];
  const sum = (counts: readonly number[]): number[] =>
    days.map((hours) => hours.reduce((all, index) => all + (counts[index] ?? 0), 0));
  const series = data.series.map((each) => ({
    ...each,
    cost: days.map((hours) => sumAmounts(hours.map((index) => each.cost[index] ?? '0'))),
    calls: sum(each.calls),
    errors: sum(each.errors),
    input: sum(each.input),
    output: sum(each.output),
    cache_hits: sum(each.cache_hits),
  }));
  return {
    ...data,
    series,
    step: localDay,
    times: days.map(([first = 0]) => data.times[first] ?? data.from),
  };
}

function formatBucket(at: string, step: string, range: number): string {
  if (step === '1d') return formatUtcDay(at);
  if (step === localDay) return formatDay(at);
  return range > 26 * hour ? formatMinute(at) : formatClock(at);
}

/** Full hours, or midnights, under a chart by the hour or shorter; days are named as they come. */
function listTicks({ times, step }: Overview, range: number): (string | undefined)[] | undefined {
  if (step === '1d' || step === localDay) return undefined;
  return times.map((time) => {
    const at = new Date(time);
    if (range > 26 * hour) return at.getHours() === 0 ? formatDay(at) : undefined;
    const isFull = at.getMinutes() === 0 && at.getHours() % 4 === 0;
    return (step === '1h' ? isFull : at.getMinutes() % 10 === 0) ? formatClock(at) : undefined;
  });
}

const formats: Partial<Record<Measure, (value: number) => string>> = {
  cost: formatShortUsd,
  ttft: formatDuration,
};

function MainChart({ data: hours, measure }: { readonly data: Overview; readonly measure: Measure }) {
  const data = useMemo(() => foldDays(hours, measure), [hours, measure]);
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
  return html`<${Chart}
    label=${label}
    buckets=${buckets}
    ticks=${listTicks(data, range)}
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
  return html`<a href=${buildHref('calls', { [data.by]: name, from, to })}>${shown}</a>${id}`;
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
    ...(Number(data.totals.margin) === 0
      ? []
      : [
          buildColumn<OverviewSeries>('Vendor', ({ totals }) => totals.vendor_cost, 'amount'),
          buildColumn<OverviewSeries>('Margin', ({ totals }) => totals.margin, 'amount'),
        ]),
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

const day = 24 * hour;

/** The midnight some days ago, by the reader's clock. */
function findMidnight(daysAgo: number): number {
  const now = new Date();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime();
}

/** Ranges with their length, the steps of their figures, and their first moment, if it is a midnight. */
const ranges = [
  ['1h', '1 h', hour, hour / 12],
  ['24h', '24 h', day, hour],
  ['yesterday', 'Yesterday', day, hour, 1],
  ['7d', '7 d', 7 * day, hour, 6],
  ['30d', '30 d', 30 * day, day],
] as const;

/** So many entries and calls are read one by one if they are not summed up yet, and nothing is missing. */
const mostBehind = 40_000;

function renderReservedNote({ calls, oldest }: Overview['pending']) {
  return calls === 0
    ? 'no call is running'
    : html`${formatThings(calls, 'call')}, oldest ${renderTime(oldest, 'brief')}`;
}

/** How much a figure changed since the period before, before what else a tile says of it. */
function renderChange(
  now: number | null | undefined,
  before: number | null | undefined,
  note?: ComponentChildren,
) {
  const isKnown = typeof now === 'number' && typeof before === 'number' && before > 0;
  const change = isKnown ? Math.round((now / before - 1) * 100) : undefined;
  const text =
    change === undefined ? undefined : `${change < 0 ? '−' : '+'}${formatCount(Math.abs(change))} %`;
  const mark = text && html`<span class="change" title="against the period before">${text}</span>`;
  return html`${mark}${mark && note && ' · '}${note}`;
}

function renderTotals(data: Overview | undefined, former: Overview['totals'] | undefined) {
  const { totals, pending, audit } = data ?? {};
  const range = data && { from: data.from, to: data.to };
  const verdict =
    audit && renderBadge(audit.ok ? 'OK' : formatThings(audit.findings, 'fault'), audit.ok ? 'good' : 'bad');
  const compare = (read: (of: Overview['totals']) => number | null, note?: ComponentChildren) =>
    totals && renderChange(read(totals), former && read(former), note);
  const uses = totals?.uses.filter(({ unit }) => unit !== 'reasoning') ?? [];
  return renderTiles(
    [
      'Spend',
      renderUsd(totals?.cost),
      compare(
        ({ cost }) => Number(cost),
        totals &&
          Number(totals.margin) !== 0 &&
          html`vendors ${renderUsd(totals.vendor_cost)}, margin ${renderUsd(totals.margin)}`,
      ),
    ],
    [
      'Calls',
      totals ? formatShort(totals.calls) : '–',
      compare(({ calls }) => calls, 'all outcomes, refused too'),
      buildHref('calls', range),
    ],
    [
      'Tokens',
      totals ? formatShort(totals.input + totals.output) : '–',
      compare(
        ({ input, output }) => input + output,
        uses.map((use) => `${formatShort(use.count)} ${nameUnit(use)}`).join(', '),
      ),
    ],
    [
      'Errors',
      totals ? formatPercent(totals.errors, totals.calls) : '–',
      compare(({ errors }) => errors, totals && formatThings(totals.errors, 'call')),
      buildHref('calls', { ...range, outcome: 'error' }),
    ],
    [
      'Cache hits',
      totals ? formatPercent(totals.cache_hits, totals.calls) : '–',
      compare(({ cached }) => cached, totals && `${formatShort(totals.cached)} tokens from caches`),
    ],
    [
      'Time to first token',
      formatDuration(totals?.first_event_ms.p50),
      compare(({ first_event_ms: { p50 } }) => p50, `p95 ${formatDuration(totals?.first_event_ms.p95)}`),
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

const toTime = (at: number): string => new Date(at).toISOString();

/**
 * What of the address the API understands, and the period before. A range ends now, and so moves with each
 * reload. Both begin and end with whole steps, so the period before may be half a step longer or shorter.
 */
function readParams(query: Readonly<Record<string, string>>) {
  const { by = 'model', tag, from: first, to: last } = query;
  const named = by === 'tag' ? { by, tag: tag ?? '' } : { by };
  if (first !== undefined || last !== undefined)
    return { params: { ...named, ...readDays(query) }, range: 'any', before: undefined };
  const [range, , length, step, midnight] = ranges.find(([key]) => key === query['range']) ?? ranges[1];
  const end = range === 'yesterday' ? findMidnight(0) : Date.now();
  const start = midnight === undefined ? Math.ceil((end - length) / step) * step : findMidnight(midnight);
  const params = { ...named, from: toTime(start), ...(range === 'yesterday' && { to: toTime(end) }) };
  const before = {
    from: toTime(start - length),
    to: toTime(Math.round(end / step) * step - length),
    by: 'provider',
    top: 1,
  };
  return { params, range, before };
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
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  if (step !== '1d')
    return html`From ${renderTime(from, 'brief')} to ${renderTime(to, 'brief')}${`. Times: ${timeZone}.`}`;
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

const listFiles = ({ from, to }: Overview) => ({
  'Usage as CSV': buildUrl('GET /admin/usage', { from, to, format: 'csv' }),
  'Entries as CSV': buildUrl('GET /admin/entries/export', { from, to }),
});

export function Page({ place: { query } }: { readonly place: Place }) {
  const { params, range, before } = readParams(query);
  const isUnnamed = params['by'] === 'tag' && params['tag'] === '';
  const asked = isUnnamed ? undefined : 'GET /admin/overview';
  const { data, error } = useData(asked, params, { every: 30_000 });
  const former = useData(before && 'GET /admin/overview', before).data?.totals;
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
    ${renderTotals(data, before && former)}
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
      files: data && listFiles(data),
      empty: isUnnamed ? 'Name the tag to group by.' : !error && describeNothing(params),
    })}`;
}
