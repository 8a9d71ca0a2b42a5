/** What the metrics count of a call, answered or not. */
import { describe, expect, it } from 'vitest';
import { GatewayError, type Failed, type Refused } from '../../core/index.ts';
import { Cancellation } from '../../core/util/cancellation.ts';
import { buildHead, buildRouted, type Routing } from '../support/exchange.ts';
import { type TestHost } from '../support/host.ts';
import { used } from '../support/rates.ts';
import {
  buildAnswered,
  clearRegistries,
  facts,
  free,
  scrapeAfter,
  requireTarget,
  createWatchedHost,
} from './scraped.ts';

clearRegistries();

function buildFailed(host: TestHost, error: GatewayError, routing: Routing = {}): Failed {
  return {
    type: 'failed',
    exchange: buildRouted(requireTarget(host), routing),
    error,
    charge: free,
    ...facts,
  };
}

function buildRefused(error: GatewayError, exchange: Refused['exchange'] = buildHead('plain')): Refused {
  return { type: 'refused', exchange, error, ...facts };
}

function createCancelled(): Cancellation {
  const cancellation = new Cancellation();
  cancellation.cancel();
  return cancellation;
}

const echo = 'protocol="plain",model="demo/echo",provider="demo"';

describe('an answered call', () => {
  it('is counted with its duration', async () => {
    const host = createWatchedHost();
    const seen = await scrapeAfter(host, buildAnswered(host), buildAnswered(host));
    expect(seen).toContain(`tollgate_requests_total{${echo},code="200"} 2`);
    expect(seen).toContain(`tollgate_request_duration_seconds_sum{${echo}} 3`);
    expect(seen).toContain(`tollgate_request_duration_seconds_count{${echo}} 2`);
  });

  it('is measured from its headers to the first event of its stream, fallbacks included', async () => {
    const host = createWatchedHost();
    const waiting = { waited: 2000, firstEventAfter: 250 };
    const seen = await scrapeAfter(
      host,
      buildAnswered(host, {}, { ...waiting, stream: true }),
      buildAnswered(host, {}, waiting),
    );
    expect(seen).toContain(
      'tollgate_time_to_first_token_seconds_sum{model="demo/echo",provider="demo"} 2.25',
    );
    expect(seen).toContain('tollgate_time_to_first_token_seconds_count{model="demo/echo",provider="demo"} 1');
  });

  it('adds what it was charged for, by unit and in tokens that do not overlap', async () => {
    const host = createWatchedHost();
    const usage = {
      input: 1000,
      cacheRead: 600,
      cacheWrite5m: 100,
      cacheWrite1h: 50,
      output: 70,
      reasoning: 30,
      outputAudio: 20,
      images: 2,
      secondIn: 1.5,
    };
    const seen = await scrapeAfter(
      host,
      buildAnswered(host, {
        charge: {
          cost: 1_250_000n,
          lines: [],
          ...used(usage),
          rule: 'standard',
          basis: 'usage',
          suspect: false,
        },
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
    expect(seen).toEqual(
      expect.arrayContaining([
        'tollgate_units_total{unit="input",modality=""} 1000',
        'tollgate_units_total{unit="output",modality="audio"} 20',
        'tollgate_units_total{unit="image",modality=""} 2',
        'tollgate_units_total{unit="secondIn",modality=""} 1.5',
      ]),
    );
  });

  it('is counted by its error if the provider cut it, and as 499 if the client disconnected', async () => {
    const host = createWatchedHost();
    const cut = buildAnswered(host, { outcome: 'cut', error: new GatewayError('upstream_failed', 'cut') });
    const aborted = buildAnswered(host, {
      outcome: 'aborted',
      error: new GatewayError('client_gone', 'gone'),
    });
    const seen = await scrapeAfter(host, cut, aborted);
    expect(seen).toContain(`tollgate_requests_total{${echo},code="502"} 1`);
    expect(seen).toContain(`tollgate_requests_total{${echo},code="499"} 1`);
    expect(seen).toContain('tollgate_client_aborts_total{phase="reply"} 1');
  });

  it('is counted with the fields it lost', async () => {
    const host = createWatchedHost();
    const losses = [
      { path: 'tools[2].strict', reason: 'unknown', code: 'model' },
      { path: 'seed', reason: 'unknown', code: 'model' },
      { path: 'reply.audio', reason: 'no place', code: 'reply' },
    ] as const;
    const samples = await scrapeAfter(host, buildAnswered(host, { losses }));
    expect(samples).toContain('tollgate_dropped_fields_total{protocol="plain",code="model"} 2');
    expect(samples).toContain('tollgate_dropped_fields_total{protocol="plain",code="reply"} 1');
  });
});

describe('a call that got no reply', () => {
  it('is counted by its error if every provider failed', async () => {
    const host = createWatchedHost();
    const seen = await scrapeAfter(host, buildFailed(host, new GatewayError('timeout', 'late')));
    expect(seen).toContain(`tollgate_requests_total{${echo},code="504"} 1`);
    expect(
      seen.some(
        (line) =>
          line.startsWith('tollgate_client_aborts_total') || line.startsWith('tollgate_refusals_total'),
      ),
    ).toBe(false);
  });

  it('is counted as aborted if its client disconnected', async () => {
    const host = createWatchedHost();
    const seen = await scrapeAfter(
      host,
      buildFailed(host, new GatewayError('internal', 'aborted'), { cancellation: createCancelled() }),
    );
    expect(seen).toContain(`tollgate_requests_total{${echo},code="499"} 1`);
    expect(seen).toContain('tollgate_client_aborts_total{phase="waiting"} 1');
  });

  it('is counted by its error if the gateway ended it, not as aborted', async () => {
    const host = createWatchedHost();
    const error = new GatewayError('shutting_down', 'the gateway stops');
    const cancellation = new Cancellation();
    cancellation.cancel(error);
    const seen = await scrapeAfter(host, buildFailed(host, error, { cancellation }));
    expect(seen).toContain(`tollgate_requests_total{${echo},code="503"} 1`);
    expect(seen.filter((line) => line.startsWith('tollgate_client_aborts_total'))).toEqual([]);
  });

  it('is counted as a refusal if no provider was called', async () => {
    const host = createWatchedHost();
    const seen = await scrapeAfter(
      host,
      buildRefused(new GatewayError('out_of_balance', 'empty'), buildRouted(requireTarget(host))),
      buildRefused(new GatewayError('client_gone', 'gone')),
    );
    expect(seen).toContain(
      'tollgate_requests_total{protocol="plain",model="demo/echo",provider="none",code="402"} 1',
    );
    expect(seen).toContain('tollgate_refusals_total{code="out_of_balance"} 1');
    expect(seen).toContain('tollgate_client_aborts_total{phase="before-attempt"} 1');
  });

  it('creates no series for an unknown model, a key or an account', async () => {
    const host = createWatchedHost();
    const exchange = buildRouted(requireTarget(host));
    const call = { ...exchange.call, model: 'made/up' };
    const text = await scrapeAfter(
      host,
      buildRefused(new GatewayError('model_not_found', 'none'), { ...exchange, call }),
    );
    expect(text).toContain(
      'tollgate_requests_total{protocol="plain",model="other",provider="none",code="404"} 1',
    );
    expect(text.join('\n')).not.toMatch(/made\/up|account-1|key-1/);
  });
});
