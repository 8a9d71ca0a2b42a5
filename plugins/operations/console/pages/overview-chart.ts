/** The chart of the overview and the table under it, which has the same figures. */
import type { Overview } from '../../../shared/replies/spending.ts';
import { Chart, colourClass, type Series } from './chart.ts';
import { amountColumn, column, countColumn, durationColumn, figureColumn, type Column } from './columns.ts';
import { clock, count, day, duration, minute, percent, short } from './format.ts';
import { html, useMemo } from './kit.ts';
import { dollars } from './money.ts';
import { href } from './router.ts';

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
const filterOf = ({ by }: Overview, name: string): Readonly<Record<string, string>> => ({ [by]: name });

function valuesOf(series: OverviewSeries, measure: Measure): number[] {
  if (measure === 'tokens') return series.input.map((input, index) => input + (series.output[index] ?? 0));
  // Only the height of a bar: the amount beside it is exact.
  if (measure === 'cost') return series.cost.map(Number);
  return measure === 'ttft' ? [] : [...series[measure]];
}

function chartSeries(data: Overview, measure: Measure): Series[] {
  return data.series.map((each) => {
    const { name } = each;
    const error = measure === 'errors' ? { outcome: 'error' } : {};
    // No filter finds calls without a name, or all but some: their segments lead to all calls of that time.
    const filter = name === null || name === '' ? {} : filterOf(data, name);
    return {
      name: name === '' ? 'none' : (name ?? `${data.others} others`),
      values: valuesOf(each, measure),
      ...(measure === 'cost' ? { texts: each.cost.map(dollars) } : {}),
      href: (bucket) => href('calls', { ...filter, ...error, ...timeOf(data, bucket) }),
    };
  });
}

function timeOf(data: Overview, bucket: number): { readonly from: string; readonly to: string } {
  const from = data.times[bucket] ?? data.from;
  return { from, to: new Date(Date.parse(from) + (stepMs[data.step] ?? hour)).toISOString() };
}

function bucketName(at: string, step: string, range: number): string {
  if (step === '1d') return day(at);
  return range > 26 * hour ? minute(at) : clock(at);
}

export function MainChart({ data, measure }: { readonly data: Overview; readonly measure: Measure }) {
  const range = Date.parse(data.to) - Date.parse(data.from);
  const buckets = data.times.map((at) => bucketName(at, data.step, range));
  const label = measures.find(([key]) => key === measure)?.[1] ?? '';
  const series = useMemo(() => {
    if (measure !== 'ttft') return chartSeries(data, measure);
    return data.series.flatMap(({ name, p50, p95 }) =>
      (['p50', 'p95'] as const).map((which) => ({
        name: `${name ?? 'others'} ${which}`,
        values: { p50, p95 }[which].map((value) => value ?? Number.NaN),
      })),
    );
  }, [data, measure]);
  const formats: Partial<Record<Measure, (value: number) => string>> = {
    cost: (value) => `$${short(value)}`,
    ttft: duration,
  };
  return html`<${Chart}
    label=${label}
    buckets=${buckets}
    series=${series}
    kind=${measure === 'ttft' ? 'lines' : 'bars'}
    href=${(bucket: number) => href('calls', timeOf(data, bucket))}
    format=${formats[measure] ?? short}
  />`;
}

/** The name of a series, which leads to its calls. */
function nameCell(data: Overview, name: string | null) {
  if (name === null) return html`<span class="dim">${data.others} others</span>`;
  if (name === '') return html`<span class="dim">none</span>`;
  const { from, to } = data;
  return html`<a href=${href('calls', { ...filterOf(data, name), from, to })}>${name}</a>`;
}

export function breakdown(data: Overview): Column<OverviewSeries>[] {
  return [
    column(
      groups.find(([key]) => key === data.by)?.[1] ?? 'Name',
      ({ name }) => name ?? `${data.others} others`,
      (series) =>
        html`<i class=${colourClass(data.series.indexOf(series))}></i> ${nameCell(data, series.name)}`,
    ),
    amountColumn('Spend', ({ totals }) => totals.cost),
    amountColumn('Vendor', ({ totals }) => totals.vendor_cost),
    amountColumn('Margin', ({ totals }) => totals.margin),
    countColumn('Calls', ({ totals }) => totals.calls),
    figureColumn(
      'Errors',
      ({ totals }) => totals.errors,
      ({ totals: { errors, calls } }) => `${count(errors)} (${percent(errors, calls)})`,
    ),
    countColumn('Input', ({ totals }) => totals.input),
    countColumn('Output', ({ totals }) => totals.output),
    figureColumn(
      'Cached',
      ({ totals }) => totals.cached,
      ({ totals: { cached, input } }) => percent(cached, input),
    ),
    durationColumn('p50', ({ totals }) => totals.first_event_ms.p50),
    durationColumn('p95', ({ totals }) => totals.first_event_ms.p95),
  ];
}
