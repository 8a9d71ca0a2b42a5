/** One call of the playground: sent with the key, read as it comes, and its exact cost afterwards. */
import { api } from './api.ts';
import { messageOf, signal, type Signal } from './kit.ts';
import { errorIn, hear, nothingSaid, readEvents, type Said } from './playground-replies.ts';
import type { Built } from './playground-requests.ts';

export interface Run {
  readonly said: Said;
  readonly events: readonly string[];
  readonly status: number | undefined;
  readonly headers: readonly (readonly [string, string])[];
  readonly error: string | undefined;
  /** Milliseconds to the first event, and to the end. */
  readonly first: number | undefined;
  readonly took: number | undefined;
  readonly id: string | undefined;
  /** Exact, once the ledger has it. */
  readonly cost: string | undefined;
}

/** Raw events that are kept. A long stream has many thousands. */
const mostEvents = 2000;

const atStart: Run = {
  said: nothingSaid(),
  events: [],
  status: undefined,
  headers: [],
  error: undefined,
  first: undefined,
  took: undefined,
  id: undefined,
  cost: undefined,
};

const shownHeaders = /^(x-|retry-after|content-type|anthropic-ratelimit)/;

interface StoredCall {
  readonly cost?: string;
  readonly outcome?: string;
}

/** The ledger has the entry at the latest a moment after the reply. */
async function costOf(id: string): Promise<string | undefined> {
  for (let tries = 0; tries < 8; tries += 1) {
    const call = await api.get<StoredCall>(`/admin/calls/${encodeURIComponent(id)}`).catch(() => undefined);
    if (call?.cost !== undefined && call.outcome !== 'running') return call.cost;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return undefined;
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

export interface Running {
  readonly run: Signal<Run>;
  stop(): void;
  /** Resolves when the call is over and its cost known, if it can be. */
  readonly done: Promise<Run>;
}

export function startRun(protocol: string, { path, headers, body }: Built, key: string): Running {
  const run = signal<Run>(atStart);
  const stopping = new AbortController();
  const began = performance.now();
  const change = (more: Partial<Run>): void => {
    run.value = { ...run.value, ...more };
  };
  const said = nothingSaid();
  const events: string[] = [];
  let isDrawing = false;
  const draw = (): void => {
    // At most once a frame: a fast stream has hundreds of events a second.
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      change({ said: { ...said }, events: [...events] });
    });
  };
  const take = (data: string): void => {
    if (events.length < mostEvents) events.push(data);
    const value = parse(data);
    hear(protocol, said, value);
    const error = errorIn(value);
    if (error !== undefined) change({ error });
    if (run.value.first === undefined) change({ first: performance.now() - began });
    draw();
  };
  async function send(): Promise<void> {
    const response = await fetch(`/console/calls${path}`, {
      method: 'POST',
      // The cookie says nothing here. The key pays.
      credentials: 'omit',
      headers: { ...headers, 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
      signal: stopping.signal,
    });
    change({
      status: response.status,
      id: response.headers.get('x-request-id') ?? undefined,
      headers: [...response.headers].filter(([name]) => shownHeaders.test(name)),
    });
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
    if (isStream && response.body) for await (const data of readEvents(response.body)) take(data);
    else take(await response.text());
  }
  async function finish(): Promise<Run> {
    try {
      await send();
    } catch (error) {
      change({ error: stopping.signal.aborted ? 'You stopped the call.' : messageOf(error) });
    }
    change({ said: { ...said }, events: [...events], took: performance.now() - began });
    const { id } = run.value;
    if (id !== undefined) change({ cost: await costOf(id) });
    return run.value;
  }
  return { run, stop: () => stopping.abort(), done: finish() };
}
