import { describe, expect, it } from 'vitest';
import { GatewayError, type Attempt, type Replayed, type Routed } from '../../core/index.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { routed } from '../support/exchange.ts';
import { startGateway } from '../support/gateway.ts';
import { createHost } from '../support/host.ts';
import {
  answered,
  clearRegistries,
  facts,
  samples,
  samplesAfter,
  scrape,
  target,
  watched,
} from './scraped.ts';

clearRegistries();

describe('GET /metrics', () => {
  it('reports the state of the process, with event loop and memory', async () => {
    const text = await scrape(watched());
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    expect(text).toContain('process_resident_memory_bytes');
  });

  it('is public and at the usual path', () => {
    expect(watched().routes.get('prometheus')).toMatchObject({
      method: 'GET',
      path: '/metrics',
      access: 'public',
    });
  });

  it.each([
    ['both', 200],
    ['admin', 404],
  ] as const)(
    'with the listener "%s" gets %i on the public listener, 200 on the other',
    async (listener, status) => {
      const gateway = await startGateway({ plugins: [demo(), admin({ port: 0 }), prometheus({ listener })] });
      const operators = findAdminUrl(gateway.printed);
      expect((await fetch(`${gateway.url}/metrics`)).status).toBe(status);
      const page = await fetch(`${operators}/metrics`);
      expect([page.status, await page.text()]).toEqual([
        200,
        expect.stringContaining('tollgate_requests_total'),
      ]);
      await gateway.close();
    },
  );

  it('cannot be for the admin listener alone where there is none', () => {
    expect(() => createHost([prometheus({ listener: 'admin' })])).toThrow(/needs the plugin "admin"/);
  });

  it('keeps counting after a reload', async () => {
    const before = watched();
    await before.calls.observe.promise(answered(before));
    const after = createHost([demo(), prometheus()], before.metrics);
    expect(await samplesAfter(after, answered(after))).toContain(
      'tollgate_requests_total{protocol="plain",model="demo/echo",provider="demo",code="200"} 2',
    );
  });
});

it('counts a replayed outcome by its status', async () => {
  const host = watched();
  const replayed: Replayed = {
    type: 'replayed',
    exchange: routed(target(host)),
    replay: { status: 200, headers: {}, body: new Uint8Array() },
    ...facts,
  };
  expect(await samplesAfter(host, replayed)).toContain(
    'tollgate_requests_total{protocol="plain",model="demo/echo",provider="none",code="200"} 1',
  );
});

it('counts attempts at their end, by provider and outcome', async () => {
  const host = watched();
  const during = (phase: Attempt['phase'], error?: GatewayError): void => {
    const exchange: Routed = routed(target(host), error ? { error } : {});
    exchange.attempt.phase = phase;
    host.calls.attempt.call(exchange.attempt, exchange);
  };
  during('start');
  during('first-event');
  during('end');
  during('end', new GatewayError('upstream_overloaded', 'busy'));
  expect((await samples(host)).filter((line) => line.startsWith('tollgate_upstream_attempts_total'))).toEqual(
    [
      'tollgate_upstream_attempts_total{provider="demo",outcome="ok"} 1',
      'tollgate_upstream_attempts_total{provider="demo",outcome="upstream_overloaded"} 1',
    ],
  );
});
