/**
 * Keeps calls away from targets that fail, judged by the calls that pass through: their circuit is open, the
 * vendor asked for a pause, or it refused the key. If only such targets remain, a call is still sent to one
 * of them, once, since a vendor may recover at any time.
 */
import { z } from 'zod';
import { definePlugin, longestDeadline } from '../../core/index.ts';
import { keepThroughReloads } from '../shared/kept.ts';
import { defineGauge } from '../shared/metric.ts';
import { openNews } from '../shared/news.ts';
import type { Named } from '../shared/routing/per-target.ts';
import { stages } from '../shared/routing/ranking.ts';
import { HealthBook } from './health/book.ts';
import { buildCircuitError, type Change } from './health/breaker.ts';
import { readHolds } from './health/holds.ts';
import { watchHealth } from './health/notices.ts';
import { createProviderRoutes } from './health/routes.ts';
import { createReporter, joinOthers } from './health/workers.ts';

const buildSeconds = (fallback: number) =>
  z
    .number()
    .positive()
    .default(fallback)
    .transform((value) => value * 1000);

const options = z.strictObject({
  /** Seconds until one call is let through to a target that failed. */
  pause: buildSeconds(5),
  /** Seconds a key rests after a rate limit without `retry-after`. */
  restWhenFull: buildSeconds(10),
  /** Seconds a key rests after the vendor has refused it. */
  restWhenBarred: buildSeconds(60),
  /**
   * What happens to a call when all of its targets fail: the first is called anyway, or the call is refused.
   */
  whenAllFail: z.enum(['ask', 'refuse']).default('ask'),
  /** Seconds for which a model may live on a fallback before operators get a notice. */
  fallbackNotice: z.number().positive().max(longestDeadline).default(600),
});

/** Milliseconds between two looks at what operators should know. */
const lookEvery = 10_000;

export const health = definePlugin({
  name: 'health',
  options,
  apply(host, { fallbackNotice, ...settings }) {
    const { hooks, logger, metrics } = host;
    const line = { ...host, news: openNews(host, 'health') };
    const breakers = defineGauge(
      metrics,
      'tollgate_breaker_state',
      '1 while a target fails and gets no calls, 0 once it answers again.',
      { together: 'max', labelNames: ['provider', 'model'] },
    );
    const report = createReporter(line.news);
    const onChange = (target: Named, change: Change): void => {
      const { name: provider, credential } = target.provider;
      const model = target.model.id;
      if (change !== 'closes') report(target, settings.pause, buildCircuitError(settings.pause));
      if (change === 'stays open') return;
      breakers.set({ provider, model }, change === 'opens' ? 1 : 0);
      const message =
        change === 'opens' ? 'a target fails; it gets no calls for now' : 'a target answers again';
      logger.warn({ provider, credential, model }, message);
    };
    const getBook = keepThroughReloads(host, 'health', new HealthBook(settings, onChange, report), settings);
    const stops: (() => void)[] = [];
    for (const route of createProviderRoutes(line, getBook)) host.routes.add(route);
    hooks.ready.tapPromise('health', async () => {
      await readHolds(host, getBook().holds);
      stops.push(await joinOthers(line, getBook));
      const look = watchHealth(host, getBook(), fallbackNotice * 1000);
      const timer = setInterval(() => look(Date.now()), lookEvery).unref();
      stops.push(() => clearInterval(timer));
    });
    hooks.close.tapPromise('health', async () => stops.forEach((stop) => stop()));
    hooks.route.tap(
      { name: 'health', stage: stages.health, because: 'it fails, or rests after a refusal' },
      (offered, { preview }) => {
        const book = getBook();
        const targets = book.filter(offered);
        // A preview must not take the turn of the one call that tests a failing target.
        if (targets.length < 2 || preview) return targets;
        const now = Date.now();
        const well = targets.filter((target) => book.targets.getEntry(target).condition.isWell(now));
        return well.length === 0 || well.length === targets.length ? targets : well;
      },
    );
    hooks.dispatch.tap({ name: 'health', stage: Number.MIN_SAFE_INTEGER }, (_, { id, attempt }) => {
      getBook().admit(id, attempt);
      return undefined;
    });
    hooks.attempt.tap('health', (attempt, { id }) => void getBook().read(id, attempt));
  },
});
