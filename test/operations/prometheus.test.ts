import { expect, it } from 'vitest';
import { GatewayError, type Attempt, type Replayed, type Routed } from '../../core/index.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { buildRouted } from '../support/exchange.ts';
import { startGateway } from '../support/gateway.ts';
import { createHost } from '../support/host.ts';
import {
  buildAnswered,
  clearRegistries,
  facts,
  scrapeSamples,
  scrapeAfter,
  scrape,
  requireTarget,
  createWatchedHost,
} from './scraped.ts';

clearRegistries();

it('GET /metrics reports the state of the process, with event loop and memory', async () => {
  const text = await scrape(createWatchedHost());
  expect(text).toContain('nodejs_eventloop_lag_seconds');
  expect(text).toContain('process_resident_memory_bytes');
});

it('GET /metrics is public and at the usual path', () => {
  expect(createWatchedHost().routes.get('prometheus')).toMatchObject({
    method: 'GET',
    path: '/metrics',
    access: 'public',
  });
});

it.each([
  ['both', 200],
  ['admin', 404],
] as const)(
  'GET /metrics with the listener "%s" gets %i on the public listener, 200 on the other',
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

it('GET /metrics cannot be for the admin listener alone where there is none', () => {
  expect(() => createHost([prometheus({ listener: 'admin' })])).toThrow(/needs the plugin "admin"/);
});

it('GET /metrics keeps counting after a reload', async () => {
  const before = createWatchedHost();
  await before.calls.observe.promise(buildAnswered(before));
  const after = createHost([demo(), prometheus()], before.metrics);
  expect(await scrapeAfter(after, buildAnswered(after))).toContain(
    'tollgate_requests_total{protocol="plain",model="demo/echo",provider="demo",code="200"} 2',
  );
});

it('counts a replayed outcome by its status', async () => {
  const host = createWatchedHost();
  const replayed: Replayed = {
    type: 'replayed',
    exchange: buildRouted(requireTarget(host)),
    replay: { status: 200, headers: {}, body: new Uint8Array() },
    ...facts,
  };
  expect(await scrapeAfter(host, replayed)).toContain(
    'tollgate_requests_total{protocol="plain",model="demo/echo",provider="none",code="200"} 1',
  );
});

it('counts attempts at their end, by provider and outcome', async () => {
  const host = createWatchedHost();
  const enterPhase = (phase: Attempt['phase'], error?: GatewayError): void => {
    const exchange: Routed = buildRouted(requireTarget(host), error ? { error } : {});
    exchange.attempt.phase = phase;
    host.calls.attempt.call(exchange.attempt, exchange);
  };
  enterPhase('start');
  enterPhase('first-event');
  enterPhase('end');
  enterPhase('end', new GatewayError('upstream_overloaded', 'busy'));
  expect(
    (await scrapeSamples(host)).filter((line) => line.startsWith('tollgate_upstream_attempts_total')),
  ).toEqual([
    'tollgate_upstream_attempts_total{provider="demo",outcome="ok"} 1',
    'tollgate_upstream_attempts_total{provider="demo",outcome="upstream_overloaded"} 1',
  ]);
});
