/** Hosts with metrics, and what a scrape of them says. */
import { Registry as MetricsRegistry } from 'prom-client';
import { afterEach, expect } from 'vitest';
import { type Answered, type Charge, type End, type Target } from '../../core/index.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { buildRouted, type Routing } from '../support/exchange.ts';
import { callRoute, createHost, type TestHost } from '../support/host.ts';
import { plainProtocol } from '../support/plain-protocol.ts';

const registries: MetricsRegistry[] = [];

export function createWatchedHost(): TestHost {
  const metrics = new MetricsRegistry();
  registries.push(metrics);
  return createHost([demo(), prometheus()], metrics);
}

/** The metrics that Prometheus reads. */
export async function scrape(host: TestHost): Promise<string> {
  const { status, headers, body } = await callRoute(host.routes.get('prometheus'));
  expect([status, headers?.['content-type']]).toEqual([200, expect.stringContaining('text/plain')]);
  return String(body);
}

/** The samples of the gateway's own metrics, without histogram buckets. */
export async function scrapeSamples(host: TestHost): Promise<string[]> {
  return (await scrape(host))
    .split('\n')
    .filter((line) => line.startsWith('tollgate_') && !line.includes('_bucket'));
}

export function requireTarget(host: TestHost): Target {
  const [offer] = host.catalog.find('demo/echo');
  if (!offer) throw new Error('no demo model');
  return { ...offer, protocol: plainProtocol };
}

export const facts = { attempts: [], duration: 1500, recording: undefined, losses: [] } as const;
export const free: Charge = { cost: 0n, lines: [], uses: [], rule: '', basis: 'none', suspect: false };

export function buildAnswered(host: TestHost, more: Partial<Answered> = {}, routing: Routing = {}): Answered {
  return {
    type: 'answered',
    exchange: buildRouted(requireTarget(host), routing),
    outcome: 'completed',
    error: undefined,
    charge: free,
    ...facts,
    ...more,
  };
}

export async function scrapeAfter(host: TestHost, ...ends: End[]): Promise<string[]> {
  for (const end of ends) await host.calls.observe.promise(end);
  return scrapeSamples(host);
}

export function clearRegistries(): void {
  afterEach(() => {
    for (const registry of registries.splice(0)) registry.clear();
  });
}
