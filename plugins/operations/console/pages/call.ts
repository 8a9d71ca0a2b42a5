/** One call: its times as a waterfall, what it cost line by line, what was lost, and how it was routed. */
import type { CallDetail, Loss, CostLine } from '../../../shared/replies/calls.ts';
import { call as callApi, useData } from './api.ts';
import { renderOutcome } from './call-columns.ts';
import { amountField, openForm, reasonField } from './form.ts';
import { formatCount, formatDuration, nameUnit, renderTime, renderUsd } from './format.ts';
import { html, notify, type ComponentChildren, buildHref } from './kit.ts';
import { renderLoss, describeLoss } from './marked-json.ts';
import { renderAction, renderBadge, renderState, renderFacts, renderHead, renderProblem } from './parts.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

type Entry = CallDetail['entries'][number];

interface CostRow extends Partial<CostLine> {
  readonly entry: string;
  readonly rule: string | undefined;
}

/** The lines of each entry, and below them their sum and what was charged. */
function buildRows(entries: readonly Entry[]): CostRow[] {
  return entries.flatMap(({ number, kind, rule, lines, total, revenue }) => {
    const entry = `${number} ${kind}`;
    if (lines.length === 0) return [];
    const sums = [
      { entry, rule: undefined, kind: 'total', amount: total },
      { entry, rule: undefined, kind: 'charged', amount: revenue },
    ];
    return [...lines.map((line) => ({ ...line, entry, rule })), ...sums];
  });
}

const isSum = ({ units }: CostRow): boolean => units === undefined;

const costColumns: readonly Column<CostRow>[] = [
  buildColumn('Entry', 'entry'),
  buildColumn('Use', 'kind', (row) => (isSum(row) ? html`<strong>${row.kind}</strong>` : row.kind)),
  buildColumn('Rule', 'rule'),
  buildColumn('Quantity', 'units', ({ units }) => units !== undefined && formatCount(units), 'figure'),
  buildColumn(
    'Price',
    'price',
    ({ price, per }) =>
      price !== undefined &&
      html`${renderUsd(price)} <span class="dim">${per === 1 ? 'each' : 'per million'}</span>`,
    'figure',
  ),
  buildColumn(
    'Amount',
    'amount',
    (row) => (isSum(row) ? html`<strong>${renderUsd(row.amount)}</strong>` : renderUsd(row.amount)),
    'figure',
  ),
];

function renderCostLines(entries: readonly Entry[]) {
  const rows = buildRows(entries);
  if (rows.length === 0) return null;
  return html`<h2>Cost lines</h2>
    ${renderTable({ name: 'Cost lines', columns: costColumns, rows, isPlain: true })}
    <p class="dim">
      Lines are exact. The ledger rounds the sum of a call once, half to even, to a billionth of a dollar.
    </p>`;
}

type Step = CallDetail['timing'][number];

const words: Readonly<Record<string, string>> = {
  authenticate: 'Check the key',
  read: 'Read the request',
  replay: 'Look for a stored reply',
  route: 'Choose targets',
  authorize: 'Reserve the cost',
  settle: 'Settle in the ledger',
};

/** Steps as bars on one time axis; a mark in an attempt is its first event. */
function renderWaterfall(steps: readonly Step[]) {
  const end = steps.reduce((most, step) => Math.max(most, step.start_ms + (step.duration_ms ?? 0)), 1);
  const toPercent = (ms: number): string => `${(ms / end) * 100}%`;
  const renderStep = ({ name, start_ms: start, duration_ms: length, first_event_ms: first, error }: Step) => {
    const title = `First event after ${formatDuration(first)}`;
    const mark =
      typeof first === 'number' &&
      html`<span class="mark" title=${title} style=${{ left: toPercent(start + first) }}></span>`;
    const bar = { left: toPercent(start), width: `max(2px, ${toPercent(length ?? 0)})` };
    return html`<div class=${`step ${error ? 'failed' : ''} ${name.startsWith('attempt') ? 'attempt' : ''}`}>
      <span>${words[name] ?? name.replace(/^a/, 'A')}</span>
      <span class="lane"><span class="bar" style=${bar}></span>${mark}</span>
      <span class="figure">${formatDuration(length)}</span>
      ${error && html`<span class="fault">${error}</span>`}
    </div>`;
  };
  return html`<div class="waterfall">${steps.map(renderStep)}</div>`;
}

type Attempt = CallDetail['attempts'][number];
type Routing = CallDetail['routing'][number];
type Target = Routing['order'][number];

function formatTarget({ provider, model, key }: Target): string {
  return `${provider}${key === undefined ? '' : ` (key ${key})`} · ${model}`;
}

function renderRouting({ routing, not_granted: notGranted = [] }: CallDetail) {
  if (routing.length === 0 && notGranted.length === 0)
    return html`<p class="dim">
      No target was skipped or moved: they were asked in the order of the model.
    </p>`;
  const renderStep = ({ by, reason, removed, order }: Routing) =>
    html`<li>
      <strong>${by}</strong> ${reason && html`<span class="dim">${reason}</span>`}
      ${removed.map((each) => html`<div class="fault">skipped ${formatTarget(each)}</div>`)}
      ${order.length > 0 && html`<div>${order.map(formatTarget).join(' → ')}</div>`}
    </li>`;
  const renderRefusal = (each: Target) =>
    html`<li>
      <strong>balance</strong>
      <div class="fault">not reserved for ${formatTarget(each)}: it could cost more</div>
    </li>`;
  return html`<ol class="routing">
    ${routing.map(renderStep)}${notGranted.map(renderRefusal)}
  </ol>`;
}

export const attemptColumns: readonly Column<Attempt>[] = [
  buildColumn('Number', 'number'),
  buildColumn('Provider', 'provider'),
  buildColumn('Model', 'model'),
  buildColumn(
    'Outcome',
    ({ outcome, message = '', cause = '' }) => `${outcome} ${message} ${cause}`.trim(),
    ({ outcome, message, cause, status }) =>
      html`${renderState(outcome)}
      ${status !== null && html` <span class="dim">${status}</span>`}${message && html`<br />${message}`}
      ${cause && html` <span class="dim">${cause}</span>`}`,
  ),
  buildColumn('First event', 'first_event_ms', 'duration'),
  buildColumn('Duration', 'duration_ms', 'duration'),
  buildColumn('Cost', 'cost', 'amount'),
];

const lossColumns: readonly Column<Loss>[] = [
  buildColumn('Field', 'path', ({ path }) => html`<code>${path}</code>`),
  buildColumn(
    'What happened',
    (loss) => `${describeLoss(loss)} ${loss.code}`,
    (loss) =>
      html`${renderLoss(loss)}
      ${loss.code !== describeLoss(loss) && html` <span class="dim">${loss.code}</span>`}`,
  ),
  buildColumn('Why', 'reason'),
];

/** Losses of the call and of its attempts, which are usually the same. */
function listLosses({ losses, attempts }: CallDetail): Loss[] {
  const all = [...losses, ...attempts.flatMap((attempt) => attempt.losses)];
  return [
    ...new Map(all.map((loss) => [JSON.stringify([loss.path, loss.code, loss.reason]), loss])).values(),
  ];
}

const entryColumns: readonly Column<CallDetail['entries'][number]>[] = [
  buildColumn('Number', 'number'),
  buildColumn('Kind', 'kind'),
  buildColumn('Time', 'at', ({ at }) => renderTime(at)),
  buildColumn('Charged', 'revenue', 'amount'),
];

function renderCallFacts(call: CallDetail) {
  const renderLink = (name: string, value: string | null, shown = value) =>
    value && html`<a href=${buildHref('calls', { [name]: value })}>${shown}</a>`;
  const keyId = call.key_name && html` <span class="mono dim">${call.key}</span>`;
  return renderFacts([
    ['Outcome', renderOutcome({ ...call, error_code: call.error_code ?? call.error?.code ?? null })],
    ['Error', call.error?.message],
    ['Started', renderTime(call.started)],
    ['Duration', formatDuration(call.duration_ms)],
    ['First event', formatDuration(call.first_event_ms)],
    ['Account', call.account && html`<a href=${buildHref(['accounts', call.account])}>${call.account}</a>`],
    ['Key', call.key && html`${renderLink('key', call.key, call.key_name || call.key)}${keyId}`],
    ['Protocol', `${call.protocol}, ${call.operation}${call.stream ? ', streamed' : ''}`],
    ['Model asked for', renderLink('model', call.model)],
    [call.outcome === 'failed' ? 'Last tried' : 'Answered by', call.answered_by],
    ['Provider', renderLink('provider', call.provider)],
    ['Client', call.client],
    ['Client address', call.address],
    [
      'Tags',
      Object.entries(call.tags).map(
        ([name, value]) =>
          html`<a href=${buildHref('calls', { tag: value ? `${name}:${value}` : name })}
              >${renderBadge(value ? `${name}: ${value}` : name)}</a
            >${' '}`,
      ),
    ],
    ['Flags', call.flags.map((flag) => html`${renderBadge(flag, 'warn')} `)],
  ]);
}

/** Where the figures of the cost come from. */
const bases: Readonly<Record<string, string>> = {
  usage: "by the provider's figures",
  estimate: 'estimated from the text',
};

function renderFigures(call: CallDetail) {
  return renderFacts([
    ['Cost', html`${renderUsd(call.cost)} <span class="dim">${bases[call.cost_basis]}</span>`],
    ['Reserved', renderUsd(call.reserved)],
    ['Refunded', call.refunded && renderUsd(call.refunded)],
    ...(Number(call.margin) === 0
      ? []
      : [['Vendor', renderUsd(call.vendor_cost)] as const, ['Margin', renderUsd(call.margin)] as const]),
    ...call.uses.flatMap((use) =>
      use.count > 0 ? [[`Used: ${nameUnit(use)}`, formatCount(use.count)] as const] : [],
    ),
  ]);
}

const renderPart = (title: string, body: ComponentChildren) =>
  html`<h2>${title}</h2>
    ${body}`;

function renderPlainTable<Row>(
  name: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  empty: string,
) {
  return renderTable({ name, columns, rows, empty, isPlain: true });
}

function renderSections(call: CallDetail) {
  const { timing, attempts, entries, losses_omitted: omitted } = call;
  return html`${
    timing.length > 0 && renderPart('Times', html`<section class="card">${renderWaterfall(timing)}</section>`)
  }
  ${renderPart('Attempts', renderPlainTable('Attempts', attemptColumns, attempts, 'No provider was called.'))}
  ${renderCostLines(entries)}
  ${renderPart(
    'Ledger entries',
    renderPlainTable('Ledger entries', entryColumns, entries, 'Nothing was reserved or charged.'),
  )}
  ${renderPart(
    'Losses and approximations',
    renderPlainTable(
      'Losses',
      lossColumns,
      listLosses(call),
      attempts.length === 0
        ? 'No provider was called.'
        : 'Nothing was lost: the provider got everything that the client sent.',
    ),
  )}
  ${omitted !== undefined && html`<p class="dim">${omitted} more were not stored.</p>`}
  ${renderPart('Routing', html`<section class="card">${renderRouting(call)}</section>`)}`;
}

function openRefund(id: string, cost: string): void {
  openForm({
    title: 'Refund this call',
    fields: [{ ...amountField, hint: 'At most what the call cost. A call is refunded once.' }, reasonField],
    values: { amount: cost },
    submit: 'Refund',
    async send(values) {
      const { status } = await callApi('POST /admin/refunds', {}, { call: id, ...values });
      if (status === 'already_credited') notify('Nothing was refunded: this call was refunded before', true);
    },
  });
}

export function CallDetail({ id }: { readonly id: string }) {
  const { data: call, error } = useData('GET /admin/calls/:id', { id });
  const refund =
    call &&
    call.cost !== '0' &&
    call.refunded === null &&
    renderAction('Refund', () => openRefund(id, call.cost), 'POST /admin/refunds');
  return html`${renderHead(
    html`Call <span class="mono">${id}</span>`,
    html`${refund}<a class="button" href=${buildHref('calls')}>All calls</a>`,
  )}
  ${renderProblem(error)}
  ${
    call &&
    html`<div class="columns">
        <section class="card">${renderCallFacts(call)}</section>
        <section class="card">${renderFigures(call)}</section>
      </div>
      ${renderSections(call)}`
  }`;
}
