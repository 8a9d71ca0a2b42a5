/** One call of the playground: sent with the key, read as it comes, and its exact cost afterwards. */
import { getMessage, signal, type Signal } from './kit.ts';
import { parseJson } from './marked-json.ts';
import { readError, hear, createSaid, readEvents, type Said } from './playground-replies.ts';
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
  said: createSaid(),
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

/** Where calls are sent, and how a finished one is found. */
export interface CallPlace {
  /** What comes before the path of a call. */
  readonly base: string;
  find(id: string): Promise<StoredCall>;
}

/** The ledger has the entry at the latest a moment after the reply. */
async function findCost(id: string, { find }: CallPlace): Promise<string | undefined> {
  for (let tries = 0; tries < 8; tries += 1) {
    const call = await find(id).catch(() => undefined);
    if (call?.cost !== undefined && call.outcome !== 'running') return call.cost;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return undefined;
}

/** Browsers say little of a connection that is lost: `Failed to fetch`. */
function explainFailure(error: unknown, { status }: Run): string {
  if (!(error instanceof TypeError)) return getMessage(error);
  return status === undefined
    ? 'Cannot reach the gateway. Is it running?'
    : 'The connection to the gateway was lost in the middle of the reply.';
}

function readHead({ status, headers }: Response): Pick<Run, 'status' | 'id' | 'headers'> {
  return {
    status,
    id: headers.get('x-request-id') ?? undefined,
    headers: [...headers].filter(([name]) => shownHeaders.test(name)),
  };
}

/** The events of a stream, or the whole reply at once. */
async function* readTexts(response: Response): AsyncGenerator<string> {
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
  if (isStream && response.body) yield* readEvents(response.body);
  else yield await response.text();
}

export interface Running {
  readonly run: Signal<Run>;
  stop(): void;
  /** Resolves when the call is over and its cost known, if it can be. */
  readonly done: Promise<Run>;
}

export function startRun(
  protocol: string,
  { path, headers, body }: Built,
  key: string,
  at: CallPlace,
): Running {
  const run = signal<Run>(atStart);
  const stopping = new AbortController();
  const began = performance.now();
  const change = (more: Partial<Run>): void => {
    run.value = { ...run.value, ...more };
  };
  const said = createSaid();
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
    const value = parseJson(data);
    hear(protocol, said, value);
    const error = readError(value);
    if (error !== undefined) change({ error });
    if (run.value.first === undefined) change({ first: performance.now() - began });
    draw();
  };
  async function send(): Promise<void> {
    const response = await fetch(at.base + path, {
      method: 'POST',
      // The cookie does not authorize calls. The key pays.
      credentials: 'omit',
      headers: { ...headers, 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
      signal: stopping.signal,
    });
    change(readHead(response));
    for await (const data of readTexts(response)) take(data);
  }
  async function finish(): Promise<Run> {
    try {
      await send();
    } catch (error) {
      const reason = stopping.signal.aborted ? 'You stopped the call.' : explainFailure(error, run.value);
      change({ error: reason });
    }
    change({ said: { ...said }, events: [...events], took: performance.now() - began });
    const { id } = run.value;
    if (id !== undefined) change({ cost: await findCost(id, at) });
    return run.value;
  }
  return { run, stop: () => stopping.abort(), done: finish() };
}
