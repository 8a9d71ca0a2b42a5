/**
 * What routing adds to a call, in microseconds of processor time: every routing plugin on, 500 models, each
 * served by 20 providers, and the hooks of one call run with them and without. The call itself, which is no
 * part of it, is left out.
 *
 * node test/bench/routing.ts
 */
import type { Parsed, Plugin, Routed, Target } from '../../core/index.ts';
import { affinity } from '../../plugins/routing/affinity.ts';
import { balanced } from '../../plugins/routing/balanced.ts';
import { cost } from '../../plugins/routing/cost.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { latency } from '../../plugins/routing/latency.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { priority } from '../../plugins/routing/priority.ts';
import { throughput } from '../../plugins/routing/throughput.ts';
import { noPreferences } from '../../plugins/shared/wire-kit/provider-object.ts';
import { buildRouted } from '../support/exchange.ts';
import { createHost, type TestHost } from '../support/host.ts';
import { buildTarget } from '../support/traffic.ts';
import { computeMedian } from './statistics.ts';

const models = 500;
const providers = 20;
const rounds = 15;
const callsPerRound = 4000;

const text = JSON.stringify({
  model: 'm',
  messages: [
    { role: 'system', content: 'x'.repeat(6000) },
    { role: 'user', content: 'What is new?' },
  ],
});
const request = { method: 'POST', url: 'http://vendor.invalid', headers: {}, body: '' } as const;

function buildCatalogue(): Target[][] {
  const hosts = Array.from({ length: providers }, (_, index) => buildTarget(`provider-${index}`).provider);
  return Array.from({ length: models }, (_, model) =>
    hosts.map((provider, index) => ({
      ...buildTarget(provider.name, {
        id: `house/model-${model}`,
        price: { input: `0.${index + 1}`, output: '2' },
      }),
      provider,
    })),
  );
}

/** One call's way through the hooks that routing taps. */
async function runCall({ calls }: TestHost, targets: readonly Target[], exchange: Routed): Promise<void> {
  const order = await calls.route.promise(targets, exchange);
  const { attempt } = exchange;
  Object.assign(attempt, {
    target: order[0] ?? attempt.target,
    phase: 'start',
    startedAt: performance.now(),
    firstEventAfter: undefined,
    duration: undefined,
  });
  calls.attempt.call(attempt, exchange);
  await calls.dispatch.promise(request, exchange);
  Object.assign(attempt, { phase: 'first-event', firstEventAfter: 5 });
  calls.attempt.call(attempt, exchange);
  Object.assign(attempt, { phase: 'end', duration: 6 });
  calls.attempt.call(attempt, exchange);
}

async function measureCalls(
  host: TestHost,
  targets: readonly Target[][],
  wanted: Parsed['call']['preferences'],
): Promise<number> {
  const exchanges = targets.map(([first]) => {
    if (!first) throw new Error('no target');
    const exchange = buildRouted(first, { stream: true });
    return {
      ...exchange,
      text,
      call: {
        ...exchange.call,
        preferences: wanted,
        size: { textBytes: text.length, images: 0, mediaBytes: 0 },
      },
    };
  });
  const figures: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const began = process.cpuUsage();
    for (let call = 0; call < callsPerRound; call += 1) {
      const model = (call * 7) % models;
      const exchange = exchanges[model];
      if (exchange)
        await runCall(host, targets[model] ?? [], {
          ...exchange,
          id: `call-${call}`,
          attempt: { ...exchange.attempt },
        });
    }
    const { user, system } = process.cpuUsage(began);
    if (round > 0) figures.push((user + system) / callsPerRound);
  }
  return computeMedian(figures);
}

async function openHost(plugins: readonly Plugin[]): Promise<TestHost> {
  const host = createHost(plugins);
  await host.calls.ready.promise();
  return host;
}

const all = [
  preferences(),
  priority({ order: ['provider-3'] }),
  cost(),
  latency(),
  throughput(),
  balanced(),
  keys(),
  health(),
  affinity(),
];
const targets = buildCatalogue();
const bare = await measureCalls(await openHost([]), targets, noPreferences);
const ways: readonly Parsed['call']['preferences'][] = [
  noPreferences,
  { routing: 'cost' },
  { routing: 'latency' },
  { routing: 'balanced' },
];
for (const wanted of ways) {
  const routing = (await measureCalls(await openHost(all), targets, wanted)) - bare;
  process.stdout.write(`${(wanted.routing ?? 'priority').padEnd(10)} ${routing.toFixed(1)} µs a call\n`);
}
