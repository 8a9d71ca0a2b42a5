/** The overview: spending, calls and waiting times in any range, by model, key, account, provider or tag. */
import type { Overview } from '../../../shared/replies/spending.ts';
import { address, useData } from './api.ts';
import { choice, inQuery, select } from './controls.ts';
import { count, duration, percent, short, when } from './format.ts';
import { html, useMemo, takeText } from './kit.ts';
import { usd } from './money.ts';
import { breakdown, groups, MainChart, measures } from './overview-chart.ts';
import { badge, head, problem, tiles } from './parts.ts';
import { href, setQuery, type Place } from './router.ts';
import { table } from './table.ts';

const hour = 3_600_000;
const ranges = [
  ['1h', '1 h', hour],
  ['24h', '24 h', 24 * hour],
  ['7d', '7 d', 7 * 24 * hour],
  ['30d', '30 d', 30 * 24 * hour],
] as const;

function heldNote({ calls, oldest }: Overview['pending']) {
  return calls === 0 ? 'no call is running' : html`${count(calls)} calls, oldest ${when(oldest, 'brief')}`;
}

function tilesOf(data: Overview | undefined) {
  const { totals, pending, audit } = data ?? {};
  const range = data && { from: data.from, to: data.to };
  const verdict = audit && badge(audit.ok ? 'sound' : `${audit.findings} faults`, audit.ok ? 'good' : 'bad');
  return tiles(
    [
      'Spend',
      usd(totals?.cost),
      totals && html`vendors ${usd(totals.vendor_cost)}, margin ${usd(totals.margin)}`,
    ],
    ['Calls', totals ? short(totals.calls) : '–', 'all outcomes', href('calls', range)],
    [
      'Tokens',
      totals ? short(totals.input + totals.output) : '–',
      totals && `${short(totals.input)} in, ${short(totals.output)} out`,
    ],
    [
      'Errors',
      totals ? percent(totals.errors, totals.calls) : '–',
      totals && `${count(totals.errors)} calls`,
      href('calls', { ...range, outcome: 'error' }),
    ],
    [
      'Cache hits',
      totals ? percent(totals.cache_hits, totals.calls) : '–',
      totals && `${short(totals.cached)} tokens read from caches`,
    ],
    [
      'Time to first token',
      duration(totals?.first_event_ms.p50),
      `p95 ${duration(totals?.first_event_ms.p95)}`,
    ],
    ['Held in reservations', usd(pending?.amount), pending && heldNote(pending)],
    ['Audit of the books', verdict ?? '–', audit ? when(audit.at, 'brief') : 'not yet audited'],
  );
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
function dayInput(iso: string | undefined, [name, label, later]: readonly ['from' | 'to', string, number]) {
  const at = new Date(iso ?? '');
  const shown = Number.isNaN(at.getTime())
    ? ''
    : new Date(at.getFullYear(), at.getMonth(), at.getDate() - later).toLocaleDateString('sv-SE');
  const change = (date: string): void =>
    setQuery({ range: undefined, [name]: date && midnight(date, later).toISOString() });
  return html`<label class="control"
    ><span>${label}</span><input type="date" value=${shown} onChange=${takeText(change)}
  /></label>`;
}

function grouping({ by, tag = '' }: Readonly<Record<string, string>>) {
  const name = html`<input
    aria-label="Name of the tag"
    placeholder="name of the tag"
    value=${tag}
    onChange=${takeText((text) => setQuery({ tag: text.trim() }))}
  />`;
  return html`${select('By', groups, inQuery('by', 'model'))} ${by === 'tag' && name}`;
}

function exportsOf({ from, to }: Overview) {
  const usage = address('/admin/usage', { from, to, format: 'csv' });
  const entries = address('/admin/entries/export', { from, to });
  return html`<a class="button quiet" href=${usage} download>Usage as CSV</a>
    <a class="button quiet" href=${entries} download>Entries as CSV</a>`;
}

export function Page({ place: { query } }: { readonly place: Place }) {
  const { params, range } = paramsOf(query);
  const isUnnamed = params['by'] === 'tag' && params['tag'] === '';
  const asked = isUnnamed ? undefined : '/admin/overview';
  const { data, error, reload } = useData<Overview>(asked, params, { every: 30_000 });
  const measure = measures.find(([key]) => key === query['show'])?.[0] ?? 'cost';
  const columns = useMemo(() => (data ? breakdown(data) : []), [data]);
  const rangeState = {
    get value() {
      return range;
    },
    set value(next: string) {
      setQuery({ range: next, from: undefined, to: undefined });
    },
  };
  const named = ranges.map(([key, label]) => [key, label] as const);
  return html`${head(
      'Overview',
      html`${choice('Range', named, rangeState)} ${dayInput(query['from'], ['from', 'From', 0])}
      ${dayInput(query['to'], ['to', 'To', 1])}`,
    )}
    ${problem(error, reload)}
    ${
      data &&
      data.behind > 0 &&
      html`<p class="hint" role="status">${count(data.behind)} older entries are still being summed up.</p>`
    }
    ${tilesOf(data)}
    <section class="card">
      <div class="head">
        ${choice('Figure', measures, inQuery('show', 'cost'))}
        <div class="actions">${grouping(query)}</div>
      </div>
      ${data ? html`<${MainChart} data=${data} measure=${measure} />` : html`<div class="chart-space"></div>`}
    </section>
    ${table({
      name: 'Breakdown',
      columns,
      rows: isUnnamed ? [] : (data?.series ?? (error && [])),
      rowKey: ({ name }) => String(name),
      tools: data && exportsOf(data),
      empty: isUnnamed
        ? 'Name the tag to group by.'
        : !error && 'No calls in this range. Create a key and make the first one.',
    })}`;
}
