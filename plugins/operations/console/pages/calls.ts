/** Calls as they start and end, and past ones by every filter. */
import { ApiError, buildUrl, useList, checkSession, reload } from './api.ts';
import { buildCallColumns, type Call } from './call-columns.ts';
import { CallDetail } from './call.ts';
import {
  bindQuery,
  bindState,
  chooseView,
  isTyped,
  renderInput,
  renderSelect,
  type State,
  toLocalTime,
} from './form.ts';
import { formatCount } from './format.ts';
import { html, useEffect, useSignal, setQuery, type Place, type Params, type Signal } from './kit.ts';
import { renderBadge, renderHead, type Tone } from './parts.ts';
import { NameInput, type Found } from './search.ts';
import { renderTable } from './table.ts';

interface Live {
  readonly state: 'connecting' | 'open' | 'paused' | 'lost';
  /** The newest first. */
  readonly calls: readonly Call[];
  readonly running: number;
  readonly ended: number;
  /** Starts and ends that the gateway did not send, because too many came at once. */
  readonly omitted: number;
}

const callColumns = buildCallColumns();

const mostLive = 200;
/** Milliseconds until the next attempt to connect. */
const pause = 2000;

type Named = 'id' | 'account' | 'key' | 'key_name' | 'protocol' | 'stream' | 'model' | 'provider';
type Started = Pick<Call, Named> & {
  readonly at: string;
};

function toCall({ at, ...call }: Started): Call {
  return {
    ...call,
    started: at,
    answered_by: null,
    outcome: 'running',
    error_code: null,
    first_event_ms: null,
    duration_ms: null,
    uses: [],
    cost: '0',
  };
}

/** Connects, and reconnects when the connection is lost. Returns a function that stops it. */
function connect(turn: (state: Live['state']) => void, listen: (source: EventSource) => void): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  function open(): void {
    const opened = new EventSource('/admin/events');
    source = opened;
    const reconnect = () => {
      opened.close();
      turn('lost');
      void checkSession();
      timer = setTimeout(open, pause);
    };
    opened.addEventListener('open', () => turn('open'));
    opened.addEventListener('error', reconnect);
    opened.addEventListener('dropped', reconnect);
    listen(opened);
  }
  open();
  return () => {
    source?.close();
    clearTimeout(timer);
  };
}

/** Follows calls, after those that are already shown. Returns a function that stops it. */
function follow(live: Signal<Live>): () => void {
  const calls = new Map(live.value.calls.toReversed().map((call) => [call.id, call]));
  /** Also those beyond the limit of the list. */
  const running = new Set<string>();

  function show(changes: Partial<Live> = {}): void {
    const shown = { calls: [...calls.values()].toReversed(), running: running.size };
    live.value = { ...live.value, ...changes, ...shown };
  }

  function keep(call: Call): void {
    calls.set(call.id, call);
    for (const id of calls.keys()) {
      if (calls.size <= mostLive) break;
      calls.delete(id);
    }
  }

  function setState(state: Live['state']): void {
    // Calls that ran before may have ended while nothing was heard.
    if (state === 'open') {
      running.clear();
      for (const { id, outcome } of calls.values()) if (outcome === 'running') calls.delete(id);
    }
    show({ state });
  }

  return connect(setState, (source) => {
    source.addEventListener('start', ({ data }) => {
      const started: readonly Started[] = JSON.parse(data);
      for (const call of started) {
        if (calls.has(call.id)) continue;
        running.add(call.id);
        keep(toCall(call));
      }
      show();
    });
    source.addEventListener('end', ({ data }) => {
      const ended: readonly Call[] = JSON.parse(data);
      for (const call of ended) {
        running.delete(call.id);
        keep(call);
      }
      show({ ended: live.value.ended + ended.length });
    });
    source.addEventListener('omitted', ({ data }) => {
      // The end of a call that is not shown may be among them.
      for (const id of running) if (!calls.has(id)) running.delete(id);
      show({ omitted: live.value.omitted + Number(JSON.parse(data).events) });
    });
  });
}

const outcomes = ['error', 'completed', 'aborted', 'cut', 'refused', 'failed', 'replayed'];
const filters: Readonly<Record<string, string>> = {
  id: 'Call id',
  model: 'Model',
  account: 'Account',
  key: 'Key',
  provider: 'Provider',
  protocol: 'Protocol',
  outcome: 'Outcome',
  tag: 'Tag',
  from: 'From',
  to: 'To',
  minCost: 'Min cost in USD',
  maxCost: 'Max cost in USD',
};

/** A moment of the query in the format of a `datetime-local` input. */
function bindMoment(name: string): State {
  const state = bindQuery(name);
  return bindState(
    () => toLocalTime(state.value).slice(0, 16),
    (text) => {
      if (isTyped(text)) state.value = text === '' ? '' : new Date(text).toISOString();
    },
  );
}

/** Filters that name what exists. */
const kinds: Readonly<Record<string, Found['kind']>> = {
  model: 'model',
  account: 'account',
  key: 'key',
  provider: 'provider',
  tag: 'tag',
};

function renderFilter([name, label]: readonly [string, string]) {
  const state = bindQuery(name);
  const kind = kinds[name];
  if (name === 'outcome') return renderSelect(label, [['', 'all'], ...outcomes], state);
  if (name === 'from' || name === 'to')
    return renderInput(label, bindMoment(name), { type: 'datetime-local' });
  const placeholder = name === 'tag' ? 'team:search' : '';
  if (kind !== undefined) return html`<${NameInput} ...${{ label, state, kind, placeholder }} />`;
  // The key `/` goes to the field of ids.
  return renderInput(label, state, { type: name === 'id' ? 'search' : 'text' });
}

/** An error about a filter, which names it as the page does and not as the API does. */
function nameFilter(error: Error | undefined): Error | undefined {
  const param = error instanceof ApiError ? (error.param ?? '') : '';
  const label = filters[param];
  return error && label !== undefined ? new Error(error.message.replace(`${param}: `, `${label}: `)) : error;
}

function Past({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const names = Object.keys(filters);
  const params: Params = Object.fromEntries(names.map((name) => [name, query[name]]));
  const list = useList('GET /admin/calls', params);
  const clear = (): void => setQuery(Object.fromEntries(names.map((name) => [name, undefined])));
  const isUnfiltered = names.every((name) => query[name] === undefined);
  const csv = buildUrl('GET /admin/calls', { ...params, format: 'csv', limit: 1000 });
  const isOpen = useSignal(false);
  const stated = names.filter((name) => query[name] !== undefined).length;
  return html`<button
      class="fold"
      aria-expanded=${String(isOpen.value)}
      onClick=${() => (isOpen.value = !isOpen.value)}
    >
      Filters${stated > 0 && ` (${stated})`}
    </button>
    <div class=${`filters card ${isOpen.value ? '' : 'folded'}`}>
      ${Object.entries(filters).map(renderFilter)}
    </div>
    ${renderTable({
      name: 'Calls',
      columns: callColumns,
      ...list,
      error: nameFilter(list.error),
      getKey: ({ id }) => id,
      isFiltered: true,
      isCompact: true,
      files: { '1000 calls as CSV': csv },
      tools: html`${!isUnfiltered && html`<button class="quiet" onClick=${clear}>Clear filters</button>`}
        <button class="quiet" disabled=${list.loading} onClick=${reload}>Reload</button>`,
      empty: `${
        isUnfiltered ? 'No calls yet.' : 'No stored calls match these filters.'
      } Calls are stored for 30 days unless configured otherwise.`,
    })}`;
}

const states: Readonly<Record<Live['state'], readonly [text: string, tone: Tone]>> = {
  connecting: ['Connecting', 'plain'],
  open: ['Live', 'good'],
  paused: ['Paused', 'warn'],
  lost: ['Connection lost, trying again', 'bad'],
};

function Following() {
  const live = useSignal<Live>({ state: 'connecting', calls: [], running: 0, ended: 0, omitted: 0 });
  const isPaused = useSignal(false);
  useEffect(() => {
    if (isPaused.value) {
      live.value = { ...live.value, state: 'paused' };
      return undefined;
    }
    return follow(live);
  }, [isPaused.value]);
  const { state, calls, running, ended, omitted } = live.value;
  return html`<p class="row start" role="status">
      ${renderBadge(...states[state])}
      <span class="dim">
        ${formatCount(running)} running, ${formatCount(ended)} ended while you
        watched${omitted > 0 && `; ${formatCount(omitted)} starts and ends came too fast and are not shown`}
      </span>
      <span class="space"></span>
      <button onClick=${() => (isPaused.value = !isPaused.value)}>
        ${isPaused.value ? 'Continue' : 'Pause'}
      </button>
    </p>
    ${renderTable({
      name: 'Live calls',
      isCompact: true,
      columns: callColumns,
      rows: calls,
      getKey: ({ id }) => id,
      empty: 'Calls appear here as they start and end.',
    })}`;
}

export function Page({ place: { path, query } }: { readonly place: Place }) {
  const [, id] = path;
  if (id !== undefined) return html`<${CallDetail} key=${id} id=${id} />`;
  const { choice, render } = chooseView(bindQuery('show', 'past'), [
    ['past', 'Past', () => html`<${Past} query=${query} />`],
    ['live', 'Live', () => html`<${Following} />`],
  ]);
  return html`${renderHead('Calls', choice)} ${render()}`;
}
