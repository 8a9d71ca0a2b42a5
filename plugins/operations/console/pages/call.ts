/** One call: its times as a waterfall, what it cost line by line, what was lost, and how it was routed. */
import type { CallDetail, Loss } from '../../../shared/replies/calls.ts';
import { mayChange, useData } from './api.ts';
import { outcomeOf } from './call-columns.ts';
import { amountColumn, column, durationColumn, type Column } from './columns.ts';
import { openRefund } from './corrections.ts';
import { costLines } from './cost-lines.ts';
import { count, duration, when } from './format.ts';
import { html, type ComponentChildren } from './kit.ts';
import { lossBadge, wordOf } from './marked-json.ts';
import { usd } from './money.ts';
import { badge, code, facts, head, problem } from './parts.ts';
import { href } from './router.ts';
import { table } from './table.ts';
import { waterfall } from './waterfall.ts';

type Attempt = CallDetail['attempts'][number];
type Routing = CallDetail['routing'][number];
type Target = Routing['order'][number];

function target({ provider, model, key }: Target): string {
  return `${provider}${key === undefined ? '' : ` (key ${key})`} · ${model}`;
}

function routingOf({ routing, not_granted: notGranted = [] }: CallDetail) {
  if (routing.length === 0 && notGranted.length === 0)
    return html`<p class="dim">
      No target was skipped or moved: they were asked in the order of the model.
    </p>`;
  const step = ({ by, reason, removed, order }: Routing) =>
    html`<li>
      <strong>${by}</strong> ${reason && html`<span class="dim">${reason}</span>`}
      ${removed.map((each) => html`<div class="fault">skipped ${target(each)}</div>`)}
      ${order.length > 0 && html`<div>${order.map(target).join(' → ')}</div>`}
    </li>`;
  const refusal = (each: Target) =>
    html`<li>
      <strong>balance</strong>
      <div class="fault">not reserved for ${target(each)}: it could cost more</div>
    </li>`;
  return html`<ol class="routing">
    ${routing.map(step)}${notGranted.map(refusal)}
  </ol>`;
}

const attemptColumns: readonly Column<Attempt>[] = [
  column('Number', ({ number }) => number),
  column('Provider', ({ provider }) => provider),
  column('Model', ({ model }) => model),
  column(
    'Outcome',
    ({ outcome, message }) => `${outcome} ${message ?? ''}`,
    ({ outcome, message, status }) =>
      html`${badge(outcome, outcome === 'completed' ? 'good' : 'bad')}
      ${status !== null && html` <span class="dim">${status}</span>`}${message && html`<br />${message}`}`,
  ),
  durationColumn('First event', ({ first_event_ms: ms }) => ms),
  durationColumn('Duration', ({ duration_ms: ms }) => ms),
  amountColumn('Cost', ({ cost }) => cost),
];

const lossColumns: readonly Column<Loss>[] = [
  column(
    'Field',
    ({ path }) => path,
    ({ path }) => html`<code>${path}</code>`,
  ),
  column(
    'What happened',
    (loss) => `${wordOf(loss)} ${loss.code}`,
    (loss) =>
      html`${lossBadge(loss)} ${loss.code !== wordOf(loss) && html`<span class="dim">${loss.code}</span>`}`,
  ),
  column('Why', ({ reason }) => reason),
];

/** Those of the call and of its attempts, which mostly are the same. */
function lossesOf({ losses, attempts }: CallDetail): Loss[] {
  const all = [...losses, ...attempts.flatMap((attempt) => attempt.losses)];
  return [
    ...new Map(all.map((loss) => [JSON.stringify([loss.path, loss.code, loss.reason]), loss])).values(),
  ];
}

const entryColumns: readonly Column<CallDetail['entries'][number]>[] = [
  column('Number', ({ number }) => number),
  column('Kind', ({ kind }) => kind),
  column(
    'Time',
    ({ at }) => at,
    ({ at }) => when(at),
  ),
  amountColumn('Charged', ({ revenue }) => revenue),
];

function factsOf(call: CallDetail) {
  const link = (name: string, value: string | null) =>
    value && html`<a href=${href('calls', { [name]: value })}>${value}</a>`;
  return facts([
    ['Outcome', outcomeOf({ ...call, error_code: call.error_code ?? call.error?.code ?? null })],
    ['Error', call.error?.message],
    ['Started', when(call.started)],
    ['Duration', duration(call.duration_ms)],
    ['First event', duration(call.first_event_ms)],
    ['Account', call.account && html`<a href=${href(['accounts', call.account])}>${call.account}</a>`],
    ['Key', link('key', call.key)],
    ['Protocol', `${call.protocol}, ${call.operation}${call.stream ? ', streamed' : ''}`],
    ['Model asked for', link('model', call.model)],
    ['Answered by', call.answered_by],
    ['Provider', link('provider', call.provider)],
    [
      'Tags',
      Object.entries(call.tags).map(([name, value]) => html`${badge(value ? `${name}: ${value}` : name)} `),
    ],
    ['Flags', call.flags.map((flag) => html`${badge(flag, 'warn')} `)],
  ]);
}

function figuresOf(call: CallDetail) {
  return html`${facts([
      ['Cost', html`${usd(call.cost)} <span class="dim">by ${call.cost_basis}</span>`],
      ['Vendor', usd(call.vendor_cost)],
      ['Margin', usd(call.margin)],
      ['Input tokens', count(call.input)],
      ['of them cached', count(call.cached)],
      ['Output tokens', count(call.output)],
      ['of them reasoning', count(call.reasoning)],
    ])}
    <details>
      <summary>Usage as booked</summary>
      ${code(JSON.stringify(call.usage, null, 2))}
    </details>`;
}

const part = (title: string, body: ComponentChildren) =>
  html`<h2>${title}</h2>
    ${body}`;

function plainTable<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[], empty: string) {
  return table({ name, columns, rows, empty, isPlain: true });
}

function sectionsOf(call: CallDetail) {
  const { timing, attempts, entries, losses_omitted: omitted } = call;
  return html`${
    timing.length > 0 && part('Times', html`<section class="card">${waterfall(timing)}</section>`)
  }
  ${part('Attempts', plainTable('Attempts', attemptColumns, attempts, 'No provider was called.'))}
  ${costLines(entries)}
  ${part(
    'Ledger entries',
    plainTable('Ledger entries', entryColumns, entries, 'Nothing was reserved or charged.'),
  )}
  ${part(
    'Losses and approximations',
    plainTable(
      'Losses',
      lossColumns,
      lossesOf(call),
      'Nothing was lost: the provider got everything that the client sent.',
    ),
  )}
  ${omitted !== undefined && html`<p class="dim">${omitted} more are not kept.</p>`}
  ${part('Routing', html`<section class="card">${routingOf(call)}</section>`)}`;
}

export function CallDetail({ id }: { readonly id: string }) {
  const { data: call, error, reload } = useData<CallDetail>(`/admin/calls/${encodeURIComponent(id)}`);
  const refund =
    call &&
    call.cost !== '0' &&
    mayChange() &&
    html`<button onClick=${() => openRefund(id, call.cost, reload)}>Refund</button>`;
  return html`${head(
    html`Call <span class="mono">${id}</span>`,
    html`${refund}<a class="button" href=${href('calls')}>All calls</a>`,
  )}
  ${problem(error, reload)}
  ${
    call &&
    html`<div class="columns">
        <section class="card">${factsOf(call)}</section>
        <section class="card">${figuresOf(call)}</section>
      </div>
      ${sectionsOf(call)}`
  }`;
}
