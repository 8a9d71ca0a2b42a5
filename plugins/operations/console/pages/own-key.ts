/**
 * What key holders see of their key: a bar for every budget that counts it, what it spent by day and model,
 * and each of its calls, with the reason of a refusal in words.
 */
import type { OwnCallRecord } from '../../../shared/replies/calls.ts';
import type { OwnKey } from '../../../shared/replies/spending.ts';
import { useData } from './api.ts';
import { attemptColumns } from './call.ts';
import { Chart, getColourClass, type Series } from './chart.ts';
import {
  formatCount,
  formatDollars,
  formatDuration,
  formatShortUsd,
  formatUtcDay,
  nameUnit,
  renderTime,
  renderUsd,
} from './format.ts';
import { buildHref, html, useMemo } from './kit.ts';
import { renderFacts, renderHead, renderProblem, renderState } from './parts.ts';
import { renderTable } from './table.ts';

const day = 24 * 3_600_000;
/** Models with a colour of their own. */
const mostModels = 7;

/** What each model cost on each day; those that cost the least are one series. */
function buildSeries({ data }: OwnKey['usage'], days: readonly string[]): Series[] {
  const byModel = Map.groupBy(data, ({ model }) => model || 'none');
  const sum = (rows: OwnKey['usage']['data']): number =>
    rows.reduce((all, { cost }) => all + Number(cost), 0);
  const ranked = [...byModel].toSorted(([, one], [, other]) => sum(other) - sum(one));
  const rest = ranked.slice(mostModels).flatMap(([, rows]) => rows);
  const named = rest.length > 0 ? [...ranked.slice(0, mostModels), ['others', rest] as const] : ranked;
  return named.map(([name, rows], colour) => {
    const values = days.map((day) => sum(rows.filter((row) => row.day === day)));
    return { name, colour, values, texts: values.map((cost) => formatDollars(cost.toFixed(9))) };
  });
}

export function UsageChart({ usage }: { readonly usage: OwnKey['usage'] }) {
  const { days, series } = useMemo(() => {
    const [from, to] = [Date.parse(usage.from), Date.parse(usage.to)];
    const all = Array.from({ length: Math.round((to - from) / day) }, (_, index) =>
      new Date(from + index * day).toISOString().slice(0, 10),
    );
    return { days: all, series: buildSeries(usage, all) };
  }, [usage]);
  return html`<section class="card">
    <${Chart}
      label="Spend by day and model"
      kind="bars"
      buckets=${days.map(formatUtcDay)}
      series=${series}
      format=${formatShortUsd}
    />
    <div class="chips legend">
      ${series.map(({ name, colour }) => html`<span><i class=${getColourClass(colour)}></i>${name}</span>`)}
    </div>
  </section>`;
}

/** Why a call was refused or failed, by its code. The message that the client got says more. */
const reasons: Readonly<Record<string, string>> = {
  budget_exceeded: 'A budget that counts this key is used up, or the call could cost more than it leaves.',
  out_of_balance: 'The balance, or what the key may spend, is less than the call could cost.',
  rate_limited: 'Too many calls or tokens in a short time. It works again after a while.',
  forbidden: 'The key may not be used so: its models, networks, protocols or operations are limited.',
  model_not_found: 'The gateway has no model of this name for this key.',
  invalid_request: 'The request has a fault.',
  unsupported_parameter: 'The model does not support something that the request asks for.',
  context_length_exceeded: 'The conversation is longer than the model can read.',
  content_policy_violation: 'The provider refused the content.',
  overloaded: 'The gateway had no room for another call.',
  upstream_failed: 'The provider failed, and so did all others that were asked.',
  upstream_overloaded: 'The provider had no room for another call.',
  timeout: 'The provider took too long.',
  client_gone: 'The client closed the connection.',
};

function renderCall(call: OwnCallRecord) {
  const { error, losses, attempts } = call;
  const facts = renderFacts([
    ['Outcome', html`${renderState(call.outcome)} <span class="dim">${error?.code}</span>`],
    ['Why', error && (reasons[error.code] ?? 'The message says why.')],
    ['Message', error?.message],
    ['Started', renderTime(call.created * 1000)],
    ['Duration', formatDuration(call.duration_ms)],
    ['Protocol', `${call.protocol}, ${call.operation}${call.stream ? ', streamed' : ''}`],
    ['Model asked for', call.model],
    ['Answered by', call.answered_by],
    ['Provider', call.provider],
    ['Cost', renderUsd(call.cost)],
    ...call.usage
      .filter(({ count }) => count > 0)
      .map((use) => [`Used: ${nameUnit(use)}`, formatCount(use.count)] as const),
    ['Left out', losses.map(({ path, reason }) => html`<div><code>${path}</code> ${reason}</div>`)],
  ]);
  return html`<section class="card">${facts}</section>
    <h2>Attempts</h2>
    ${renderTable({
      name: 'Attempts',
      columns: attemptColumns,
      rows: attempts,
      empty: 'No provider was called.',
      isPlain: true,
    })}`;
}

export function OwnCallPage({ id, apiKey }: { readonly id: string; readonly apiKey: string }) {
  const { data: call, error } = useData('GET /v1/calls/:id', { id }, { key: apiKey });
  const back = html`<a class="button" href=${buildHref('')}>My key</a>`;
  return html`${renderHead(html`Call <span class="mono">${id}</span>`, back, 'h2')} ${renderProblem(error)}
  ${call && renderCall(call)}`;
}
