/** What follows a failed attempt: for single histories, and for arbitrary ones. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { GatewayError, type Attempt, type ErrorCode, type ErrorDetails } from '../../core/index.ts';
import { classifyFailure } from '../../core/upstream/failures.ts';
import {
  decide,
  retriesSchema,
  type History,
  type RetrySettings,
  type Step,
} from '../../core/upstream/retries.ts';
import { buildRouted } from '../support/exchange.ts';
import { buildTarget } from '../support/traffic.ts';

const settings = retriesSchema.parse({});

type Target = Attempt['target'];

interface Failure {
  readonly code: ErrorCode;
  readonly status?: number;
  readonly unsent?: boolean;
  readonly details?: ErrorDetails;
}

const failures = {
  transient: { code: 'upstream_failed', status: 500 },
  limit: { code: 'rate_limited', status: 429 },
  silence: { code: 'timeout' },
  target: { code: 'upstream_failed', status: 401 },
  request: { code: 'invalid_request', status: 400 },
  overflow: { code: 'context_length_exceeded', status: 400 },
  seal: { code: 'invalid_request', status: 400, details: { rejects: 'reasoning' } },
} as const satisfies Record<string, Failure>;

function fail(
  target: Target,
  { code, status, unsent = false, details = {} }: Failure,
  facts: Partial<Attempt> = {},
): Attempt {
  const error = new GatewayError(code, 'It failed.', details);
  return { ...buildRouted(target).attempt, target, error, status, sent: !unsent, ...facts };
}

const withDelay = (failure: Failure, seconds: number): Failure => ({
  ...failure,
  details: { retryAfter: seconds },
});

function judge(
  attempts: readonly Attempt[],
  targets: readonly Target[],
  facts: Partial<History> = {},
  options: Partial<RetrySettings> = {},
): Step {
  return decide(
    { targets, attempts, elapsed: 0, hasBudget: true, random: 0, ...facts },
    { ...settings, ...options },
  );
}

const first = buildTarget('first');
const second = buildTarget('second');
const keys = [buildTarget('first', {}, 1), buildTarget('first', {}, 2)] as const;
const painter = buildTarget('painter', { output: ['text', 'image'] });

const stop = (isFinal: boolean) => ({ type: 'stop', isFinal });
const next = (...targets: readonly (Target | undefined)[]) => ({ type: 'next', targets });
const retry = (wait: number) => ({ type: 'retry', wait });

const { transient } = failures;
const repeat = (count: number, target = first): Attempt[] =>
  Array.from({ length: count }, () => fail(target, transient));

it.each<[string, Failure]>([
  ['500', transient],
  ['502', { ...transient, status: 502 }],
  ['503', { code: 'upstream_overloaded', status: 503 }],
  ['529', { code: 'upstream_overloaded', status: 529 }],
  ['408', { code: 'timeout', status: 408 }],
  ['409', { code: 'conflict', status: 409 }],
  ['a broken connection', { code: 'upstream_failed' }],
  ['an unreadable reply', { ...transient, status: 200 }],
])('a call that fails for a moment retries the same target after %s', (_, failure) => {
  expect(judge([fail(first, failure)], [first])).toEqual({
    type: 'retry',
    wait: 500,
    withoutReasoning: false,
  });
});

it('a call that fails for a moment doubles each wait, minus up to half at random', () => {
  expect(judge(repeat(2), [first])).toMatchObject({ wait: 1000 });
  expect(judge(repeat(2), [first], { random: 1 })).toMatchObject({ wait: 500 });
  expect(judge(repeat(9), [first], {}, { attempts: 10 })).toMatchObject({ wait: settings.longestWait });
});

it('a call that fails for a moment stops after three attempts, and tells the client so', () => {
  expect(judge(repeat(3), [first])).toEqual(stop(true));
});

it('a call that fails for a moment tries another provider after two attempts', () => {
  expect(judge(repeat(1), [first, second])).toMatchObject({ type: 'retry' });
  expect(judge(repeat(2), [first, second])).toEqual(next(second));
  expect(judge([...repeat(2), ...repeat(2, second)], [first, second])).toMatchObject({ type: 'retry' });
});

it('a call that fails for a moment does not try another key of the same provider', () => {
  expect(judge(repeat(2, keys[0]), keys)).toMatchObject({ type: 'retry' });
  expect(judge(repeat(3, keys[0]), keys)).toMatchObject({ type: 'stop' });
});

it('a call waits as long as the provider asks, unless another provider is left', () => {
  expect(judge([fail(first, withDelay(transient, 7))], [first])).toMatchObject(retry(7000));
  expect(judge([fail(first, withDelay(transient, 7))], [first, second])).toMatchObject({ type: 'next' });
  expect(judge([fail(first, withDelay(transient, 0.2))], [first, second])).toMatchObject(retry(200));
});

it('a call stops if the provider asks for too long a wait, and lets the client retry', () => {
  expect(judge([fail(first, withDelay(transient, 11))], [first])).toEqual(stop(false));
});

it('a call stops at the deadline or with retries turned off, and lets the client retry', () => {
  expect(judge(repeat(1), [first], { elapsed: settings.deadline })).toEqual(stop(false));
  expect(judge(repeat(1), [first], {}, { attempts: 1 })).toEqual(stop(false));
});

it('a call that fails for a moment does not retry while the budget is spent', () => {
  expect(judge(repeat(1), [first], { hasBudget: false })).toEqual(stop(false));
  expect(judge(repeat(1), [first, second], { hasBudget: false })).toMatchObject({ type: 'next' });
});

it('a call that fails tries another key after a rate limit, and waits if there is none', () => {
  expect(judge([fail(keys[0], withDelay(failures.limit, 1))], [...keys, second])).toEqual(
    next(keys[1], second),
  );
  expect(judge([fail(first, withDelay(failures.limit, 2))], [first])).toMatchObject(retry(2000));
  expect(judge([fail(first, withDelay(failures.limit, 30))], [first])).toEqual(stop(false));
});

it('a call that fails does not try another key after a timeout', () => {
  expect(judge([fail(keys[0], failures.silence)], [...keys, second])).toEqual(next(second));
  expect(judge([fail(keys[0], failures.silence)], keys)).toMatchObject(retry(500));
});

it('a call is retried once after silence if there is no other target, and then no more', () => {
  const { silence } = failures;
  expect(judge([fail(first, silence)], [first])).toMatchObject(retry(500));
  expect(judge([fail(first, failures.transient), fail(first, silence)], [first])).toMatchObject(retry(1000));
  expect(judge([fail(first, silence), fail(first, silence)], [first])).toEqual(stop(true));
  expect(judge([fail(first, silence), fail(second, silence)], [first, second])).toEqual(stop(true));
  expect(judge([fail(painter, silence)], [painter])).toEqual(stop(true));
});

it('a call that fails leaves a retry after silence to the client where none is possible here', () => {
  const silent = [fail(first, failures.silence)];
  expect(judge(silent, [first], { elapsed: settings.deadline })).toEqual(stop(false));
  expect(judge(silent, [first], { hasBudget: false })).toEqual(stop(false));
  expect(judge(silent, [first], {}, { attempts: 1 })).toEqual(stop(false));
});

it('a call that fails continues with a larger context after an overflow, and nowhere else', () => {
  const [small, same, large, larger] = [1000, 1000, 2000, 3000].map((contextLength, index) =>
    buildTarget(`p${index}`, { contextLength }),
  );
  if (!small || !same || !large || !larger) throw new Error('four were made');
  const { overflow } = failures;
  expect(judge([fail(small, overflow)], [small, same, large, larger])).toEqual(next(large, larger));
  const both = [fail(small, overflow), fail(large, overflow)];
  expect(judge(both, [small, large, same, larger])).toEqual(next(larger));
  expect(judge(both, [small, large, same])).toEqual(stop(false));
  expect(judge([fail(small, overflow)], [small, same])).toEqual(stop(false));
  // What fails there is judged as everywhere, but no smaller context is asked.
  const later = [fail(small, overflow), fail(large, failures.target)];
  expect(judge(later, [small, large, same])).toEqual(stop(true));
  const unsent = { code: overflow.code, unsent: true } as const;
  expect(judge([fail(small, unsent)], [small, large])).toEqual(next(large));
});

it('a call that fails tries another key after a refused key, never the same one', () => {
  expect(judge([fail(keys[0], failures.target)], keys)).toEqual(next(keys[1]));
  expect(judge([fail(first, failures.target)], [first])).toEqual(stop(true));
});

it('a call that fails does not wait for a target that a plugin blocks', () => {
  const kept = { code: 'upstream_overloaded', unsent: true, details: { retryAfter: 5 } } as const;
  expect(judge([fail(first, kept)], [first])).toMatchObject({ type: 'stop' });
});

it('a call that fails stops at an invalid request', () => {
  expect(judge([fail(first, failures.request)], [first, second])).toEqual(stop(false));
});

it('a call that fails retries once without reasoning if its signature is refused', () => {
  expect(judge([fail(first, failures.seal)], [first])).toEqual({
    type: 'retry',
    wait: 0,
    withoutReasoning: true,
  });
  expect(
    judge([fail(first, failures.seal), fail(first, failures.seal, { withoutReasoning: true })], [first]),
  ).toEqual(stop(false));
  const later = [fail(first, failures.seal), fail(first, failures.transient, { withoutReasoning: true })];
  expect(judge(later, [first])).toMatchObject({ type: 'retry', withoutReasoning: true });
});

it.each<[string, Failure, boolean]>([
  ['a reset', { code: 'upstream_failed' }, true],
  ['silence', failures.silence, true],
  ['a cut reply', { code: 'upstream_failed', status: 200 }, true],
  ["a proxy's status", { code: 'upstream_failed', status: 502 }, true],
  ['no connection', { code: 'upstream_failed', unsent: true }, false],
  ['a refusal', { code: 'upstream_overloaded', status: 503 }, false],
])(
  'a call that fails does not request a picture again if it may have been produced (%s)',
  (_, failure, mayBeMade) => {
    expect(judge([fail(painter, failure)], [painter, second]).type).toBe(mayBeMade ? 'stop' : 'retry');
  },
);

/** The failures of a whole call, as an endless supply: each attempt meets the next. */
const anyFailure = fc.record({
  failure: fc.constantFrom<Failure>(...Object.values(failures)),
  retryAfter: fc.option(fc.double({ min: 0, max: 100, noNaN: true }), { nil: undefined }),
  took: fc.integer({ min: 0, max: 20_000 }),
  hasBudget: fc.boolean(),
  random: fc.double({ min: 0, max: 1, noNaN: true }),
});
const anyTarget = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  key: fc.constantFrom(1, 2),
  paints: fc.boolean(),
  contextLength: fc.constantFrom(1000, 2000, 3000),
});
const anySettings = fc.record({
  attempts: fc.integer({ min: 1, max: 5 }),
  base: fc.integer({ min: 0, max: 2000 }),
  longestWait: fc.integer({ min: 0, max: 20_000 }),
  deadline: fc.integer({ min: 0, max: 60_000 }),
});

const formatRoute = ({ provider, model }: Target): string => `${provider.name} ${model.id}`;

const isSilent = ({ error }: Attempt): boolean => error?.code === 'timeout';

it('arbitrary histories always stop, keep the limits, and never repeat what must not be repeated', () => {
  const targetsOf = fc.uniqueArray(anyTarget, {
    minLength: 1,
    maxLength: 6,
    selector: ({ name, key }) => `${name} ${key}`,
  });
  fc.assert(
    fc.property(targetsOf, fc.infiniteStream(anyFailure), anySettings, (wanted, supply, options) => {
      const targets = wanted.map(({ name, key, paints, contextLength }) =>
        buildTarget(name, { contextLength, ...(paints ? { output: ['image'] } : {}) }, key),
      );
      const attempts: Attempt[] = [];
      let elapsed = 0;
      let target = targets[0];
      let withoutReasoning = false;
      while (target) {
        const { value } = supply.next();
        if (!value) throw new Error('the supply is endless');
        const { retryAfter, failure, took, hasBudget, random } = value;
        elapsed += took;
        const details = 'details' in failure ? failure.details : {};
        const latest = fail(
          target,
          { ...failure, details: { ...details, retryAfter } },
          { withoutReasoning },
        );
        attempts.push(latest);
        const kind = latest.error && classifyFailure(latest.error, latest);
        const step = judge(attempts, targets, { elapsed, hasBudget, random }, options);
        const last = target;
        target = undefined;
        if (step.type === 'retry') {
          expect(['transient', 'limit', 'silence', 'seal']).toContain(kind);
          if (kind === 'seal') expect(withoutReasoning).toBe(false);
          if (kind === 'silence') expect(attempts.filter(isSilent)).toHaveLength(1);
          expect(step.wait).toBeLessThanOrEqual(options.longestWait + options.base / 2);
          if (kind !== 'seal') expect(hasBudget && elapsed + step.wait <= options.deadline).toBe(true);
          elapsed += step.wait;
          ({ withoutReasoning } = step);
          target = last;
        } else if (step.type === 'next') {
          expect(['transient', 'limit', 'silence', 'target', 'overflow']).toContain(kind);
          const tooSmall = attempts.filter(({ error }) => error?.code === 'context_length_exceeded');
          for (const { model } of step.targets)
            for (const { target: before } of tooSmall)
              expect(model.contextLength).toBeGreaterThan(before.model.contextLength);
          const isStillSilent = (left: Target): boolean => {
            const latest = attempts.findLast((each) => formatRoute(each.target) === formatRoute(left));
            return latest !== undefined && isSilent(latest);
          };
          for (const left of step.targets) {
            expect(attempts.some((attempt) => attempt.target === left)).toBe(false);
            expect(isStillSilent(left)).toBe(false);
          }
          withoutReasoning = false;
          [target] = step.targets;
        }
      }
      expect(attempts.length).toBeLessThanOrEqual(targets.length * (options.attempts + 1));
    }),
    { numRuns: 500 },
  );
});
