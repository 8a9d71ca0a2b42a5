/** The overview: spending, calls and waiting times in any range, by model, key, account, provider or tag. */
import { address, useData } from './api.ts';
import { count, duration, percent, short, Time } from './format.ts';
import { html, useMemo, takeText } from './kit.ts';
import { Amount } from './money.ts';
import { breakdown, groups, MainChart, measures, type Overview, type Row } from './overview-chart.ts';
import { Badge, Choice, Fault, Head, Select, Tile } from './parts.ts';
import { href, setQuery, type Place } from './router.ts';
import { Table } from './table.ts';

const hour = 3_600_000;
const ranges = [
  ['1h', '1 h', hour],
  ['24h', '24 h', 24 * hour],
  ['7d', '7 d', 7 * 24 * hour],
  ['30d', '30 d', 30 * 24 * hour],
] as const;

function Verdict({ of }: { readonly of: NonNullable<Overview['audit']> }) {
  const text = of.ok ? 'sound' : `${of.findings} faults`;
  return html`<${Badge} tone=${of.ok ? 'good' : 'bad'}>${text}</${Badge}>`;
}

function Tiles({ data }: { readonly data: Overview | undefined }) {
  const totals = data?.totals;
  const range = data && { from: data.from, to: data.to };
  const audit = data?.audit;
  return html`<div class="tiles">
    <${Tile}
      label="Spend"
      value=${html`<${Amount} usd=${totals?.cost} />`}
      note=${
        totals &&
        html`vendors <${Amount} usd=${totals.vendor_cost} />, margin <${Amount} usd=${totals.margin} />`
      }
    />
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
      value=${audit ? html`<${Verdict} of=${audit} />` : '–'}
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

/** Midnight of a local date, some days later. */
function midnight(date: string, later: number): Date {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  return new Date(year, month - 1, day + later);
}

/** Whole local days. The last one is part of the range, which ends a day later. */
function AnyRange({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const input = (name: 'from' | 'to', label: string, later: number) => {
    const at = new Date(query[name] ?? '');
    const shown = Number.isNaN(at.getTime())
      ? ''
      : new Date(at.getFullYear(), at.getMonth(), at.getDate() - later).toLocaleDateString('sv-SE');
    const change = (date: string): void =>
      setQuery({ range: undefined, [name]: date && midnight(date, later).toISOString() });
    return html`<label class="select"
      ><span>${label}</span><input type="date" value=${shown} onChange=${takeText(change)}
    /></label>`;
  };
  return html`${input('from', 'From', 0)} ${input('to', 'To', 1)}`;
}

function Grouping({ query }: { readonly query: Readonly<Record<string, string>> }) {
  return html`<${Select}
      label="By"
      options=${groups}
      value=${query['by'] ?? 'model'}
      onChange=${(value: string) => setQuery({ by: value })}
    />
    ${
      query['by'] === 'tag' &&
      html`<input
        aria-label="Name of the tag"
        placeholder="name of the tag"
        value=${query['tag'] ?? ''}
        onChange=${takeText((text) => setQuery({ tag: text.trim() }))}
      />`
    }`;
}

function Exports(range: Pick<Overview, 'from' | 'to'>) {
  const { from, to } = range;
  const usage = address('/admin/usage', { from, to, format: 'csv' });
  const entries = address('/admin/entries/export', { from, to });
  return html`<a class="button quiet" href=${usage} download>Usage as CSV</a>
    <a class="button quiet" href=${entries} download>Entries as CSV</a>`;
}

export function Page({ place: { query } }: { readonly place: Place }) {
  const { params, range } = paramsOf(query);
  const asked = params['by'] === 'tag' && params['tag'] === '' ? undefined : '/admin/overview';
  const { data, error, reload } = useData<Overview>(asked, params, 30_000);
  const measure = measures.find(([key]) => key === query['show'])?.[0] ?? 'cost';
  const rows = useMemo(() => data?.series.map((series, index) => ({ series, index })), [data]);
  const columns = useMemo(() => (data ? breakdown(data) : []), [data]);
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
    ${
      data &&
      data.behind > 0 &&
      html`<p class="hint" role="status">${count(data.behind)} older entries are still being summed up.</p>`
    }
    <${Tiles} data=${data} />
    <section class="card">
      <div class="head">
        <${Choice}
          label="Figure"
          options=${measures}
          value=${measure}
          onChange=${(value: string) => setQuery({ show: value })}
        />
        <div class="actions"><${Grouping} query=${query} /></div>
      </div>
      ${data ? html`<${MainChart} data=${data} measure=${measure} />` : html`<div class="chart-space"></div>`}
    </section>
    <${Table}
      name="Breakdown"
      columns=${columns}
      rows=${asked === undefined ? [] : rows}
      error=${error}
      rowKey=${({ series }: Row) => String(series.name)}
      tools=${data && html`<${Exports} from=${data.from} to=${data.to} />`}
      empty=${
        asked === undefined
          ? 'Name the tag to group by.'
          : 'No calls in this range. Create a key and make the first one.'
      }
    />`;
}
