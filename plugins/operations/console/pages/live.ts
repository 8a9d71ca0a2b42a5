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

/** Follows until the result is called. `before` are calls that were shown already. */
export function follow(show: (live: Live) => void, before: readonly Call[]): () => void {
  const calls = new Map(before.toReversed().map((call) => [call.id, call]));
  let state: Live['state'] = 'connecting';
  let ended = 0;
  let omitted = 0;
  let source: EventSource | undefined;
  let frame = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const draw = (): void => {
    if (frame !== 0) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      const all = [...calls.values()].toReversed();
      show({
        state,
        calls: all,
        running: all.filter(({ outcome }) => outcome === 'running').length,
        ended,
        omitted,
      });
    });
  };

  function keep(call: Call): void {
    calls.set(call.id, call);
    for (const id of calls.keys()) {
      if (calls.size <= mostLive) break;
      calls.delete(id);
    }
  }

  function listen(): void {
    const opened = new EventSource('/admin/events');
    source = opened;
    const turn = (next: Live['state']) => {
      state = next;
      draw();
    };
    const reconnect = () => {
      opened.close();
      turn('lost');
      timer = setTimeout(listen, pause);
    };
    opened.addEventListener('open', () => turn('open'));
    opened.addEventListener('error', reconnect);
    opened.addEventListener('dropped', reconnect);
    opened.addEventListener('start', ({ data }) => {
      const started: readonly Started[] = JSON.parse(data);
      for (const call of started) if (!calls.has(call.id)) keep(running(call));
      draw();
    });
    opened.addEventListener('end', ({ data }) => {
      const over: readonly Call[] = JSON.parse(data);
      ended += over.length;
      for (const call of over) keep(call);
      draw();
    });
    opened.addEventListener('omitted', ({ data }) => {
      omitted += Number(JSON.parse(data).events);
      draw();
    });
  }

  listen();
  return () => {
    source?.close();
    clearTimeout(timer);
    cancelAnimationFrame(frame);
  };
}
