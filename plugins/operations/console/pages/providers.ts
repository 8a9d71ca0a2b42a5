/** The health of providers as the router sees it; operators let one rest, wake it, or test its key. */
import type { ProviderHealth, TargetHealth } from '../../../shared/replies/providers.ts';
import { ApiError, api, mayChange, useData } from './api.ts';
import { actionsColumn, column, countColumn, figureColumn, type Column } from './columns.ts';
import { count, duration, percent, when } from './format.ts';
import { html, useSignal, takeText } from './kit.ts';
import { attempt, badge, head, problem, tiles, type Tone } from './parts.ts';
import { openErrors, openRest, openTest, type Part } from './provider-dialogs.ts';
import { href } from './router.ts';
import { table } from './table.ts';

type Provider = ProviderHealth['providers'][number];

const states: Readonly<Record<string, readonly [text: string, tone: Tone]>> = {
  idle: ['no calls yet', 'plain'],
  well: ['well', 'good'],
  testing: ['being tested', 'warn'],
  resting: ['resting', 'warn'],
  partly: ['partly well', 'warn'],
  failing: ['failing', 'bad'],
  held: ['taken out', 'bad'],
};

const stateBadge = (state: string) => badge(...(states[state] ?? ([state, 'plain'] as const)));

const refresh = 5000;

async function wake(provider: string, part: Part, reload: () => void): Promise<void> {
  const path = `/admin/providers/${encodeURIComponent(provider)}/wake`;
  await attempt(() => api.post(path, part), `${provider} gets calls again`);
  reload();
}

/** Buttons that take a provider, or a part of it, out of service and back. */
function restButtons(provider: string, part: Part, state: string, reload: () => void) {
  const kind = part.model === undefined ? undefined : 'quiet';
  const isAsleep = state !== 'well' && state !== 'idle';
  return html`<button class=${kind} onClick=${() => openRest(provider, part, reload)}>Rest</button>${
      isAsleep && html`<button class=${kind} onClick=${() => wake(provider, part, reload)}>Wake</button>`
    }`;
}

function targetColumns(provider: string, reload: () => void): Column<TargetHealth>[] {
  return [
    column(
      'Model',
      ({ model }) => model,
      ({ model }) => html`<a href=${href('calls', { provider, model })}>${model}</a>`,
    ),
    figureColumn('Key', ({ key }) => key),
    column(
      'State',
      ({ state }) => state,
      ({ state, until, reason }) =>
        html`${stateBadge(state)} ${until && html`<span class="dim">until ${when(until)}</span>`}
        ${reason && html`<div class="dim">${reason.message}</div>`}`,
    ),
    countColumn('Attempts', ({ attempts }) => attempts),
    figureColumn(
      'Failed',
      ({ failed }) => failed,
      ({ failed, attempts }) => `${count(failed)} (${percent(failed, attempts)})`,
    ),
    figureColumn(
      'First event',
      ({ firstEventMs }) => firstEventMs.p50,
      ({ firstEventMs: { p50, p95 } }) => `${duration(p50)} / ${duration(p95)}`,
    ),
    column(
      'Last error',
      ({ lastErrors: [last] }) => last?.code,
      (target) =>
        target.lastErrors[0] &&
        html`<button class="link" onClick=${() => openErrors(provider, target)}>
          ${target.lastErrors[0].code}
        </button>`,
    ),
    actionsColumn(
      ({ key, model, state }) => mayChange() && restButtons(provider, { key, model }, state, reload),
    ),
  ];
}

function holdHint({ key, model, until, reason }: Provider['holds'][number]) {
  return html`<p class="hint">
    Taken out${key !== null && `, key ${key}`}${model !== null && `, ${model}`}
    ${' until '}${when(until)}${reason && `: ${reason}`}
  </p>`;
}

function Card({ of, reload }: { readonly of: Provider; readonly reload: () => void }) {
  const { provider, protocols, models, keys, canTest, state, targets, attempts, failed, firstEventMs } = of;
  const buttons =
    mayChange() &&
    html`${canTest && html`<button onClick=${() => openTest(provider)}>Test</button>`}
    ${restButtons(provider, {}, state, reload)}`;
  const columns = targetColumns(provider, reload);
  return html`<section class="card" aria-label=${provider}>
    ${head(html`${provider} ${stateBadge(state)}`, buttons, 'h2')}
    <p class="dim">
      ${count(models)} models, ${keys === 1 ? 'one key' : `${count(keys)} keys`}.
      ${` Speaks ${protocols.join(', ')}.`}
    </p>
    ${of.holds.map(holdHint)}
    ${tiles(
      ['Attempts', count(attempts), undefined, href('calls', { provider })],
      ['Failed', percent(failed, attempts), `${count(failed)} attempts`],
      ['Retries', attempts === 0 ? '–' : `${(of.retryShare * 100).toFixed(1)} %`, 'of its attempts'],
      [
        'First event',
        duration(firstEventMs.p50),
        firstEventMs.p95 !== null && `95 % within ${duration(firstEventMs.p95)}`,
      ],
    )}
    ${targets.length > 0 && table({ name: `Targets of ${provider}`, columns, rows: targets, isPlain: true })}
  </section>`;
}

function sinceOf({ since, workers }: ProviderHealth) {
  return html`Figures since ${when(since)}, of ${workers === 1 ? 'one process' : `${workers} workers`}.`;
}

export function Page() {
  const filter = useSignal('');
  const { data, error, reload } = useData<ProviderHealth>('/admin/providers', undefined, { every: refresh });
  const isMissing = error instanceof ApiError && error.status === 404;
  const word = filter.value.trim().toLowerCase();
  const shown = data?.providers.filter(({ provider }) => provider.includes(word)) ?? [];
  const search = html`<input
    type="search"
    placeholder="Filter"
    aria-label="Filter providers"
    value=${filter}
    onInput=${takeText((text) => (filter.value = text))}
  />`;
  const missing = html`<p class="empty">
    Add <code>health()</code> to the configuration to see the health of providers.
  </p>`;
  return html`${head('Providers', search)} ${isMissing ? missing : problem(error, reload)}
  ${data && html`<p class="dim">${sinceOf(data)}</p>`}
  ${!data && !error && html`<p class="empty" aria-busy="true">Loading …</p>`}
  ${
    data?.providers.length === 0 &&
    html`<p class="empty">No provider is on. Set the key of one, such as <code>OPENAI_API_KEY</code>.</p>`
  }
  ${shown.map((each) => html`<${Card} key=${each.provider} of=${each} reload=${reload} />`)}`;
}
