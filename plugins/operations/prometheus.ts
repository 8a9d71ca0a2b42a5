/**
 * What the gateway does, for Prometheus to read at `GET /metrics`. Labels only have values from closed sets:
 * protocols, providers, error codes and the models of the catalogue; any other model is `other`. So no key or
 * account is ever a label, and no client can begin a new series.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { AggregatorRegistry, collectDefaultMetrics, type Registry } from 'prom-client';
import { z } from 'zod';
import {
  definePlugin,
  GatewayError,
  lossCodes,
  nameCounts,
  toGatewayError,
  type Charge,
  type End,
  type Host,
  type Supervisor,
} from '../../core/index.ts';
import { defineCallCounter } from '../shared/call-counter.ts';
import { defineCounter, defineGauge, defineHistogram } from '../shared/metric.ts';
import { sumCacheWrites } from '../shared/wire-kit/cache-writes.ts';

const seconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640];
const firstTokenSeconds = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4];
const overheadSeconds = [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 1, 5];
const nanoPerUsd = 1e9;
const none = 'none';

const placeLabels: ('protocol' | 'model' | 'provider')[] = ['protocol', 'model', 'provider'];

/** How calls end, as their clients see it. */
function createCallMetrics(registry: Registry) {
  return {
    requests: defineCallCounter(
      registry,
      'tollgate_requests_total',
      'Calls by how they ended: 200 is a whole reply, 499 a client that disconnected.',
      [...placeLabels, 'code'],
    ),
    duration: defineHistogram(
      registry,
      'tollgate_request_duration_seconds',
      'Seconds from the headers of a call to its end.',
      { buckets: seconds, labelNames: placeLabels },
    ),
    aborts: defineCounter(
      registry,
      'tollgate_client_aborts_total',
      'Clients that disconnected: before a provider was called, while waiting for it, or during the reply.',
      ['phase'],
    ),
    refusals: defineCounter(
      registry,
      'tollgate_refusals_total',
      'Calls refused before any provider was called.',
      ['code'],
    ),
    strangers: defineCounter(
      registry,
      'tollgate_auth_failures_total',
      'Calls without a known key, or with one that must not be used.',
      ['protocol'],
    ),
    dropped: defineCounter(
      registry,
      'tollgate_dropped_fields_total',
      'Parts of requests and replies that were lost in translation, ' +
        "by the client's protocol and the kind of loss.",
      ['protocol', 'code'],
    ),
  };
}

/** What providers answer, how fast, and what it costs. */
function createProviderMetrics(registry: Registry) {
  return {
    firstToken: defineHistogram(
      registry,
      'tollgate_time_to_first_token_seconds',
      'Seconds from the headers of a streamed call to the first event of its reply.',
      { buckets: firstTokenSeconds, labelNames: ['model', 'provider'] },
    ),
    overhead: defineHistogram(
      registry,
      'tollgate_overhead_seconds',
      'Seconds of a call outside its providers: reading, checking, reserving, settling.',
      { buckets: overheadSeconds, labelNames: ['protocol'] },
    ),
    streams: defineGauge(registry, 'tollgate_streams_open', 'Streamed replies that are open.'),
    tokens: defineCallCounter(
      registry,
      'tollgate_tokens_total',
      'Tokens charged. Types do not overlap: cached and reasoning tokens count as such only.',
      ['type'],
    ),
    units: defineCallCounter(
      registry,
      'tollgate_units_total',
      'What calls used of each unit. Those of input and output include their parts and modalities.',
      ['unit', 'modality'],
    ),
    cost: defineCallCounter(registry, 'tollgate_cost_usd_total', 'What calls were charged, in USD.', [
      'model',
      'provider',
    ]),
    attempts: defineCallCounter(
      registry,
      'tollgate_upstream_attempts_total',
      'Attempts at a provider: ok, or why there was no whole reply.',
      ['provider', 'outcome'],
    ),
    fallbacks: defineCounter(
      registry,
      'tollgate_fallbacks_total',
      'Failed attempts followed by one at another target, by the provider that failed.',
      ['provider'],
    ),
    retries: defineCounter(
      registry,
      'tollgate_retries_total',
      'Failed attempts followed by one at the same target, by the provider.',
      ['provider'],
    ),
    unreadable: defineCounter(
      registry,
      'tollgate_unreadable_events_total',
      'Events of streamed replies that could not be read and were skipped.',
      ['provider'],
    ),
  };
}

function createMetrics(registry: Registry) {
  return { ...createCallMetrics(registry), ...createProviderMetrics(registry) };
}

type Metrics = ReturnType<typeof createMetrics>;

/** The labels of the place where a call ended. A model that does not exist is `other`. */
function describePlace(end: End, { catalog }: Host): { protocol: string; model: string; provider: string } {
  const protocol = end.exchange.family;
  if (end.type === 'failed' || end.type === 'answered') {
    const { model, provider } = end.exchange.attempt.target;
    return { protocol, model: model.id, provider: provider.name };
  }
  const asked = end.exchange.call?.model;
  return {
    protocol,
    model: asked !== undefined && catalog.find(asked).length > 0 ? asked : 'other',
    provider: none,
  };
}

function getCode(end: End, isAborted: boolean): string {
  if (end.type === 'replayed') return String(end.replay.status);
  if (isAborted) return '499';
  return String(end.error?.status ?? 200);
}

/** When the client disconnected; undefined if it did not. */
function findAbortPhase(end: End): 'before-attempt' | 'waiting' | 'reply' | undefined {
  if (end.type === 'answered') return end.outcome === 'aborted' ? 'reply' : undefined;
  if (end.type === 'replayed' || !(end.error.code === 'client_gone' || end.exchange.cancellation.clientLeft))
    return undefined;
  return end.type === 'failed' ? 'waiting' : 'before-attempt';
}

/**
 * Counts what was used of each unit, and tokens by types that do not overlap: cached and reasoning tokens are
 * subtracted from the sums that include them.
 */
function countUses({ tokens, units }: Metrics, { uses }: Charge): void {
  for (const { unit, modality = '', count } of uses) if (count > 0) units.count([unit, modality], count);
  const usage = nameCounts(uses);
  const { cacheRead = 0, reasoning = 0 } = usage;
  const cacheWrite = sumCacheWrites(usage) ?? 0;
  const count = (type: string, more: number): void => {
    if (more > 0) tokens.count([type], more);
  };
  count('input', (usage.input ?? 0) - cacheRead - cacheWrite);
  count('cache_read', cacheRead);
  count('cache_write', cacheWrite);
  count('output', (usage.output ?? 0) - reasoning);
  count('reasoning', reasoning);
}

/** Milliseconds from the first attempt's start to the last one's end. */
function computeVendorTime({ attempts }: End): number {
  const last = attempts.at(-1);
  return last ? last.startedAt + (last.duration ?? 0) - (attempts[0]?.startedAt ?? 0) : 0;
}

function countEnd(metrics: Metrics, end: End, host: Host): undefined {
  const place = describePlace(end, host);
  const { protocol, model, provider } = place;
  const phase = findAbortPhase(end);
  metrics.requests.count([protocol, model, provider, getCode(end, phase !== undefined)]);
  metrics.duration.observe(place, end.duration / 1000);
  if (phase) metrics.aborts.inc({ phase });
  if (end.losses.length > 0)
    for (const code of lossCodes) {
      const count = end.losses.reduce((sum, loss) => (loss.code === code ? sum + 1 : sum), 0);
      if (count > 0) metrics.dropped.inc({ protocol, code }, count);
    }
  if (end.type === 'refused') {
    metrics.refusals.inc({ code: end.error.code });
    if (end.error.code === 'invalid_api_key') metrics.strangers.inc({ protocol });
  }
  for (let index = 1; index < end.attempts.length; index += 1) {
    const failed = end.attempts[index - 1]?.target.provider.name ?? none;
    (end.attempts[index]?.isRetry ? metrics.retries : metrics.fallbacks).inc({ provider: failed });
  }
  if (end.attempts.length > 0)
    metrics.overhead.observe({ protocol }, Math.max(0, end.duration - computeVendorTime(end)) / 1000);
  if (end.type === 'failed' || end.type === 'answered') {
    countUses(metrics, end.charge);
    if (end.charge.cost > 0n) metrics.cost.count([model, provider], Number(end.charge.cost) / nanoPerUsd);
  }
  if (end.type === 'answered' && end.exchange.call.stream) {
    const { attempt, startedAt } = end.exchange;
    metrics.firstToken.observe(
      { model, provider },
      (attempt.startedAt - startedAt + (attempt.firstEventAfter ?? 0)) / 1000,
    );
  }
}

/** What a worker asks its parent process. */
const scrapeTopic = 'prometheus:metrics';
/** Milliseconds. prom-client waits five seconds for the workers. */
const patience = 6000;

/**
 * Returns a function that collects the metrics of all workers, and adds those of the process that starts
 * them. A worker that dies meanwhile never answers, so the others are asked again without it.
 */
function collectMetrics({ metrics }: Supervisor): () => Promise<string> {
  const all = new AggregatorRegistry();
  const ask = async (): Promise<string> => `${await all.clusterMetrics()}\n${await metrics.metrics()}`;
  return async () => {
    const settled = new AbortController();
    const again = once(cluster, 'exit', { signal: settled.signal }).then(ask);
    try {
      return await Promise.race([ask(), again]);
    } finally {
      settled.abort();
    }
  };
}

/**
 * Returns the metrics of all workers in Prometheus' text format. If several share the port, the scraped
 * worker asks the parent process, which asks every worker. Rejects if a worker does not answer, because sums
 * without it would be wrong.
 */
async function scrape({ metrics, workers }: Host): Promise<string> {
  if (!workers.several) return metrics.metrics();
  const text = await workers.askSupervisor(scrapeTopic, undefined, patience);
  if (typeof text === 'string') return text;
  throw new GatewayError('overloaded', 'A worker did not report its metrics; try again soon.');
}

export const prometheus = definePlugin({
  name: 'prometheus',
  options: z.strictObject({
    /** `admin` serves `/metrics` on the admin listener only. */
    listener: z.enum(['both', 'admin']).default('both'),
  }),
  apply(host, { listener }) {
    if (listener === 'admin' && !host.plugins.has('admin'))
      throw new Error('listener: "admin" needs the plugin "admin", which opens the admin listener');
    const registry = host.metrics;
    const metrics = createMetrics(registry);
    if (host.workers.several) {
      AggregatorRegistry.setRegistries([registry]);
      // Creating a registry lets this worker answer for its part.
      void new AggregatorRegistry();
    }
    if (!registry.getSingleMetric('process_cpu_seconds_total')) collectDefaultMetrics({ register: registry });
    host.hooks.observe.tap('prometheus', (end) => countEnd(metrics, end, host));
    host.hooks.attempt.tap('prometheus', ({ phase, target, error, firstEventAfter, tally }, { call }) => {
      if (phase === 'end' && tally.unreadable > 0)
        metrics.unreadable.inc({ provider: target.provider.name }, tally.unreadable);
      if (phase === 'end') metrics.attempts.count([target.provider.name, error?.code ?? 'ok']);
      if (!call.stream || firstEventAfter === undefined) return;
      if (phase === 'first-event') metrics.streams.inc();
      if (phase === 'end') metrics.streams.dec();
    });
    host.routes.add({
      name: 'prometheus',
      method: 'GET',
      path: '/metrics',
      access: 'public',
      ...(listener === 'admin' ? { adminOnly: true } : { everywhere: true }),
      describe: async () => ({
        summary: 'Metrics, for Prometheus',
        replies: { 200: { 'text/plain': z.string() } },
        error: z.object({ error: z.string() }).meta({ title: 'MetricsError' }),
      }),
      handle: async () => ({
        status: 200,
        headers: { 'content-type': registry.contentType },
        body: await scrape(host),
      }),
      encodeError: (error) => ({
        status: toGatewayError(error).status,
        body: { error: toGatewayError(error).message },
      }),
    });
  },
  supervise(supervisor) {
    supervisor.answer(scrapeTopic, collectMetrics(supervisor));
  },
});
