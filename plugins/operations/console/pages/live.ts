/**
 * Follows calls as they start and end. The list has a limit, so that a page that is left open does not grow,
 * and the page is drawn at most once a frame, however many calls come.
 */
import type { Call } from './call-columns.ts';

export interface Live {
  readonly state: 'connecting' | 'open' | 'paused' | 'lost';
  /** The newest first. */
  readonly calls: readonly Call[];
  readonly running: number;
  readonly ended: number;
  /** Starts and ends that the gateway did not send, because too many came at once. */
  readonly omitted: number;
}

export const mostLive = 200;
/** Milliseconds until another connection is tried. */
const pause = 2000;

type Started = Pick<
  Call,
  'id' | 'account' | 'key' | 'protocol' | 'operation' | 'stream' | 'model' | 'provider'
> & {
  readonly at: string;
};

function running({ at, ...call }: Started): Call {
  return {
    ...call,
    started: at,
    answered_by: null,
    outcome: 'running',
    status: null,
    error_code: null,
    first_event_ms: null,
    duration_ms: null,
    attempts: 0,
    input: 0,
    output: 0,
    cached: 0,
    reasoning: 0,
    cost: '0',
    cost_basis: 'none',
  };
}

interface Heard {
  turned(state: Live['state']): void;
  began(calls: readonly Started[]): void;
  ended(calls: readonly Call[]): void;
  omitted(events: number): void;
}

/** Listens, again and again if the connection is lost, until the result is called. */
function listen(heard: Heard): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  function open(): void {
    const opened = new EventSource('/admin/events');
    source = opened;
    const reconnect = () => {
      opened.close();
      heard.turned('lost');
      timer = setTimeout(open, pause);
    };
    opened.addEventListener('open', () => heard.turned('open'));
    opened.addEventListener('error', reconnect);
    opened.addEventListener('dropped', reconnect);
    opened.addEventListener('start', ({ data }) => heard.began(JSON.parse(data)));
    opened.addEventListener('end', ({ data }) => heard.ended(JSON.parse(data)));
    opened.addEventListener('omitted', ({ data }) => heard.omitted(Number(JSON.parse(data).events)));
  }
  open();
  return () => {
    source?.close();
    clearTimeout(timer);
  };
}

/** Follows until the result is called. `before` are calls that were shown already. */
export function follow(show: (live: Live) => void, before: readonly Call[]): () => void {
  const calls = new Map(before.toReversed().map((call) => [call.id, call]));
  const live: { state: Live['state']; ended: number; omitted: number } = {
    state: 'connecting',
    ended: 0,
    omitted: 0,
  };
  let frame = 0;

  const draw = (): void => {
    if (frame !== 0) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      const all = [...calls.values()].toReversed();
      show({ ...live, calls: all, running: all.filter(({ outcome }) => outcome === 'running').length });
    });
  };

  function keep(call: Call): void {
    calls.set(call.id, call);
    for (const id of calls.keys()) {
      if (calls.size <= mostLive) break;
      calls.delete(id);
    }
  }

  const stop = listen({
    turned(state) {
      live.state = state;
      draw();
    },
    began(started) {
      for (const call of started) if (!calls.has(call.id)) keep(running(call));
      draw();
    },
    ended(over) {
      live.ended += over.length;
      for (const call of over) keep(call);
      draw();
    },
    omitted(events) {
      live.omitted += events;
      draw();
    },
  });
  return () => {
    stop();
    cancelAnimationFrame(frame);
  };
}
