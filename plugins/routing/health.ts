/**
 * Keeps calls away from targets that fail, judged by the calls that pass through: their circuit is open, the
 * vendor asked for a pause, or it refused the key. If only such targets remain, a call is still sent to one
 * of them, once, since a vendor may recover at any time.
 */
import { z } from 'zod';
import { definePlugin, type Attempt, type GatewayError, type Target } from '../../core/index.ts';
import { gauge } from '../shared/metric.ts';
import { PerTarget } from '../shared/routing/per-target.ts';
import { stages } from '../shared/routing/ranking.ts';
import { Condition, shut, type Change, type Report } from './health/breaker.ts';
import { verdictOf } from './health/verdict.ts';
import { hear, passOn } from './health/worker-news.ts';

const seconds = (fallback: number) =>
  z
    .number()
    .positive()
    .default(fallback)
    .transform((value) => value * 1000);

const options = z.strictObject({
  /** Seconds until one call is let through to a target that failed. */
  pause: seconds(5),
  /** Seconds a key rests after a rate limit without `retry-after`. */
  restWhenFull: seconds(10),
  /** Seconds a key rests after the vendor has refused it. */
  restWhenBarred: seconds(60),
  /**
   * What happens to a call when all of its targets fail: the first is called anyway, or the call is refused.
   */
  whenAllFail: z.enum(['ask', 'refuse']).default('ask'),
});

/** The longest `retry-after`, in seconds, that is accepted from a vendor. */
const longestRest = 600;

type Settings = z.output<typeof options>;
type Named = Pick<Target, 'provider' | 'model'>;
type PassOn = (target: Named, milliseconds: number, reason: GatewayError) => void;

/** What this process knows about all targets. */
class HealthBook {
  readonly conditions: PerTarget<Condition>;
  readonly #settings: Settings;
  /**
   * The report of the running attempt of each call, by the call's id: keyed by attempts, it would keep them
   * alive for longer than they last.
   */
  readonly #reports = new Map<string, Report>();

  readonly #passOn: PassOn;

  /** `passOn` reports a resting target to the other workers. */
  constructor(settings: Settings, onChange: (target: Named, change: Change) => void, passOn: PassOn) {
    this.#settings = settings;
    this.#passOn = passOn;
    this.conditions = new PerTarget(
      (target) => new Condition(settings.pause, (change) => onChange(target, change)),
    );
  }

  /**
   * Throws if the target must not be called now. Before a retry, core has waited as long as the target asked
   * for.
   */
  admit(id: string, attempt: Attempt): void {
    const condition = this.conditions.of(attempt.target);
    if ((attempt.number > 1 && !attempt.isRetry) || this.#settings.whenAllFail === 'refuse')
      condition.check();
    const report = condition.enter();
    if (report) this.#reports.set(id, report);
  }

  read(id: string, attempt: Attempt): void {
    if (attempt.phase === 'start') return;
    const report = this.#reports.get(id);
    this.#reports.delete(id);
    // An attempt that was not let in says nothing about its target, and neither does one that was never sent.
    if (!report && attempt.status === undefined) return;
    this.#judge(attempt, report);
  }

  #judge(attempt: Attempt, report: Report | undefined): void {
    const condition = this.conditions.of(attempt.target);
    const { error } = attempt;
    const verdict = verdictOf(attempt);
    if (!error || verdict === 'well') {
      report?.(undefined);
      condition.endRest();
    } else if (verdict === 'unknown') {
      report?.(error);
    } else if (verdict === 'fault') {
      if (report) report(error);
      else condition.fail(error);
    } else {
      report?.(undefined);
      const { retryAfter } = error.details;
      const asked =
        verdict === 'full' && retryAfter !== undefined ? Math.min(retryAfter, longestRest) * 1000 : undefined;
      const rest =
        asked ?? (verdict === 'full' ? this.#settings.restWhenFull : this.#settings.restWhenBarred);
      condition.rest(rest, error);
      this.#passOn(attempt.target, rest, error);
    }
  }
}

export const health = definePlugin({
  name: 'health',
  options,
  apply(host, settings) {
    const { hooks, logger, metrics, resource, workers } = host;
    const breakers = gauge(
      metrics,
      'tollgate_breaker_state',
      '1 while a target fails and gets no calls, 0 once it answers again.',
      'max',
      ['provider', 'model'],
    );
    const report: PassOn = (...rest) => passOn(workers, ...rest);
    const onChange = (target: Named, change: Change): void => {
      const {
        provider: { name, credential },
        model,
      } = target;
      if (change !== 'closes') report(target, settings.pause, shut(settings.pause));
      if (change === 'stays open') return;
      breakers.set({ provider: name, model: model.id }, change === 'opens' ? 1 : 0);
      const message =
        change === 'opens' ? 'a target fails; it gets no calls for now' : 'a target answers again';
      logger.warn({ provider: name, credential, model: model.id }, message);
    };
    let book = new HealthBook(settings, onChange, report);
    let stopHearing: (() => void) | undefined;
    hooks.ready.tapPromise('health', async () => {
      book = await resource(
        'health',
        settings,
        () => book,
        () => undefined,
      );
      stopHearing = hear(host, (target, ...rest) => book.conditions.of(target).rest(...rest));
    });
    hooks.close.tapPromise('health', async () => stopHearing?.());
    hooks.route.tap({ name: 'health', stage: stages.health }, (targets, { preview }) => {
      // A preview must not take the turn of the one call that tests a failing target.
      if (targets.length < 2 || preview) return targets;
      const now = Date.now();
      const { conditions } = book;
      const well = targets.filter((target) => conditions.of(target).isWell(now));
      return well.length === 0 || well.length === targets.length ? targets : well;
    });
    hooks.dispatch.tap({ name: 'health', stage: Number.MIN_SAFE_INTEGER }, (_, { id, attempt }) => {
      book.admit(id, attempt);
      return undefined;
    });
    hooks.attempt.tap('health', (attempt, { id }) => void book.read(id, attempt));
  },
});
