/**
 * Follows calls as they start and end. The list has a limit, so that an open page does not grow. The page
 * is drawn at most once a frame, however many calls arrive.
 */
import { checkSession } from './api.ts';
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

const mostLive = 200;
/** Milliseconds until the next attempt to connect. */
const pause = 2000;

type Started = Pick<Call, 'id' | 'account' | 'protocol' | 'stream' | 'model' | 'provider'> & {
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
    input: 0,
    output: 0,
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

/** Follows calls. Returns a function that stops it. `before` is what is already shown. */
export function follow(show: (live: Live) => void, { ended, omitted, ...before }: Live): () => void {
  const calls = new Map(before.calls.toReversed().map((call) => [call.id, call]));
  /** Also those beyond the limit of the list. */
  const running = new Set<string>();
  const counts: Pick<Live, 'state' | 'ended' | 'omitted'> = { state: 'connecting', ended, omitted };
  let frame = 0;

  function change(changes: Partial<typeof counts> = {}): void {
    Object.assign(counts, changes);
    if (frame !== 0) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      show({ ...counts, calls: [...calls.values()].toReversed(), running: running.size });
    });
  }

  function keep(call: Call): void {
    calls.set(call.id, call);
    for (const id of calls.keys()) {
      if (calls.size <= mostLive) break;
      calls.delete(id);
    }
  }

  function forgetRunning(): void {
    running.clear();
    for (const { id, outcome } of calls.values()) if (outcome === 'running') calls.delete(id);
  }

  function setState(state: Live['state']): void {
    // Calls that ran before may have ended while nothing was heard.
    if (state === 'open') forgetRunning();
    change({ state });
  }

  const stop = connect(setState, (source) => {
    source.addEventListener('start', ({ data }) => {
      const started: readonly Started[] = JSON.parse(data);
      for (const call of started) {
        if (calls.has(call.id)) continue;
        running.add(call.id);
        keep(toCall(call));
      }
      change();
    });
    source.addEventListener('end', ({ data }) => {
      const ended: readonly Call[] = JSON.parse(data);
      for (const call of ended) {
        running.delete(call.id);
        keep(call);
      }
      change({ ended: counts.ended + ended.length });
    });
    source.addEventListener('omitted', ({ data }) => {
      // The end of a call that is not shown may be among them.
      for (const id of running) if (!calls.has(id)) running.delete(id);
      change({ omitted: counts.omitted + Number(JSON.parse(data).events) });
    });
  });
  return () => {
    stop();
    cancelAnimationFrame(frame);
  };
}
