/** The health of providers as the router sees it; operators let one rest, wake it, or test its key. */
import { ApiError, api, session, useData } from './api.ts';
import { countColumn } from './columns.ts';
import { count, duration, percent, Time } from './format.ts';
import { html, useSignal, takeText } from './kit.ts';
import { attempt, Badge, Fault, Head, Tile } from './parts.ts';
import { openErrors, openRest, openTest, type Hold, type Provider, type Target } from './provider-dialogs.ts';
import { href } from './router.ts';
import { Table, type Column } from './table.ts';

interface Overview {
  readonly since: string;
  readonly workers: number;
  readonly providers: readonly Provider[];
}

type Tone = 'plain' | 'good' | 'warn' | 'bad';

const states: Readonly<Record<string, readonly [text: string, tone: Tone]>> = {
  idle: ['no calls yet', 'plain'],
  well: ['well', 'good'],
  testing: ['being tested', 'warn'],
  resting: ['resting', 'warn'],
  partly: ['partly well', 'warn'],
  failing: ['failing', 'bad'],
  held: ['taken out', 'bad'],
};

function State({ of }: { readonly of: string }) {
  const [text, tone] = states[of] ?? [of, 'plain'];
  return html`<${Badge} tone=${tone}>${text}</${Badge}>`;
}

const refresh = 5000;

async function wake(provider: string, place: object, reload: () => void): Promise<void> {
  await attempt(
    () => api.post(`/admin/providers/${encodeURIComponent(provider)}/wake`, place),
    `${provider} gets calls again`,
  );
  reload();
}

const milliseconds = (value: number | null): string => (value === null ? '–' : duration(value));

function targetColumns(provider: string, reload: () => void): Column<Target>[] {
  const isChanging = !session.value?.readOnly;
  return [
    {
      title: 'Model',
      value: ({ model }) => model,
      cell: ({ model }) => html`<a href=${href('calls', { provider, model })}>${model}</a>`,
    },
    { title: 'Key', value: ({ key }) => key, isFigure: true },
    {
      title: 'State',
      value: ({ state }) => state,
      cell: ({ state, until, reason }) =>
        html`<${State} of=${state} /> ${until && html`<span class="dim">until <${Time} at=${until} /></span>`}
          ${reason && html`<div class="dim">${reason.message}</div>`}`,
    },
    countColumn('Attempts', ({ attempts }) => attempts),
    {
      title: 'Failed',
      value: ({ failed }) => failed,
      cell: ({ failed, attempts }) => `${count(failed)} (${percent(failed, attempts)})`,
      isFigure: true,
    },
    {
      title: 'First event',
      value: ({ firstEventMs }) => firstEventMs.p50,
      cell: ({ firstEventMs: { p50, p95 } }) => `${milliseconds(p50)} / ${milliseconds(p95)}`,
      isFigure: true,
    },
    {
      title: 'Last error',
      value: ({ lastErrors: [last] }) => last?.code,
      cell: (target) =>
        target.lastErrors[0] &&
        html`<button class="link" onClick=${() => openErrors(provider, target)}>
          ${target.lastErrors[0].code}
        </button>`,
    },
    {
      title: '',
      value: () => '',
      cell: ({ key, model, state }) =>
        isChanging &&
        html`<button class="quiet" onClick=${() => openRest(provider, { key, model }, reload)}>Rest</button>
          ${
            !['well', 'idle'].includes(state) &&
            html`<button class="quiet" onClick=${() => wake(provider, { key, model }, reload)}>Wake</button>`
          }`,
    },
  ];
}

function Holds({ of }: { readonly of: readonly Hold[] }) {
  return of.map(
    ({ key, model, until, reason }) =>
      html`<p class="hint">
        Taken out${key !== null && `, key ${key}`}${model !== null && `, ${model}`}${' until '}
        <${Time} at=${until} />${reason && `: ${reason}`}
      </p>`,
  );
}

function Card({ of, reload }: { readonly of: Provider; readonly reload: () => void }) {
  const { provider, protocols, models, keys, canTest, state, targets, attempts, failed, firstEventMs } = of;
  const isChanging = !session.value?.readOnly;
  return html`<section class="card" aria-label=${provider}>
    <header class="head">
      <h2>${provider} <${State} of=${state} /></h2>
      <div class="actions">
        ${
          isChanging &&
          html`${canTest && html`<button onClick=${() => openTest(provider)}>Test</button>`}
            <button onClick=${() => openRest(provider, {}, reload)}>Rest</button>
            ${
              !['well', 'idle'].includes(state) &&
              html`<button onClick=${() => wake(provider, {}, reload)}>Wake</button>`
            }`
        }
      </div>
    </header>
    <p class="dim">
      ${count(models)} models, ${keys === 1 ? 'one key' : `${count(keys)} keys`}.${' '}
      ${`Speaks ${protocols.join(', ')}`}.
    </p>
    <${Holds} of=${of.holds} />
    <div class="tiles">
      <${Tile} label="Attempts" value=${count(attempts)} href=${href('calls', { provider })} />
      <${Tile} label="Failed" value=${percent(failed, attempts)} note=${`${count(failed)} attempts`} />
      <${Tile}
        label="Retries"
        value=${attempts === 0 ? '–' : `${(of.retryShare * 100).toFixed(1)} %`}
        note="of its attempts"
      />
      <${Tile}
        label="First event"
        value=${milliseconds(firstEventMs.p50)}
        note=${`95 % within ${milliseconds(firstEventMs.p95)}`}
      />
    </div>
    ${
      targets.length > 0 &&
      html`<${Table}
        name=${`Targets of ${provider}`}
        columns=${targetColumns(provider, reload)}
        rows=${targets}
        empty=""
        isPlain
      />`
    }
  </section>`;
}

export function Page() {
  const filter = useSignal('');
  const { data, error, reload } = useData<Overview>('/admin/providers', undefined, refresh);
  const isMissing = error instanceof ApiError && error.status === 404;
  const word = filter.value.trim().toLowerCase();
  const shown = data?.providers.filter(({ provider }) => provider.includes(word)) ?? [];
  return html`<${Head} title="Providers">
      <input
        type="search"
        placeholder="Filter"
        aria-label="Filter providers"
        value=${filter}
        onInput=${takeText((text) => (filter.value = text))}
      />
    </${Head}>
    ${
      isMissing
        ? html`<p class="empty">
            Add <code>health()</code> to the configuration to see the health of providers.
          </p>`
        : html`<${Fault} error=${error} retry=${reload} />`
    }
    ${
      data &&
      html`<p class="dim">
        ${'Figures since '}
        <${Time}
          at=${data.since}
        />${data.workers === 1 ? ', of one process' : `, of ${data.workers} workers`}.
      </p>`
    }
    ${!data && !error && html`<p class="empty" aria-busy="true">Loading …</p>`}
    ${
      data?.providers.length === 0 &&
      html`<p class="empty">No provider is on. Set the key of one, such as <code>OPENAI_API_KEY</code>.</p>`
    }
    ${shown.map((each) => html`<${Card} key=${each.provider} of=${each} reload=${reload} />`)}`;
}
