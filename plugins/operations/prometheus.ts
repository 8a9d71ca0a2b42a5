/**
 * What the gateway does, for Prometheus to read at `GET /metrics`. Label values come from closed sets: protocols,
 * providers and error codes, and models of the catalogue, every other one being `other`. No key and no account
 * is ever a label, and what a client made up never makes a new series.
 */
import { collectDefaultMetrics, Counter, Histogram, type Registry } from 'prom-client';
import { z } from 'zod';
import { definePlugin, toGatewayError, type Answered, type Charge, type End, type Failed, type Host } from '../../core/index.ts';

const seconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640];
const firstTokenSeconds = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4];
const nanoPerUsd = 1e9;
const none = 'none';

/** A reload applies the plugin again, and what was counted so far must go on counting: a metric that is there is taken as it is. */
function metricsIn(registry: Registry) {
  function count<Label extends string>(name: string, labelNames: Label[], help: string): Counter<Label> {
    const existing = registry.getSingleMetric(name);
    return existing instanceof Counter ? existing : new Counter({ name, help, labelNames, registers: [registry] });
  }
  function measure<Label extends string>(name: string, labelNames: Label[], buckets: number[], help: string): Histogram<Label> {
    const existing = registry.getSingleMetric(name);
    return existing instanceof Histogram ? existing : new Histogram({ name, help, labelNames, buckets, registers: [registry] });
  }
  const where: ('protocol' | 'model' | 'provider')[] = ['protocol', 'model', 'provider'];
  return {
    requests: count('tollgate_requests_total', [...where, 'code'], 'Calls by how they ended: 200 is a whole reply, 499 a client that left.'),
    duration: measure('tollgate_request_duration_seconds', where, seconds, 'From the head of a call to its end.'),
    firstToken: measure('tollgate_time_to_first_token_seconds', ['model', 'provider'], firstTokenSeconds, 'From the head of a streamed call to the first event of its reply.'),
    tokens: count('tollgate_tokens_total', ['type'], 'Tokens charged for. Types do not overlap: cached and reasoning tokens count as such only.'),
    cost: count('tollgate_cost_usd_total', ['model', 'provider'], 'What calls were charged, in USD.'),
    attempts: count('tollgate_upstream_attempts_total', ['provider', 'outcome'], 'Attempts at a provider: ok, or why there was no whole reply.'),
    aborts: count('tollgate_client_aborts_total', ['phase'], 'Clients that left: before a provider was asked, while waiting for it, or during the reply.'),
    refusals: count('tollgate_refusals_total', ['code'], 'Calls refused before any provider was asked.'),
    dropped: count('tollgate_dropped_fields_total', ['protocol', 'code'], 'Parts of requests and replies that could not be said as they were, by the client\'s protocol and the kind of loss.'),
  };
}

type Metrics = ReturnType<typeof metricsIn>;

/** Where a call ended, in label values; a model the client made up is `other`. */
function placeOf(end: End, { catalog }: Host): { protocol: string; model: string; provider: string } {
  const protocol = end.exchange.family;
  if (end.type === 'failed' || end.type === 'answered') {
    const { model, provider } = end.exchange.attempt.target;
    return { protocol, model: model.id, provider: provider.name };
  }
  const asked = end.exchange.call?.model;
  return { protocol, model: asked !== undefined && catalog.find(asked).length > 0 ? asked : 'other', provider: none };
}

function codeOf(end: End, left: boolean): string {
  if (end.type === 'replayed') return String(end.replay.status);
  if (left) return '499';
  return String(end.error?.status ?? 200);
}

/** When the client left, if it did. */
function abortPhase(end: End): 'before-attempt' | 'waiting' | 'reply' | undefined {
  if (end.type === 'answered') return end.outcome === 'aborted' ? 'reply' : undefined;
  if (end.type === 'replayed' || !(end.error.code === 'client_gone' || end.exchange.signal.aborted)) return undefined;
  return end.type === 'failed' ? 'waiting' : 'before-attempt';
}

/** Usage in parts that add up: what is cached or reasoning is taken out of the whole it belongs to. */
function tokenParts({ usage }: Charge): (readonly [type: string, count: number])[] {
  const { cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, reasoning = 0 } = usage;
  const cacheWrite = cacheWrite5m + cacheWrite1h;
  return [
    ['input', Math.max(0, (usage.input ?? 0) - cacheRead - cacheWrite)],
    ['cache_read', cacheRead],
    ['cache_write', cacheWrite],
    ['output', Math.max(0, (usage.output ?? 0) - reasoning)],
    ['reasoning', reasoning],
  ];
}

function countCharge({ tokens, cost }: Metrics, { charge }: Failed | Answered, labels: { model: string; provider: string }): void {
  for (const [type, count] of tokenParts(charge)) if (count > 0) tokens.inc({ type }, count);
  if (charge.cost > 0n) cost.inc(labels, Number(charge.cost) / nanoPerUsd);
}

function countEnd(metrics: Metrics, end: End, host: Host): void {
  const place = placeOf(end, host);
  const { protocol, model, provider } = place;
  const phase = abortPhase(end);
  metrics.requests.inc({ ...place, code: codeOf(end, phase !== undefined) });
  metrics.duration.observe(place, end.duration / 1000);
  if (phase) metrics.aborts.inc({ phase });
  for (const { code } of end.losses) metrics.dropped.inc({ protocol, code });
  if (end.type === 'refused') metrics.refusals.inc({ code: end.error.code });
  if (end.type === 'failed' || end.type === 'answered') countCharge(metrics, end, { model, provider });
  if (end.type === 'answered' && end.exchange.call.stream) {
    const { attempt, startedAt } = end.exchange;
    metrics.firstToken.observe({ model, provider }, (attempt.startedAt - startedAt + (attempt.firstEventAfter ?? 0)) / 1000);
  }
}

export const prometheus = definePlugin({
  name: 'prometheus',
  options: z.strictObject({}),
  apply(host) {
    const registry = host.metrics;
    const metrics = metricsIn(registry);
    if (!registry.getSingleMetric('process_cpu_seconds_total')) collectDefaultMetrics({ register: registry });
    host.hooks.observe.tapPromise('prometheus', async (end) => countEnd(metrics, end, host));
    host.hooks.attempt.tap('prometheus', ({ phase, target, error }) => {
      if (phase === 'end') metrics.attempts.inc({ provider: target.provider.name, outcome: error?.code ?? 'ok' });
    });
    host.routes.add({
      name: 'prometheus',
      method: 'GET',
      path: '/metrics',
      access: 'public',
      handle: async () => ({ status: 200, headers: { 'content-type': registry.contentType }, body: await host.scrape() }),
      errors: (error) => ({ status: toGatewayError(error).status, body: { error: toGatewayError(error).message } }),
    });
  },
});
