/** One call: its times as a waterfall, what it cost line by line, what was lost, and how it was routed. */
import { session, useData } from './api.ts';
import { Outcome, type Call } from './call-columns.ts';
import { amountColumn } from './columns.ts';
import { openRefund } from './corrections.ts';
import { CostLines, type Entry } from './cost-lines.ts';
import { count, duration, Time } from './format.ts';
import { html } from './kit.ts';
import { wordOf } from './marked-json.ts';
import { Amount } from './money.ts';
import { Badge, Code, Facts, Fault, Head } from './parts.ts';
import { href } from './router.ts';
import { Table, type Column } from './table.ts';
import { Waterfall, type Step } from './waterfall.ts';

interface Target {
  readonly provider: string;
  readonly model: string;
  readonly key?: number;
}

interface Loss {
  readonly path: string;
  readonly reason: string;
  readonly code: string;
}

interface Attempt {
  readonly number: number;
  readonly provider: string;
  readonly model: string;
  readonly outcome: string;
  readonly message?: string;
  readonly status: number | null;
  readonly first_event_ms: number | null;
  readonly duration_ms: number | null;
  readonly cost: string;
  readonly losses: readonly Loss[];
}

interface Routing {
  readonly by: string;
  readonly reason: string;
  readonly removed: readonly Target[];
  readonly order: readonly Target[];
}

interface Detail extends Omit<Call, 'attempts'> {
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly losses: readonly Loss[];
  readonly losses_omitted?: number;
  readonly not_granted?: readonly Target[];
  readonly attempts: readonly Attempt[];
  readonly usage: unknown;
  readonly timing?: readonly Step[];
  readonly routing?: readonly Routing[];
  readonly entries?: readonly Entry[];
}

function target({ provider, model, key }: Target): string {
  return `${provider}${key === undefined ? '' : ` (key ${key})`} · ${model}`;
}

function RoutingSteps({ steps, call }: { readonly steps: readonly Routing[]; readonly call: Detail }) {
  if (steps.length === 0 && !call.not_granted?.length)
    return html`<p class="dim">
      No target was skipped or moved: they were asked in the order of the model.
    </p>`;
  return html`<ol class="routing">
    ${steps.map(
      ({ by, reason, removed, order }) =>
        html`<li>
          <strong>${by}</strong> ${reason && html`<span class="dim">${reason}</span>`}
          ${removed.map((each) => html`<div class="fault">skipped ${target(each)}</div>`)}
          ${
            order.length > 0 &&
            html`<div>${order.map((each, index) => html`${index > 0 && ' → '}${target(each)}`)}</div>`
          }
        </li>`,
    )}
    ${call.not_granted?.map(
      (each) =>
        html`<li>
          <strong>balance</strong>
          <div class="fault">not reserved for ${target(each)}: it could cost more</div>
        </li>`,
    )}
  </ol>`;
}

const attemptColumns: readonly Column<Attempt>[] = [
  { title: '#', value: ({ number }) => number, isFigure: true },
  { title: 'Provider', value: ({ provider }) => provider },
  { title: 'Model', value: ({ model }) => model },
  {
    title: 'Outcome',
    value: ({ outcome, message }) => `${outcome} ${message ?? ''}`,
    cell: ({ outcome, message, status }) =>
      html`<${Badge} tone=${outcome === 'completed' ? 'good' : 'bad'}>${outcome}</${Badge}>
        ${status !== null && html` <span class="dim">${status}</span>`}${message && html`<br />${message}`}`,
  },
  {
    title: 'First event',
    value: ({ first_event_ms: ms }) => ms,
    cell: ({ first_event_ms: ms }) => duration(ms),
    isFigure: true,
  },
  {
    title: 'Duration',
    value: ({ duration_ms: ms }) => ms,
    cell: ({ duration_ms: ms }) => duration(ms),
    isFigure: true,
  },
  amountColumn('Cost', ({ cost }) => cost),
];

const lossColumns: readonly Column<Loss>[] = [
  { title: 'Field', value: ({ path }) => path, cell: ({ path }) => html`<code>${path}</code>` },
  {
    title: 'What happened',
    value: (loss) => `${wordOf(loss)} ${loss.code}`,
    cell: (loss) =>
      html`<${Badge} tone=${wordOf(loss) === 'dropped' ? 'bad' : 'warn'}>${wordOf(loss)}</${Badge}>${
        loss.code !== wordOf(loss) && html` <span class="dim">${loss.code}</span>`
      }`,
  },
  { title: 'Why', value: ({ reason }) => reason },
];

/** Those of the call and of its attempts, which mostly are the same. */
function lossesOf({ losses, attempts }: Detail): Loss[] {
  const all = [...losses, ...attempts.flatMap((attempt) => attempt.losses)];
  return [
    ...new Map(all.map((loss) => [JSON.stringify([loss.path, loss.code, loss.reason]), loss])).values(),
  ];
}

const entryColumns: readonly Column<Entry>[] = [
  { title: 'Number', value: ({ number }) => number, isFigure: true },
  { title: 'Kind', value: ({ kind }) => kind },
  { title: 'Time', value: ({ at }) => at, cell: ({ at }) => html`<${Time} at=${at} />` },
  amountColumn('Charged', ({ revenue }) => revenue),
];

function Facets({ call }: { readonly call: Detail }) {
  const link = (name: string, value: string | null) =>
    value && html`<a href=${href('calls', { [name]: value })}>${value}</a>`;
  return html`<section class="card">
    <${Facts}
      of=${[
        [
          'Outcome',
          html`<${Outcome} call=${{ ...call, error_code: call.error_code ?? call.error?.code ?? null }} />`,
        ],
        ['Error', call.error?.message],
        ['Started', html`<${Time} at=${call.started} />`],
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
          Object.entries(call.tags ?? {}).map(
            ([name, value]) => html`<${Badge}>${value ? `${name}: ${value}` : name}</${Badge}> `,
          ),
        ],
        ['Flags', (call.flags ?? []).map((flag) => html`<${Badge} tone="warn">${flag}</${Badge}> `)],
      ]}
    />
  </section>`;
}

function Figures({ call }: { readonly call: Detail }) {
  return html`<section class="card">
    <${Facts}
      of=${[
        ['Cost', html`<${Amount} usd=${call.cost} /> <span class="dim">by ${call.cost_basis}</span>`],
        ['Vendor', html`<${Amount} usd=${call.vendor_cost} />`],
        ['Margin', html`<${Amount} usd=${call.margin} />`],
        ['Input tokens', count(call.input)],
        ['of them cached', count(call.cached)],
        ['Output tokens', count(call.output)],
        ['of them reasoning', count(call.reasoning)],
      ]}
    />
    <details>
      <summary>Usage as booked</summary>
      <${Code} text=${JSON.stringify(call.usage, null, 2)} />
    </details>
  </section>`;
}

const part = (title: string, body: unknown) =>
  html`<h2>${title}</h2>
    ${body}`;

function Sections({ call }: { readonly call: Detail }) {
  return html`${
      call.timing &&
      call.timing.length > 0 &&
      part('Times', html`<section class="card"><${Waterfall} steps=${call.timing} /></section>`)
    }
    ${part(
      'Attempts',
      html`<${Table}
        name="Attempts"
        columns=${attemptColumns}
        rows=${call.attempts}
        isPlain
        empty="No provider was called."
      />`,
    )}
    <${CostLines} of=${call.entries ?? []} />
    ${
      call.entries &&
      part(
        'Ledger entries',
        html`<${Table}
          name="Ledger entries"
          columns=${entryColumns}
          rows=${call.entries}
          isPlain
          empty="Nothing was reserved or charged."
        />`,
      )
    }
    ${part(
      'Losses and approximations',
      html`<${Table}
          name="Losses"
          columns=${lossColumns}
          rows=${lossesOf(call)}
          isPlain
          empty="Nothing was lost: the provider got everything that the client sent."
        />
        ${
          call.losses_omitted !== undefined &&
          html`<p class="dim">${call.losses_omitted} more are not kept.</p>`
        }`,
    )}
    ${part(
      'Routing',
      html`<section class="card"><${RoutingSteps} steps=${call.routing ?? []} call=${call} /></section>`,
    )}`;
}

export function CallDetail({ id }: { readonly id: string }) {
  const { data: call, error, reload } = useData<Detail>(`/admin/calls/${encodeURIComponent(id)}`);
  return html`<${Head} title=${html`Call <span class="mono">${id}</span>`}>${
    call &&
    call.cost !== '0' &&
    !session.value?.readOnly &&
    html`<button onClick=${() => openRefund(id, call.cost, reload)}>Refund</button>`
  }<a class="button" href=${href('calls')}>All calls</a></${Head}>
    <${Fault} error=${error} retry=${reload} />
    ${
      call &&
      html`<div class="columns">
          <${Facets} call=${call} />
          <${Figures} call=${call} />
        </div>
        <${Sections} call=${call} />`
    }`;
}
