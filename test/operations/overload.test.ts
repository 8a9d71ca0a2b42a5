import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { overload } from '../../plugins/operations/overload.ts';
import { buildHead } from '../support/exchange.ts';
import { createHost, type TestHost } from '../support/host.ts';

const lag = vi.hoisted(() => ({ nanoseconds: 0 }));
vi.mock('node:perf_hooks', () => ({
  monitorEventLoopDelay: () => ({
    enable: () => true,
    disable: () => true,
    reset: () => undefined,
    percentile: () => lag.nanoseconds,
  }),
}));

function createBusyHost(options: Parameters<typeof overload>[0], calls = 0): TestHost {
  const host = createHost([overload(options)]);
  Object.assign(host.operations.running, { count: calls });
  return host;
}

/** How an overloaded gateway answers new calls. */
function knock(host: TestHost, access: 'user' | 'operator' = 'user'): Promise<unknown> {
  return Promise.try(() => host.calls.authenticate.promise({ ...buildHead('plain'), access })).catch(
    (error: unknown) => error,
  );
}

async function readShedReason(host: TestHost): Promise<string | undefined> {
  return /tollgate_overload_shed_total\{reason="(\w+)"\} 1/.exec(await host.metrics.metrics())?.[1];
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  lag.nanoseconds = 0;
});
afterEach(() => vi.useRealTimers());

describe('an overloaded gateway', () => {
  it('accepts calls while it has room', async () => {
    expect(await knock(createBusyHost({ calls: 10 }, 10))).toBeUndefined();
  });

  it('refuses one call too many, with a retry-after', async () => {
    const host = createBusyHost({ calls: 10 }, 11);
    expect(await knock(host)).toMatchObject({
      code: 'overloaded',
      status: 503,
      retry: true,
      details: { retryAfter: 2 },
    });
    expect(await readShedReason(host)).toBe('calls');
  });

  it('serves operators, who need to see why', async () => {
    expect(await knock(createBusyHost({ calls: 10 }, 11), 'operator')).toBeUndefined();
  });

  it('refuses calls and is not ready while its event loop lags, and accepts calls afterwards', async () => {
    const host = createBusyHost({ lag: 100 });
    await host.calls.ready.promise();
    lag.nanoseconds = 250e6;
    vi.advanceTimersByTime(2000);
    expect(await knock(host)).toMatchObject({ code: 'overloaded' });
    expect(await readShedReason(host)).toBe('lag');
    expect(host.readiness.get('overload').findFault()).toBe('its event loop lags by 250 ms');
    lag.nanoseconds = 20e6;
    vi.advanceTimersByTime(1000);
    expect([await knock(host), host.readiness.get('overload').findFault()]).toEqual([undefined, undefined]);
    await host.calls.close.promise();
  });

  it('accepts calls after one long pause of its event loop', async () => {
    const host = createBusyHost({ lag: 100 });
    await host.calls.ready.promise();
    for (const lagged of [250e6, 20e6, 250e6]) {
      lag.nanoseconds = lagged;
      vi.advanceTimersByTime(1000);
      expect([await knock(host), host.readiness.get('overload').findFault()]).toEqual([undefined, undefined]);
    }
    await host.calls.close.promise();
  });

  it('refuses calls while its heap is nearly full', async () => {
    const host = createBusyHost({ heap: 0.0001 });
    await host.calls.ready.promise();
    vi.advanceTimersByTime(1000);
    expect(await knock(host)).toMatchObject({ code: 'overloaded' });
    expect(await readShedReason(host)).toBe('heap');
    await host.calls.close.promise();
  });
});
