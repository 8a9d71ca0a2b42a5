import { Registry as MetricsRegistry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import {
  GatewayError,
  type Answered,
  type Attempt,
  type Charge,
  type End,
  type Failed,
  type Refused,
  type Replayed,
  type Routed,
  type Target,
} from '../../core/index.ts';
import { Cancellation } from '../../core/util/cancellation.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { received, routed, type Routing } from '../support/exchange.ts';
import { startGateway } from '../support/gateway.ts';
import { hostWith, type TestHost } from '../support/host.ts';
import { plainProtocol } from '../support/plain-protocol.ts';

const registries: MetricsRegistry[] = [];

function watched(): TestHost {
  const metrics = new MetricsRegistry();
  registries.push(metrics);
  return hostWith([demo(), prometheus()], metrics);
}

afterEach(() => {
  for (const registry of registries.splice(0)) registry.clear();
});

/** The metrics that Prometheus reads. */
async function scrape(host: TestHost): Promise<string> {
  const route = host.routes.get('prometheus');
  if (route.access !== 'public') throw new Error('not public');
  const { status, headers, body } = await route.handle({
    params: {},
    query: new URLSearchParams(),
    address: '::1',
    headers: {},
    body: undefined,
    text: '',
  });
  expect([status, headers?.['content-type']]).toEqual([200, expect.stringContaining('text/plain')]);
  return String(body);
}

/** The samples of the gateway's own metrics, without histogram buckets. */
async function samples(host: TestHost): Promise<string[]> {
  return (await scrape(host))
    .split('\n')
    .filter((line) => line.startsWith('tollgate_') && !line.includes('_bucket'));
}

function target(host: TestHost): Target {
  const [offer] = host.catalog.find('demo/echo');
  if (!offer) throw new Error('no demo model');
  return { ...offer, protocol: plainProtocol };
}

const facts = { attempts: [], duration: 1500, recording: undefined, losses: [] } as const;
const free: Charge = { cost: 0n, lines: [], usage: {}, rule: '', basis: 'none', suspect: false };

function answered(host: TestHost, more: Partial<Answered> = {}, routing: Routing = {}): Answered {
  return {
    type: 'answered',
    exchange: routed(target(host), routing),
    outcome: 'completed',
    error: undefined,
    charge: free,
    ...facts,
    ...more,
  };
}

function failed(host: TestHost, error: GatewayError, routing: Routing = {}): Failed {
  return { type: 'failed', exchange: routed(target(host), routing), error, charge: free, ...facts };
}

function refused(error: GatewayError, exchange: Refused['exchange'] = received('plain')): Refused {
  return { type: 'refused', exchange, error, ...facts };
}

async function samplesAfter(host: TestHost, ...ends: End[]): Promise<string[]> {
  for (const end of ends) await host.calls.observe.promise(end);
  return samples(host);
}

function cancelled(): Cancellation {
  const cancellation = new Cancellation();
  cancellation.cancel();
  return cancellation;
}

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
      const operators = findAdminUrl(gateway.told);
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
    expect(() => hostWith([prometheus({ listener: 'admin' })])).toThrow(/needs the plugin "admin"/);
  });

  it('keeps counting after a reload', async () => {
    const before = watched();
    await before.calls.observe.promise(answered(before));
    const after = hostWith([demo(), prometheus()], before.metrics);
    expect(await samplesAfter(after, answered(after))).toContain(
      'tollgate_requests_total{protocol="plain",model="demo/echo",provider="demo",code="200"} 2',
    );
  });
});

describe('an answered call', () => {
  it('is counted with its duration', async () => {
    const host = watched();
    const seen = await samplesAfter(host, answered(host), answered(host));
    expect(seen).toContain(
      'tollgate_requests_total{protocol="plain",model="demo/echo",provider="demo",code="200"} 2',
    );
    expect(seen).toContain(
      'tollgate_request_duration_seconds_sum{protocol="plain",model="demo/echo",provider="demo"} 3',
    );
    expect(seen).toContain(
      'tollgate_request_duration_seconds_count{protocol="plain",model="demo/echo",provider="demo"} 2',
    );
  });

  it('is measured from its headers to the first event of its stream, fallbacks included', async () => {
    const host = watched();
    const waiting = { waited: 2000, firstEventAfter: 250 };
    const seen = await samplesAfter(
      host,
      answered(host, {}, { ...waiting, stream: true }),
      answered(host, {}, waiting),
    );
    expect(seen).toContain(
      'tollgate_time_to_first_token_seconds_sum{model="demo/echo",provider="demo"} 2.25',
    );
    expect(seen).toContain('tollgate_time_to_first_token_seconds_count{model="demo/echo",provider="demo"} 1');
  });

  it('adds what it was charged for, in tokens that do not overlap', async () => {
    const host = watched();
    const usage = {
      input: 1000,
      cacheRead: 600,
      cacheWrite5m: 100,
      cacheWrite1h: 50,
      output: 70,
      reasoning: 30,
    };
    const seen = await samplesAfter(
      host,
      answered(host, {
        charge: { cost: 1_250_000n, lines: [], usage, rule: 'standard', basis: 'usage', suspect: false },
      }),
    );
    expect(seen.filter((line) => line.startsWith('tollgate_tokens_total'))).toEqual([
      'tollgate_tokens_total{type="input"} 250',
      'tollgate_tokens_total{type="cache_read"} 600',
      'tollgate_tokens_total{type="cache_write"} 150',
      'tollgate_tokens_total{type="output"} 40',
      'tollgate_tokens_total{type="reasoning"} 30',
    ]);
    expect(seen).toContain('tollgate_cost_usd_total{model="demo/echo",provider="demo"} 0.00125');
  });

  it('is counted by its error if the provider cut it, and as 499 if the client disconnected', async () => {
    const host = watched();
    const cut = answered(host, { outcome: 'cut', error: new GatewayError('upstream_failed', 'cut') });
    const aborted = answered(host, { outcome: 'aborted', error: new GatewayError('client_gone', 'gone') });
    const seen = await samplesAfter(host, cut, aborted);
    expect(seen).toContain(
      'tollgate_requests_total{protocol="plain",model="demo/echo",provider="demo",code="502"} 1',
    );
    expect(seen).toContain(
      'tollgate_requests_total{protocol="plain",model="demo/echo",provider="demo",code="499"} 1',
    );
    expect(seen).toContain('tollgate_client_aborts_total{phase="reply"} 1');
  });

  it('is counted with the fields it lost', async () => {
    const host = watched();
    const losses = [
      { path: 'tools[2].strict', reason: 'unknown', code: 'model' },
      { path: 'seed', reason: 'unknown', code: 'model' },
      { path: 'reply.audio', reason: 'no place', code: 'reply' },
    ] as const;
    const samples = await samplesAfter(host, answered(host, { losses }));
    expect(samples).toContain('tollgate_dropped_fields_total{protocol="plain",code="model"} 2');
    expect(samples).toContain('tollgate_dropped_fields_total{protocol="plain",code="reply"} 1');
  });
});

describe('a call that got no reply', () => {
  it('is counted by its error if every provider failed', async () => {
    const host = watched();
    const seen = await samplesAfter(host, failed(host, new GatewayError('timeout', 'late')));
    expect(seen).toContain(
      'tollgate_requests_total{protocol="plain",model="demo/echo",provider="demo",code="504"} 1',
    );
    expect(
      seen.some(
        (line) =>
          line.startsWith('tollgate_client_aborts_total') || line.startsWith('tollgate_refusals_total'),
      ),
    ).toBe(false);
  });

  it('is counted as aborted if its client disconnected', async () => {
    const host = watched();
    const seen = await samplesAfter(
      host,
      failed(host, new GatewayError('internal', 'aborted'), { cancellation: cancelled() }),
    );
    expect(seen).toContain(
      'tollgate_requests_total{protocol="plain",model="demo/echo",provider="demo",code="499"} 1',
    );
    expect(seen).toContain('tollgate_client_aborts_total{phase="waiting"} 1');
  });

  it('is counted as a refusal if no provider was called', async () => {
    const host = watched();
    const seen = await samplesAfter(
      host,
      refused(new GatewayError('out_of_balance', 'empty'), routed(target(host))),
      refused(new GatewayError('client_gone', 'gone')),
    );
    expect(seen).toContain(
      'tollgate_requests_total{protocol="plain",model="demo/echo",provider="none",code="402"} 1',
    );
    expect(seen).toContain('tollgate_refusals_total{code="out_of_balance"} 1');
    expect(seen).toContain('tollgate_client_aborts_total{phase="before-attempt"} 1');
  });

  it('creates no series for an unknown model, a key or an account', async () => {
    const host = watched();
    const exchange = routed(target(host));
    const call = { ...exchange.call, model: 'made/up' };
    const text = await samplesAfter(
      host,
      refused(new GatewayError('model_not_found', 'none'), { ...exchange, call }),
    );
    expect(text).toContain(
      'tollgate_requests_total{protocol="plain",model="other",provider="none",code="404"} 1',
    );
    expect(text.join('\n')).not.toMatch(/made\/up|account-1|key-1/);
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
