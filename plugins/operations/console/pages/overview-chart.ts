/** The chart of the overview and the table under it, which has the same figures. */
import { Chart, colourClass, type Series } from './chart.ts';
import { amountColumn } from './columns.ts';
import { clock, count, day, duration, minute, percent, short } from './format.ts';
import { html, useMemo } from './kit.ts';
import { dollars } from './money.ts';
import { href } from './router.ts';
import type { Column } from './table.ts';

interface Totals {
  readonly calls: number;
  readonly errors: number;
  readonly cost: string;
  readonly vendor_cost: string;
  readonly margin: string;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
  readonly cache_hits: number;
  readonly first_event_ms: {
    readonly count: number;
    readonly p50: number | null;
    readonly p95: number | null;
  };
}

interface OverviewSeries {
  /** Null for the rest. */
  readonly name: string | null;
  readonly totals: Totals;
  readonly calls: readonly number[];
  readonly errors: readonly number[];
  readonly cost: readonly string[];
  readonly input: readonly number[];
  readonly output: readonly number[];
  readonly cached: readonly number[];
  readonly reasoning: readonly number[];
  readonly cache_hits: readonly number[];
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
}

export interface Overview {
  readonly from: string;
  readonly to: string;
  readonly by: string;
  readonly step: string;
  readonly times: readonly string[];
  readonly totals: Totals;
  readonly series: readonly OverviewSeries[];
  readonly others: number;
  readonly pending: { readonly calls: number; readonly amount: string; readonly oldest: string | null };
  readonly audit: { readonly ok: boolean; readonly at: string; readonly findings: number } | null;
  readonly behind: number;
}

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
    const shown = {
      name: name === '' ? 'none' : (name ?? `${data.others} others`),
      values: valuesOf(each, measure),
    };
    const texts = measure === 'cost' ? { texts: each.cost.map(dollars) } : {};
    const error = measure === 'errors' ? { outcome: 'error' } : {};
    // No filter finds calls without a name, or all but some: their segments lead to all calls of that time.
    const filter = name === null || name === '' ? {} : filterOf(data, name);
    return {
      ...shown,
      ...texts,
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
        values: (which === 'p50' ? p50 : p95).map((value) => value ?? Number.NaN),
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
    height=${220}
  />`;
}

export interface Row {
  readonly series: OverviewSeries;
  readonly index: number;
}

function figure(
  title: string,
  value: (totals: Totals) => number | null,
  show: (totals: Totals) => string,
): Column<Row> {
  return {
    title,
    value: ({ series }) => value(series.totals),
    cell: ({ series }) => show(series.totals),
    isFigure: true,
  };
}

/** The name of a series, which leads to its calls. */
function nameCell(data: Overview, name: string | null) {
  if (name === null) return html`<span class="dim">${data.others} others</span>`;
  if (name === '') return html`<span class="dim">none</span>`;
  const { from, to } = data;
  return html`<a href=${href('calls', { ...filterOf(data, name), from, to })}>${name}</a>`;
}

export function breakdown(data: Overview): Column<Row>[] {
  return [
    {
      title: groups.find(([key]) => key === data.by)?.[1] ?? 'Name',
      value: ({ series }) => series.name ?? `${data.others} others`,
      cell: ({ series: { name }, index }) =>
        html`<i class=${colourClass(index)}></i> ${nameCell(data, name)}`,
    },
    amountColumn('Spend', ({ series }) => series.totals.cost),
    amountColumn('Vendor', ({ series }) => series.totals.vendor_cost),
    amountColumn('Margin', ({ series }) => series.totals.margin),
    figure(
      'Calls',
      ({ calls }) => calls,
      ({ calls }) => count(calls),
    ),
    figure(
      'Errors',
      ({ errors }) => errors,
      ({ errors, calls }) => `${count(errors)} (${percent(errors, calls)})`,
    ),
    figure(
      'Input',
      ({ input }) => input,
      ({ input }) => count(input),
    ),
    figure(
      'Output',
      ({ output }) => output,
      ({ output }) => count(output),
    ),
    figure(
      'Cached',
      ({ cached }) => cached,
      ({ cached, input }) => percent(cached, input),
    ),
    figure(
      'p50',
      ({ first_event_ms: ms }) => ms.p50,
      ({ first_event_ms: ms }) => duration(ms.p50),
    ),
    figure(
      'p95',
      ({ first_event_ms: ms }) => ms.p95,
      ({ first_event_ms: ms }) => duration(ms.p95),
    ),
  ];
}
