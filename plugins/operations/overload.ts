/**
 * Refuses new calls before the gateway becomes useless to everyone: while its event loop lags, its memory
 * runs out or too many calls are open. They are refused at once, before their bodies are read, with a
 * `retry-after`. Running calls continue, and operators are served.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { z } from 'zod';
import { definePlugin, GatewayError } from '../../core/index.ts';
import { defineKnownCounter } from '../shared/metric.ts';

const options = z.strictObject({
  /**
   * Milliseconds that the event loop may lag, at the median of each of the last two seconds: one long pause
   * is no overload.
   */
  lag: z.number().positive().default(200),
  /** The share of the heap's limit that may be in use. */
  heap: z.number().gt(0).lte(1).default(0.9),
  /** Calls that may be open at once. */
  calls: z.int().positive().default(10_000),
});

/** What is exhausted, and its description. */
interface Strain {
  readonly reason: 'lag' | 'heap';
  readonly text: string;
}

/** Milliseconds between two checks. */
const every = 1000;
const nanoPerMilli = 1e6;

export const overload = definePlugin({
  name: 'overload',
  options,
  apply(host, limits) {
    const { hooks, readiness, logger } = host;
    const { running } = host.operations;
    const delay = monitorEventLoopDelay({ resolution: 20 });
    const shed = defineKnownCounter(host.metrics, {
      name: 'tollgate_overload_shed_total',
      help: 'Calls refused because of overload, by its cause.',
      label: 'reason',
      values: ['lag', 'heap', 'calls'],
    });
    let strain: Strain | undefined;
    let laggedBefore = false;
    let timer: NodeJS.Timeout | undefined;

    function look(): void {
      const lag = delay.percentile(50) / nanoPerMilli;
      const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
      delay.reset();
      const before = strain;
      const lags = lag > limits.lag;
      if (lags && laggedBefore)
        strain = { reason: 'lag', text: `its event loop lags by ${lag.toFixed(0)} ms` };
      else if (used > limit * limits.heap)
        strain = {
          reason: 'heap',
          text: `its heap holds ${((used / limit) * 100).toFixed(0)} % of what it may`,
        };
      else strain = undefined;
      laggedBefore = lags;
      if (strain !== undefined && before === undefined)
        logger.warn({ strain: strain.text }, 'overloaded: new calls are refused');
    }

    hooks.ready.tapPromise('overload', async () => {
      delay.enable();
      timer = setInterval(look, every).unref();
    });
    hooks.close.tapPromise('overload', async () => {
      clearInterval(timer);
      delay.disable();
    });
    // Before all other taps of `authenticate`: the caller does not matter while there is no room.
    // Operators have few requests, and need to see what is wrong.
    hooks.authenticate.tap({ name: 'overload', stage: -100 }, ({ access }) => {
      if (access === 'operator') return undefined;
      const reason = strain?.reason ?? (running.count > limits.calls ? 'calls' : undefined);
      if (reason === undefined) return undefined;
      shed.inc({ reason });
      throw new GatewayError('overloaded', 'The gateway is overloaded at the moment; try again soon.', {
        retryAfter: 2,
      });
    });
    readiness.add({ name: 'overload', findFault: () => strain?.text });
  },
});
