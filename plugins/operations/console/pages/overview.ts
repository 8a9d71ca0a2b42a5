/** The overview: what was spent, called and waited for, in any range, by model, key, account, provider or tag. */
import { address, useData } from './api.ts';
import { Chart, colourClass, type Series } from './chart.ts';
import { clock, count, day, duration, minute, percent, short, Time } from './format.ts';
import { html, useMemo } from './kit.ts';
import { Amount, dollars } from './money.ts';
import { Badge, Choice, Fault, Head, Select, Tile } from './parts.ts';
import { href, setQuery, type Place } from './router.ts';
import { Table, type Column } from './table.ts';

interface Totals {
  readonly calls: number;
  readonly errors: number;
  readonly cost: string;
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

interface Overview {
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
const ranges = [
  ['1h', '1 h', hour],
  ['24h', '24 h', 24 * hour],
  ['7d', '7 d', 7 * 24 * hour],
  ['30d', '30 d', 30 * 24 * hour],
] as const;

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

/** The filter of the calls page that leads to the calls of a series. */
function filterOf({ by }: Overview, tag: string | undefined, name: string): Readonly<Record<string, string>> {
  return by === 'tag' ? { tag: `${tag}:${name}` } : { [by]: name };
}

function valuesOf(series: OverviewSeries, measure: Measure): number[] {
  if (measure === 'tokens') return series.input.map((input, index) => input + (series.output[index] ?? 0));
  // Only the height of a bar: the amount beside it is exact.
  if (measure === 'cost') return series.cost.map(Number);
  return measure === 'ttft' ? [] : [...series[measure]];
}

function chartSeries(data: Overview, measure: Measure, tag: string | undefined): Series[] {
  return data.series.map((each) => {
    const { name } = each;
    const shown = { name: name ?? `${data.others} others`, values: valuesOf(each, measure) };
    const texts = measure === 'cost' ? { texts: each.cost.map(dollars) } : {};
    if (name === null) return { ...shown, ...texts };
    const error = measure === 'errors' ? { outcome: 'error' } : {};
    const link = (bucket: number): string => {
      const from = data.times[bucket] ?? data.from;
      const to = new Date(Date.parse(from) + (stepMs[data.step] ?? hour)).toISOString();
      return href('calls', { ...filterOf(data, tag, name), ...error, from, to });
    };
    return { ...shown, ...texts, href: link };
  });
}

function bucketName(at: string, step: string, range: number): string {
  if (step === '1d') return day(at);
  return range > 26 * hour ? minute(at) : clock(at);
}

function MainChart({
  data,
  measure,
  tag,
}: {
  readonly data: Overview;
  readonly measure: Measure;
  readonly tag: string | undefined;
}) {
  const range = Date.parse(data.to) - Date.parse(data.from);
  const buckets = data.times.map((at) => bucketName(at, data.step, range));
  const label = measures.find(([key]) => key === measure)?.[1] ?? '';
  const series = useMemo(() => {
    if (measure !== 'ttft') return chartSeries(data, measure, tag);
    return data.series.flatMap(({ name, p50, p95 }) =>
      (['p50', 'p95'] as const).map((which) => ({
        name: `${name ?? 'others'} ${which}`,
        values: (which === 'p50' ? p50 : p95).map((value) => value ?? Number.NaN),
      })),
    );
  }, [data, measure, tag]);
  const formats: Partial<Record<Measure, (value: number) => string>> = {
    cost: (value) => `$${short(value)}`,
    ttft: duration,
  };
  return html`<${Chart}
    label=${label}
    buckets=${buckets}
    series=${series}
    kind=${measure === 'ttft' ? 'lines' : 'bars'}
    format=${formats[measure] ?? short}
    height=${220}
  />`;
}

interface Row {
  readonly series: OverviewSeries;
  readonly index: number;
}

function breakdown(data: Overview, tag: string | undefined): Column<Row>[] {
  const figure = (
    title: string,
    value: (totals: Totals) => number | null,
    show: (totals: Totals) => string,
  ): Column<Row> => ({
    title,
    value: ({ series }) => value(series.totals),
    cell: ({ series }) => show(series.totals),
    isFigure: true,
  });
  return [
    {
      title: groups.find(([key]) => key === data.by)?.[1] ?? 'Name',
      value: ({ series }) => series.name ?? `${data.others} others`,
      cell: ({ series: { name }, index }) =>
        html`<i class=${colourClass(index)}></i> ${
            name === null
              ? html`<span class="dim">${data.others} others</span>`
              : html`<a href=${href('calls', { ...filterOf(data, tag, name), from: data.from, to: data.to })}
                  >${name}</a
                >`
          }`,
    },
    {
      title: 'Spend',
      value: ({ series }) => series.totals.cost,
      cell: ({ series }) => html`<${Amount} usd=${series.totals.cost} />`,
      isFigure: true,
    },
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

function Tiles({ data }: { readonly data: Overview | undefined }) {
  const totals = data?.totals;
  const range = data && { from: data.from, to: data.to };
  const audit = data?.audit;
  return html`<div class="tiles">
    <${Tile} label="Spend" value=${html`<${Amount} usd=${totals?.cost} />`} note="in the range" />
    <${Tile}
      label="Calls"
      value=${totals ? short(totals.calls) : '–'}
      href=${href('calls', range)}
      note="all outcomes"
    />
    <${Tile}
      label="Tokens"
      value=${totals ? short(totals.input + totals.output) : '–'}
      note=${totals && `${short(totals.input)} in, ${short(totals.output)} out`}
    />
    <${Tile}
      label="Errors"
      value=${totals ? percent(totals.errors, totals.calls) : '–'}
      href=${href('calls', { ...range, outcome: 'error' })}
      note=${totals && `${count(totals.errors)} calls`}
    />
    <${Tile}
      label="Cache hits"
      value=${totals ? percent(totals.cache_hits, totals.calls) : '–'}
      note=${totals && `${short(totals.cached)} tokens read from caches`}
    />
    <${Tile}
      label="Time to first token"
      value=${duration(totals?.first_event_ms.p50)}
      note=${`p95 ${duration(totals?.first_event_ms.p95)}`}
    />
    <${Tile}
      label="Held in reservations"
      value=${html`<${Amount} usd=${data?.pending.amount} />`}
      note=${
        data &&
        (data.pending.calls === 0
          ? 'no call is running'
          : html`${count(data.pending.calls)} calls, oldest
              <${Time} at=${data.pending.oldest} brief=${true} />`)
      }
    />
    <${Tile}
      label="Audit of the books"
      value=${audit ? html`<${Badge} tone=${audit.ok ? 'good' : 'bad'}>${audit.ok ? 'sound' : `${audit.findings} faults`}</${Badge}>` : '–'}
      note=${audit ? html`<${Time} at=${audit.at} brief=${true} />` : 'not yet audited'}
    />
  </div>`;
}

/** What of the address the API understands. A range ends now, and so moves with each reload. */
function paramsOf(query: Readonly<Record<string, string>>): {
  params: Readonly<Record<string, string | undefined>>;
  range: string;
} {
  const { by = 'model', tag, from, to } = query;
  const named = by === 'tag' ? { by, tag: tag ?? '' } : { by };
  if (from !== undefined || to !== undefined) return { params: { ...named, from, to }, range: 'any' };
  const [range, , length] = ranges.find(([key]) => key === query['range']) ?? ranges[1];
  // In steps of a minute, so that drawing again does not ask again.
  const start = Math.floor((Date.now() - length) / 60_000) * 60_000;
  return { params: { ...named, from: new Date(start).toISOString() }, range };
}

function AnyRange({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const input = (name: 'from' | 'to', label: string) =>
    html`<label class="select"
      ><span>${label}</span
      ><input
        type="date"
        value=${(query[name] ?? '').slice(0, 10)}
        onChange=${(event: { currentTarget: HTMLInputElement }) =>
          setQuery({
            range: undefined,
            [name]: event.currentTarget.value && new Date(`${event.currentTarget.value}T00:00`).toISOString(),
          })}
    /></label>`;
  return html`${input('from', 'From')} ${input('to', 'To')}`;
}

export function Page({ place: { query } }: { readonly place: Place }) {
  const { params, range } = paramsOf(query);
  const asked = params['by'] === 'tag' && params['tag'] === '' ? undefined : '/admin/overview';
  const { data, error, reload } = useData<Overview>(asked, params, 30_000);
  const measure = measures.find(([key]) => key === query['show'])?.[0] ?? 'cost';
  const rows = useMemo(() => data?.series.map((series, index) => ({ series, index })), [data]);
  const columns = useMemo(() => (data ? breakdown(data, query['tag']) : []), [data, query['tag']]);
  return html`<${Head} title="Overview">
      <${Choice}
        label="Range"
        options=${ranges.map(([key, label]) => [key, label])}
        value=${range}
        onChange=${(value: string) => setQuery({ range: value, from: undefined, to: undefined })}
      />
      <${AnyRange} query=${query} />
    </${Head}>
    <${Fault} error=${error} retry=${reload} />
    ${data && data.behind > 0 && html`<p class="hint" role="status">${count(data.behind)} older entries are still being summed up.</p>`}
    <${Tiles} data=${data} />
    <section class="card">
      <div class="head">
        <${Choice} label="Figure" options=${measures} value=${measure} onChange=${(value: string) => setQuery({ show: value })} />
        <div class="actions">
          <${Select} label="By" options=${groups} value=${query['by'] ?? 'model'} onChange=${(value: string) => setQuery({ by: value })} />
          ${
            query['by'] === 'tag' &&
            html`<input
              aria-label="Name of the tag"
              placeholder="name of the tag"
              value=${query['tag'] ?? ''}
              onChange=${(event: { currentTarget: HTMLInputElement }) => setQuery({ tag: event.currentTarget.value.trim() })}
            />`
          }
        </div>
      </div>
      ${
        data
          ? html`<${MainChart} data=${data} measure=${measure} tag=${query['tag']} />`
          : html`<div class="chart-space"></div>`
      }
    </section>
    <${Table}
      name="Breakdown"
      columns=${columns}
      rows=${asked === undefined ? [] : error ? [] : rows}
      rowKey=${({ series }: Row) => String(series.name)}
      tools=${data && html`<a class="button quiet" href=${address('/admin/usage', { from: data.from, to: data.to, format: 'csv' })} download>Usage as CSV</a>`}
      empty=${asked === undefined ? 'Name the tag to group by.' : 'No calls in this range. Create a key and make the first one.'}
    />`;
}
