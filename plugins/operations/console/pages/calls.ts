/** Calls as they start and end, and past ones by every filter. */
import { address, type Params } from './api.ts';
import { callColumns, type Call } from './call-columns.ts';
import { CallDetail } from './call.ts';
import { count } from './format.ts';
import { html, useEffect, useSignal } from './kit.ts';
import { useList } from './lists.ts';
import { follow, type Live } from './live.ts';
import { Badge, Choice, Fault, Head } from './parts.ts';
import { setQuery, type Place } from './router.ts';
import { Table } from './table.ts';

interface Filter {
  readonly name: string;
  readonly label: string;
  readonly options?: readonly string[];
  readonly type?: string;
  readonly placeholder?: string;
}

const outcomes = ['', 'error', 'completed', 'aborted', 'cut', 'refused', 'failed', 'replayed'];
const filters: readonly Filter[] = [
  { name: 'id', label: 'Call id' },
  { name: 'model', label: 'Model' },
  { name: 'account', label: 'Account' },
  { name: 'key', label: 'Key id' },
  { name: 'provider', label: 'Provider' },
  { name: 'protocol', label: 'Protocol' },
  { name: 'outcome', label: 'Outcome', options: outcomes },
  { name: 'tag', label: 'Tag', placeholder: 'name or name:value' },
  { name: 'from', label: 'From', type: 'datetime-local' },
  { name: 'to', label: 'To', type: 'datetime-local' },
  { name: 'minCost', label: 'Least cost in USD' },
  { name: 'maxCost', label: 'Most cost in USD' },
];

/** A moment of the address as an input of local time takes it. */
function localTime(iso: string | undefined): string {
  const date = new Date(iso ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function Filters({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const change =
    (name: string, type?: string) => (event: { currentTarget: HTMLInputElement | HTMLSelectElement }) => {
      const text = event.currentTarget.value.trim();
      const value = type === 'datetime-local' && text !== '' ? new Date(text).toISOString() : text;
      setQuery({ [name]: value });
    };
  const field = ({ name, label, options, type, placeholder }: Filter) =>
    html`<label class="filter-field"
      ><span>${label}</span>${
        options
          ? html`<select aria-label=${label} onChange=${change(name)}>
              ${options.map(
                (each) =>
                  html`<option value=${each} selected=${each === (query[name] ?? '')}>
                    ${each || 'all'}
                  </option>`,
              )}
            </select>`
          : html`<input
              type=${type ?? (name === 'id' ? 'search' : 'text')}
              value=${type ? localTime(query[name]) : (query[name] ?? '')}
              placeholder=${placeholder}
              onChange=${change(name, type)}
              spellcheck=${false}
            />`
      }</label
    >`;
  return html`<div class="filters card">${filters.map(field)}</div>`;
}

function Past({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const params: Params = Object.fromEntries(filters.map(({ name }) => [name, query[name]]));
  const { rows, error, reload, more, loading } = useList<Call>('/admin/calls', params);
  return html`<${Filters} query=${query} />
    <${Fault} error=${error} retry=${reload} />
    <${Table}
      name="Calls"
      columns=${callColumns}
      rows=${rows}
      error=${error}
      rowKey=${({ id }: Call) => id}
      more=${more}
      tools=${html`<button
          class="quiet"
          disabled=${!filters.some(({ name }) => query[name] !== undefined)}
          onClick=${() => setQuery(Object.fromEntries(filters.map(({ name }) => [name, undefined])))}
        >
          Clear
        </button>
        <button class="quiet" disabled=${loading} onClick=${reload}>Reload</button>
        <a class="button" href=${address('/admin/calls', { ...params, format: 'csv', limit: 1000 })} download
          >1000 calls as CSV</a
        >`}
      empty=${
        'No stored call has these properties. ' +
        'Calls are kept for 30 days unless the configuration says otherwise.'
      }
    />`;
}

const states: Readonly<Record<Live['state'], readonly [tone: string, text: string]>> = {
  connecting: ['plain', 'Connecting'],
  open: ['good', 'Live'],
  paused: ['warn', 'Paused'],
  lost: ['bad', 'Connection lost, trying again'],
};

function Following() {
  const live = useSignal<Live>({ state: 'connecting', calls: [], running: 0, ended: 0, omitted: 0 });
  const isPaused = useSignal(false);
  useEffect(() => {
    if (isPaused.value) {
      live.value = { ...live.value, state: 'paused' };
      return undefined;
    }
    return follow((next) => (live.value = next), live.value.calls);
  }, [isPaused.value]);
  const { state, calls, running, ended, omitted } = live.value;
  const [tone, text] = states[state];
  return html`<p class="row start" role="status">
      <${Badge} tone=${tone}>${text}</${Badge}>
      <span class="dim">${count(running)} running, ${count(ended)} ended since you opened this page${
        omitted > 0 && `; ${count(omitted)} starts and ends came too fast and are not shown`
      }</span>
      <span class="space"></span>
      <button onClick=${() => (isPaused.value = !isPaused.value)}>
        ${isPaused.value ? 'Continue' : 'Pause'}
      </button>
    </p>
    <${Table}
      name="Live calls"
      columns=${callColumns}
      rows=${calls}
      rowKey=${({ id }: Call) => id}
      empty="Calls appear here as they start and end."
    />`;
}

function All({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const show = query['show'] === 'live' ? 'live' : 'past';
  return html`<${Head} title="Calls">
      <${Choice}
        label="Show"
        options=${[
          ['past', 'Past'],
          ['live', 'Live'],
        ]}
        value=${show}
        onChange=${(value: string) => setQuery({ show: value === 'live' ? 'live' : '' })}
      />
    </${Head}>
    ${show === 'live' ? html`<${Following} />` : html`<${Past} query=${query} />`}`;
}

export function Page({ place: { path, query } }: { readonly place: Place }) {
  const [, id] = path;
  return id === undefined ? html`<${All} query=${query} />` : html`<${CallDetail} key=${id} id=${id} />`;
}
