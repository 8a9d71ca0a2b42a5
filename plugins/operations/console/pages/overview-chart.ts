/** The chart of the overview and the table under it, which has the same figures. */
import type { Overview } from '../../../shared/replies/spending.ts';
import { Chart, getColourClass, type Series } from './chart.ts';
import {
  buildAmountColumn,
  buildColumn,
  buildCountColumn,
  buildDurationColumn,
  buildFigureColumn,
  type Column,
} from './columns.ts';
import {
  formatClock,
  formatCount,
  formatDuration,
  formatMinute,
  formatPercent,
  formatShort,
  formatThings,
  formatUtcDay,
} from './format.ts';
import { html, useMemo } from './kit.ts';
import { formatDollars } from './money.ts';
import { buildHref } from './router.ts';

type OverviewSeries = Overview['series'][number];

const hour = 3_600_000;

export const groups = [
  ['model', 'Model'],
  ['key', 'Key'],
  ['account', 'Account'],
  ['provider', 'Provider'],
  ['tag', 'Tag'],
] as const;

export const measures = [
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

export function MainChart({ data, measure }: { readonly data: Overview; readonly measure: Measure }) {
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

export function buildColumns(data: Overview): Column<OverviewSeries>[] {
  return [
    buildColumn(
      groups.find(([key]) => key === data.by)?.[1] ?? 'Name',
      ({ name, key_name: title = '' }) =>
        name === null ? formatThings(data.others, 'other') : `${title} ${name}`.trim(),
      (series) =>
        html`<i class=${getColourClass(data.series.indexOf(series))}></i> ${renderName(data, series)}`,
    ),
    buildAmountColumn('Spend', ({ totals }) => totals.cost),
    buildAmountColumn('Vendor', ({ totals }) => totals.vendor_cost),
    buildAmountColumn('Margin', ({ totals }) => totals.margin),
    buildCountColumn('Calls', ({ totals }) => totals.calls),
    buildFigureColumn(
      'Errors',
      ({ totals }) => totals.errors,
      ({ totals: { errors, calls } }) => `${formatCount(errors)} (${formatPercent(errors, calls)})`,
    ),
    buildCountColumn('Input', ({ totals }) => totals.input),
    buildCountColumn('Output', ({ totals }) => totals.output),
    buildFigureColumn(
      'Cached',
      ({ totals }) => totals.cached,
      ({ totals: { cached, input } }) => formatPercent(cached, input),
    ),
    buildDurationColumn('First token p50', ({ totals }) => totals.first_event_ms.p50),
    buildDurationColumn('First token p95', ({ totals }) => totals.first_event_ms.p95),
  ];
}
