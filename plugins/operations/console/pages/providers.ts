/** The health of providers as the router sees it. Operators pause one, put it back, or test its keys. */
import type { ProviderHealth, TargetHealth, ProviderTest } from '../../../shared/replies/providers.ts';
import { ApiError, call, mayChange, useData } from './api.ts';
import { openForm, renderSearch } from './form.ts';
import { formatCount, formatDuration, formatPercent, formatThings, renderTime } from './format.ts';
import { html, useSignal, getMessage, openDialog, buildHref } from './kit.ts';
import { runAction, renderBadge, renderHead, renderProblem, renderTiles, type Tone } from './parts.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

const rests = [
  ['300', '5 minutes'],
  ['3600', '1 hour'],
  ['14400', '4 hours'],
  ['86400', '1 day'],
  ['604800', '1 week'],
] as const;

type Part = { readonly key?: number; readonly model?: string };

function namePart(provider: string, { key, model }: Part): string {
  return [provider, key && `key ${key}`, model].filter(Boolean).join(', ');
}

function openRest(provider: string, part: Part): void {
  openForm({
    title: `Pause: ${namePart(provider, part)}`,
    intro: 'It gets no calls until the time is over, even after a restart. Running calls finish.',
    fields: [
      { name: 'seconds', label: 'For', type: 'select', options: rests },
      { name: 'reason', label: 'Reason', hint: 'Shown here to other operators.' },
    ],
    values: { seconds: '3600' },
    submit: 'Pause',
    isDangerous: true,
    send({ seconds, reason }) {
      const order = { ...part, seconds: Number(seconds), reason };
      return call('POST /admin/providers/:provider/rest', { provider }, order);
    },
  });
}

function renderResult({ key, ok, milliseconds, findings }: ProviderTest['results'][number]) {
  return html`<h3>
      Key ${key} ${renderBadge(ok ? 'works' : 'does not work', ok ? 'good' : 'bad')}
      <span class="dim"> ${formatDuration(milliseconds)}</span>
    </h3>
    <ul>
      ${findings.map(
        ({ message, remedy }) =>
          html`<li>${message}${remedy && html`<br /><span class="dim">${remedy}</span>`}</li>`,
      )}
    </ul>`;
}

async function openTest(provider: string): Promise<void> {
  const show = (body: Parameters<typeof openDialog>[1]): void => openDialog(`Test: ${provider}`, body);
  show(html`<p aria-busy="true">Asking the provider …</p>`);
  try {
    const { results } = await call('POST /admin/providers/:provider/test', { provider });
    show(results.map(renderResult));
  } catch (error) {
    show(renderProblem(getMessage(error)));
  }
}

function openErrors(provider: string, { model, lastErrors }: TargetHealth): void {
  openDialog(
    `Last errors: ${provider}, ${model}`,
    html`<ul class="losses">
      ${lastErrors.map(
        ({ at, code, status, message }) =>
          html`<li>
            ${renderTime(at)} ${renderBadge(code, 'bad')} ${status !== null && `status ${status}`}
            <p>${message}</p>
          </li>`,
      )}
    </ul>`,
  );
}

type Provider = ProviderHealth['providers'][number];

const states: Readonly<Record<string, readonly [text: string, tone: Tone]>> = {
  idle: ['no calls yet', 'plain'],
  well: ['healthy', 'good'],
  testing: ['being tested', 'warn'],
  resting: ['resting', 'warn'],
  partly: ['partly healthy', 'warn'],
  failing: ['failing', 'bad'],
  held: ['paused', 'bad'],
};

const renderState = (state: string) => renderBadge(...(states[state] ?? ([state, 'plain'] as const)));

const refresh = 5000;

function wake(provider: string, part: Part): Promise<void> {
  return runAction(
    () => call('POST /admin/providers/:provider/wake', { provider }, part),
    `${provider} gets calls again`,
  );
}

/** A button whose name for screen readers tells it from those of other providers and models. */
function renderButton(title: string, provider: string, part: Part, act: () => void) {
  const kind = part.model === undefined ? undefined : 'quiet';
  return html`<button class=${kind} aria-label=${`${title} ${namePart(provider, part)}`} onClick=${act}>
    ${title}
  </button>`;
}

/** Buttons that take a provider, or a part of it, out of service and back. */
function renderRestButtons(provider: string, part: Part, state: string) {
  if (!mayChange('POST /admin/providers/:provider/rest')) return null;
  const isAsleep = state !== 'well' && state !== 'idle';
  return html`${renderButton('Pause', provider, part, () => openRest(provider, part))}${
    isAsleep && renderButton('Put back', provider, part, () => void wake(provider, part))
  }`;
}

/** Until when a target gets no calls. After a failure the first call from then on tests it. */
const renderUntil = (until: string) =>
  Date.parse(until) > Date.now() ? html`until ${renderTime(until, 'exact')}` : 'the next call tests it';

function buildColumns(provider: string): Column<TargetHealth>[] {
  return [
    buildColumn(
      'Model',
      'model',
      ({ model }) => html`<a href=${buildHref('calls', { provider, model })}>${model}</a>`,
    ),
    buildColumn('Key', 'key', 'figure'),
    buildColumn(
      'State',
      'state',
      ({ state, until, reason }) =>
        html`${renderState(state)}${until && html` <span class="dim">${renderUntil(until)}</span>`}
        ${reason && html`<div class="dim">${reason.message}</div>`}`,
    ),
    buildColumn('Attempts', 'attempts', 'count'),
    buildColumn(
      'Failed',
      'failed',
      ({ failed, attempts }) => `${formatCount(failed)} (${formatPercent(failed, attempts)})`,
      'figure',
    ),
    buildColumn(
      'First event',
      ({ firstEventMs }) => firstEventMs.p50,
      ({ firstEventMs: { p50, p95 } }) => `${formatDuration(p50)} / ${formatDuration(p95)}`,
      'figure',
    ),
    buildColumn(
      'Last error',
      ({ lastErrors: [last] }) => last?.code,
      (target) =>
        target.lastErrors[0] &&
        html`<button class="link" onClick=${() => openErrors(provider, target)}>
          ${target.lastErrors[0].code}
        </button>`,
    ),
    buildColumn('', undefined, ({ key, model, state }) => renderRestButtons(provider, { key, model }, state)),
  ];
}

function renderHold({ key, model, until, reason }: Provider['holds'][number]) {
  return html`<p class="hint">
    Taken out${key !== null && `, key ${key}`}${model !== null && `, ${model}`}
    ${' until '}${renderTime(until)}${reason && `: ${reason}`}
  </p>`;
}

function Card({ of }: { readonly of: Provider }) {
  const { provider, protocols, models, keys, canTest, state, targets, attempts, failed, firstEventMs } = of;
  const mayTest = canTest && mayChange('POST /admin/providers/:provider/test');
  const buttons = html`${mayTest && renderButton('Test', provider, {}, () => void openTest(provider))}
  ${renderRestButtons(provider, {}, state)}`;
  const columns = buildColumns(provider);
  return html`<section class="card" aria-label=${provider}>
    ${renderHead(html`${provider} ${renderState(state)}`, buttons, 'h2')}
    <p class="dim">
      ${formatThings(models, 'model')}, ${formatThings(keys, 'key')}. ${` Speaks ${protocols.join(', ')}.`}
    </p>
    ${of.holds.map(renderHold)}
    ${renderTiles(
      ['Attempts', formatCount(attempts), undefined, buildHref('calls', { provider })],
      ['Failed', formatPercent(failed, attempts), formatThings(failed, 'attempt')],
      ['Retries', attempts === 0 ? '–' : formatPercent(of.retryShare, 1), 'of its attempts'],
      [
        'First event',
        formatDuration(firstEventMs.p50),
        firstEventMs.p95 !== null && `95 % within ${formatDuration(firstEventMs.p95)}`,
      ],
    )}
    ${
      targets.length > 0 &&
      renderTable({ name: `Targets of ${provider}`, columns, rows: targets, isPlain: true })
    }
  </section>`;
}

function renderSince({ since, workers }: ProviderHealth) {
  const processes = workers === 1 ? 'one process' : `${workers} workers`;
  return html`Figures since ${renderTime(since)}, of ${processes}.`;
}

export function Page() {
  const filter = useSignal('');
  const { data, error } = useData('GET /admin/providers', undefined, { every: refresh });
  const isMissing = error instanceof ApiError && error.status === 404;
  const word = filter.value.trim().toLowerCase();
  const shown = data?.providers.filter(({ provider }) => provider.toLowerCase().includes(word)) ?? [];
  const missing = html`<p class="empty">
    Add <code>health()</code> to the configuration to see the health of providers.
  </p>`;
  return html`${renderHead('Providers', renderSearch('Filter providers', filter))}
  ${isMissing ? missing : renderProblem(error)} ${data && html`<p class="dim">${renderSince(data)}</p>`}
  ${!data && !error && html`<p class="empty" aria-busy="true">Loading …</p>`}
  ${
    data?.providers.length === 0 &&
    html`<p class="empty">No providers are on. Set a provider's key, such as <code>OPENAI_API_KEY</code>.</p>`
  }
  ${
    data &&
    data.providers.length > 0 &&
    shown.length === 0 &&
    html`<p class="empty">No provider contains “${filter}”.</p>`
  }
  ${shown.map((each) => html`<${Card} key=${each.provider} of=${each} />`)}`;
}
