/** What this process knows about all targets, and what follows for the next call. */
import { z } from 'zod';
import type { Attempt, GatewayError, Target, ErrorCode } from '../../../core/index.ts';
import { PerTarget, type Named } from '../../shared/routing/per-target.ts';
import { Condition, type Change } from './breaker.ts';
import { Holds, isWithin, type Place } from './holds.ts';

/** What the end of an attempt says about its target. */
type Verdict =
  /** It works: it answered, or refused the call because of what the caller sent. */
  | 'well'
  | 'fault'
  /** It takes no more calls with this key for a while. */
  | 'full'
  /** It does not take this key, or does not serve this model. */
  | 'barred'
  /** The client disconnected before the target produced output. */
  | 'unknown';

const faults: ReadonlySet<ErrorCode> = new Set(['upstream_failed', 'upstream_overloaded', 'timeout']);

const aboutKey = new Set([401, 402, 403, 429]);

/** MiniMax refuses a key by an error inside a good reply. */
function readStatus({ error, status }: Attempt): number | undefined {
  return status === 200 ? (error?.details.vendor?.status ?? status) : status;
}

export function judgeAttempt(attempt: Attempt): Verdict {
  const { error } = attempt;
  if (!error) return 'well';
  const status = readStatus(attempt);
  if (error.code === 'client_gone') return 'unknown';
  if (error.code === 'rate_limited') return 'full';
  if (error.code === 'model_not_found') return 'barred';
  if (!faults.has(error.code)) return 'well';
  // A 429 without a rate limit is about missing credit, and some vendors answer 400 to a wrong key.
  return status !== undefined && (aboutKey.has(status) || status === 400) ? 'barred' : 'fault';
}

/** The longest `retry-after`, in seconds, that is accepted from a vendor. */
const longestRest = 600;

interface Settings {
  /** Milliseconds. */
  readonly pause: number;
  readonly restWhenFull: number;
  readonly restWhenBarred: number;
  readonly whenAllFail: 'ask' | 'refuse';
}

/** Takes a target that should rest, for how long, and why. */
export type Rest = (target: Named, milliseconds: number, reason: GatewayError) => void;

/** Times to the first event that are kept, and errors. */
const mostTimes = 50;
export const mostErrors = 5;
const longestMessage = 300;

export const pastErrorSchema = z.object({
  /** Milliseconds since the epoch. */
  at: z.number(),
  code: z.string(),
  status: z.number().nullable(),
  message: z.string(),
});

type PastError = z.output<typeof pastErrorSchema>;

/** Why no connection came about: for operators, since it may name hosts of their network. */
function describeCause({ cause, code }: GatewayError): string | undefined {
  if (code === 'client_gone' || !(cause instanceof Error)) return undefined;
  // Where several addresses of a host fail, only the code says why.
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

/** What this process knows about one target: how well it works, and what happened there for people to see. */
export class TargetHealth {
  readonly provider: string;
  readonly key: number;
  readonly model: string;
  readonly condition: Condition;
  attempts = 0;
  failed = 0;
  retries = 0;
  readonly firstEvents: number[] = [];
  /** The last ones, newest first. */
  errors: PastError[] = [];
  /** The status with which the vendor refused the key, until it answers a call. */
  refused: number | undefined;

  constructor({ provider: { name, credential = 1 }, model }: Named, condition: Condition) {
    [this.provider, this.key, this.model] = [name, credential, model.id];
    this.condition = condition;
  }

  /** Reads the end of an attempt. One that was not let in says nothing about its target. */
  read({ sent, status, isRetry, firstEventAfter, error }: Attempt): void {
    const cause = error && status === undefined ? describeCause(error) : undefined;
    if (!sent && status === undefined && cause === undefined) return;
    this.attempts += 1;
    if (isRetry) this.retries += 1;
    if (firstEventAfter !== undefined) {
      this.firstEvents.push(firstEventAfter);
      if (this.firstEvents.length > mostTimes) this.firstEvents.shift();
    }
    if (!error || error.code === 'client_gone') return;
    this.failed += 1;
    const { code } = error;
    const message = cause === undefined ? error.message : `${error.message} (${cause})`;
    const past = { at: Date.now(), code, status: status ?? null, message: message.slice(0, longestMessage) };
    this.errors = [past, ...this.errors.slice(0, mostErrors - 1)];
  }
}

export class HealthBook {
  readonly targets: PerTarget<TargetHealth>;
  /** All targets that had a call. */
  readonly known: TargetHealth[] = [];
  readonly holds = new Holds();
  readonly since = Date.now();
  readonly #settings: Settings;
  /**
   * The calls whose running attempt was let in, by their ids: attempts themselves would be kept alive for
   * longer than they last.
   */
  readonly #entered = new Set<string>();
  readonly #passOn: Rest;

  /** `passOn` reports a resting target to the other workers. */
  constructor(settings: Settings, onChange: (target: Named, change: Change) => void, passOn: Rest) {
    this.#settings = settings;
    this.#passOn = passOn;
    this.targets = new PerTarget((target) => {
      const condition = new Condition(settings.pause, (change) => onChange(target, change));
      const health = new TargetHealth(target, condition);
      this.known.push(health);
      return health;
    });
  }

  /**
   * Throws if the target must not be called now. Before a retry, core has waited as long as the target asked
   * for.
   */
  admit(id: string, attempt: Attempt): void {
    this.holds.check(attempt.target);
    const { condition } = this.targets.getEntry(attempt.target);
    if ((attempt.number > 1 && !attempt.isRetry) || this.#settings.whenAllFail === 'refuse')
      condition.check();
    if (condition.enter(id)) this.#entered.add(id);
  }

  read(id: string, attempt: Attempt): void {
    if (attempt.phase === 'start') return;
    if (attempt.phase === 'end') this.targets.getEntry(attempt.target).read(attempt);
    const isEntered = this.#entered.delete(id);
    // An attempt that was not let in says nothing about its target, and neither does one that was never sent.
    if (isEntered || attempt.status !== undefined) this.#judge(id, attempt, isEntered);
  }

  /** The targets that may be called; all of them if none may, since the attempt then says why. */
  filter(targets: readonly Target[]): readonly Target[] {
    if (this.holds.list().length === 0) return targets;
    const open = targets.filter((target) => !this.holds.find(target));
    return open.length > 0 ? open : targets;
  }

  /** Ends what keeps calls from a place. */
  wake(place: Place): void {
    this.holds.end(place);
    for (const target of this.known) if (isWithin(place, target)) target.condition.wake();
  }

  #judge(id: string, attempt: Attempt, isEntered: boolean): void {
    const target = this.targets.getEntry(attempt.target);
    const { condition } = target;
    const { error } = attempt;
    const verdict = judgeAttempt(attempt);
    const isFailure = verdict === 'fault' || verdict === 'unknown';
    if (isEntered || verdict === 'fault') condition.onEnd(id, isFailure ? error : undefined);
    if (verdict === 'well') {
      condition.endRest();
      target.refused = undefined;
    }
    if (!error || verdict === 'well' || isFailure) return;
    const { retryAfter } = error.details;
    const status = readStatus(attempt);
    if (verdict === 'barred' && status !== undefined && aboutKey.has(status)) target.refused = status;
    const asked =
      verdict === 'full' && retryAfter !== undefined ? Math.min(retryAfter, longestRest) * 1000 : undefined;
    const rest = asked ?? (verdict === 'full' ? this.#settings.restWhenFull : this.#settings.restWhenBarred);
    condition.startRest(rest, error);
    this.#passOn(attempt.target, rest, error);
  }
}
