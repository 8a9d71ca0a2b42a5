/**
 * Keeps calls away from targets that fail, judged by the calls that pass through: their circuit is open, the vendor
 * asked for a pause, or it refused the key. Where only such targets are left a call is still sent to one of them, once,
 * since a vendor may recover at any time.
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
  /** Seconds a key rests once it has reached a limit of the vendor's that does not say how long it holds. */
  restWhenFull: seconds(10),
  /** Seconds a key rests after the vendor has refused it. */
  restWhenBarred: seconds(60),
  /** What happens to a call when all of its targets fail: the first is asked all the same, or the call is refused. */
  whenAllFail: z.enum(['ask', 'refuse']).default('ask'),
});

/** The longest rest, in seconds, that is believed of a vendor. */
const longestRest = 600;

type Settings = z.output<typeof options>;
type Named = Pick<Target, 'provider' | 'model'>;
type PassOn = (target: Named, milliseconds: number, reason: GatewayError) => void;

/** What this process knows about all targets. */
class Ward {
  readonly conditions: PerTarget<Condition>;
  readonly #settings: Settings;
  /** The report of the running attempt of each call, by the call's id: keyed by attempts, it would keep them alive for longer than they last. */
  readonly #reports = new Map<string, Report>();

  readonly #passOn: PassOn;

  /** `passOn`: tells other workers that a target rests. */
  constructor(settings: Settings, onChange: (target: Named, change: Change) => void, passOn: PassOn) {
    this.#settings = settings;
    this.#passOn = passOn;
    this.conditions = new PerTarget(
      (target) => new Condition(settings.pause, (change) => onChange(target, change)),
    );
  }

  /** Throws where the target must not be asked now. Before a retry, core has waited as long as the target asked for. */
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
      const told =
        verdict === 'full' && retryAfter !== undefined ? Math.min(retryAfter, longestRest) * 1000 : undefined;
      const rest = told ?? (verdict === 'full' ? this.#settings.restWhenFull : this.#settings.restWhenBarred);
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
      '1 while a target fails and is not asked, 0 since it answers again.',
      'max',
      ['provider', 'model'],
    );
    const told: PassOn = (...rest) => passOn(workers, ...rest);
    const onChange = (target: Named, change: Change): void => {
      const {
        provider: { name, credential },
        model,
      } = target;
      if (change !== 'closes') told(target, settings.pause, shut(settings.pause));
      if (change === 'stays open') return;
      breakers.set({ provider: name, model: model.id }, change === 'opens' ? 1 : 0);
      const message =
        change === 'opens' ? 'a target fails: it is not asked for the moment' : 'a target answers again';
      logger.warn({ provider: name, credential, model: model.id }, message);
    };
    let ward = new Ward(settings, onChange, told);
    let hearNoMore: (() => void) | undefined;
    hooks.ready.tapPromise('health', async () => {
      ward = await resource(
        'health',
        settings,
        () => ward,
        () => undefined,
      );
      hearNoMore = hear(host, (target, ...rest) => ward.conditions.of(target).rest(...rest));
    });
    hooks.close.tapPromise('health', async () => hearNoMore?.());
    hooks.route.tap({ name: 'health', stage: stages.health }, (targets) => {
      if (targets.length < 2) return targets;
      const now = Date.now();
      const { conditions } = ward;
      const well = targets.filter((target) => conditions.of(target).isWell(now));
      return well.length === 0 || well.length === targets.length ? targets : well;
    });
    hooks.dispatch.tap({ name: 'health', stage: Number.MIN_SAFE_INTEGER }, (_, { id, attempt }) => {
      ward.admit(id, attempt);
      return undefined;
    });
    hooks.attempt.tap('health', (attempt, { id }) => void ward.read(id, attempt));
  },
});
