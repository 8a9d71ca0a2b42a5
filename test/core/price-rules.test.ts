/** Prices that depend on the time, the service mode and the length, against a slow calculation by hand. */
import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { computeCharge } from '../../core/billing/charge.ts';
import { useBound } from '../../core/billing/cost-bounds.ts';
import { costOf, nameRule } from '../../core/billing/cost.ts';
import { PriceSchedule } from '../../core/billing/price-schedule.ts';
import { priceSchema, type Price } from '../../core/billing/price.ts';
import { Tally } from '../../core/billing/reply-progress.ts';
import { affordableOutput, worstCost } from '../../core/billing/worst-cost.ts';
import type { ModelFacts, Usage } from '../../core/index.ts';
import { target } from '../balance/targets.ts';
import { routed } from '../support/exchange.ts';

const minute = 60_000;
const hour = 60 * minute;
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
type Facts = NonNullable<ModelFacts['price']>;
type Rule = NonNullable<Facts['rules']>[number];
interface When {
  readonly zone?: string | undefined;
  readonly hours?: string[] | undefined;
  readonly days?: (typeof weekdays)[number][] | undefined;
  readonly only?: string[] | undefined;
  readonly except?: string[] | undefined;
}

/** Minutes east of Greenwich in 2026, from the law of each place and not from a table of zones. */
const offsets: Readonly<Record<string, (at: number) => number>> = {
  UTC: () => 0,
  'Asia/Shanghai': () => 480,
  'Asia/Kolkata': () => 330,
  'Europe/Berlin': (at) => (at >= Date.UTC(2026, 2, 29, 1) && at < Date.UTC(2026, 9, 25, 1) ? 120 : 60),
  'America/New_York': (at) => (at >= Date.UTC(2026, 2, 8, 7) && at < Date.UTC(2026, 10, 1, 6) ? -240 : -300),
};

/** Whether a rule applies, by a wall clock. */
function appliesByHand(
  { from, until, when }: { from?: string; until?: string; when: When },
  at: number,
): boolean {
  const wall = new Date(at + (offsets[when.zone ?? 'UTC']?.(at) ?? NaN) * minute);
  const today = wall.toISOString().slice(0, 10);
  const time = wall.toISOString().slice(11, 16);
  const isReached = (limit: string): boolean =>
    limit.includes('T') ? at >= Date.parse(limit) : today >= limit;
  const isOneOf = (ranges: readonly string[]): boolean =>
    ranges.some((range) => {
      const [first = '', last = first] = range.split('/');
      return today >= first && today <= last;
    });
  if (from !== undefined && !isReached(from)) return false;
  if (until !== undefined && isReached(until)) return false;
  if (when.days && !when.days.includes(weekdays[wall.getUTCDay()] ?? 'sun')) return false;
  if (when.only && !isOneOf(when.only)) return false;
  if (when.except && isOneOf(when.except)) return false;
  if (!when.hours) return true;
  return when.hours.some((span) => {
    const [start = '', end = ''] = span.split('-');
    return start < end ? time >= start && time < end : time >= start || time < end;
  });
}

const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom(0, 1, 15, 30, 59))
  .map(([hours, minutes]) => `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`);
/** The days around both clock changes, on both sides of the Atlantic, and a stretch of holidays. */
const day = fc
  .constantFrom('2026-03-07', '2026-03-28', '2026-06-30', '2026-09-30', '2026-10-24', '2026-10-31')
  .chain((first) => fc.nat(3).map((more) => new Date(Date.parse(first) + more * 24 * hour)))
  .map((date) => date.toISOString().slice(0, 10));
const range = fc
  .tuple(day, fc.nat(4))
  .map(([first, more]) =>
    more === 0
      ? first
      : `${first}/${new Date(Date.parse(first) + more * 24 * hour).toISOString().slice(0, 10)}`,
  );
const limit = fc.oneof(
  day,
  fc
    .tuple(day, clock, fc.constantFrom('Z', '+08:00', '-05:00'))
    .map(([date, time, zone]) => `${date}T${time}${zone}`),
);
const when: fc.Arbitrary<When> = fc.record(
  {
    zone: fc.constantFrom(...Object.keys(offsets)),
    hours: fc.array(
      fc.tuple(clock, fc.oneof(clock, fc.constant('24:00'))).map(([start, end]) => `${start}-${end}`),
      { minLength: 1, maxLength: 3 },
    ),
    days: fc.subarray([...weekdays], { minLength: 1 }),
    only: fc.array(range, { minLength: 1, maxLength: 2 }),
    except: fc.array(range, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ['zone'] },
);
const schedules = fc
  .array(fc.record({ from: limit, until: limit, when }, { requiredKeys: ['when'] }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((rules) => rules.map((rule, place) => ({ ...rule, name: `rule-${place}` })));
const moments = fc
  .tuple(day, fc.nat(24 * 60 - 1), fc.nat(59_999))
  .map(([date, minutes, rest]) => Date.parse(date) + minutes * minute + rest);

describe('the rule of a moment', () => {
  it('is the first whose dates, hours, weekdays and holidays match in its zone, at clock changes too', () => {
    let met = 0;
    fc.assert(
      fc.property(schedules, fc.array(moments, { minLength: 1, maxLength: 8 }), (rules, times) => {
        const schedule = new PriceSchedule(rules, hour);
        for (const at of times) {
          const expected = rules.find((rule) => appliesByHand(rule, at))?.name;
          if (expected) met += 1;
          expect(schedule.ruleAt(at)).toBe(expected);
        }
      }),
      { numRuns: 500 },
    );
    expect(met).toBeGreaterThan(100);
  });

  it('omits no hour and doubles none when the clocks change', () => {
    const night = { name: 'night', when: { zone: 'Europe/Berlin', hours: ['02:00-03:00'] } };
    const schedule = new PriceSchedule([night], hour);
    const minutesOn = (date: string): number =>
      Array.from({ length: 24 * 60 }, (_, place) => Date.parse(date) + place * minute).filter(
        (at) => schedule.ruleAt(at) === 'night',
      ).length;
    expect(['2026-03-28', '2026-03-29', '2026-10-25'].map(minutesOn)).toEqual([60, 0, 120]);
  });

  it('is looked up again only in the next minute', () => {
    const format = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
    const schedule = new PriceSchedule(
      [{ name: 'peak', when: { zone: 'Asia/Shanghai', hours: ['09:00-12:00'] } }],
      hour,
    );
    const start = Date.UTC(2026, 10, 23, 0, 30);
    for (let call = 0; call < 1000; call += 1) schedule.ruleAt(start + call);
    expect(format).toHaveBeenCalledTimes(1);
    schedule.rulesFrom(start);
    format.mockClear();
    for (let call = 0; call < 1000; call += 1) schedule.rulesFrom(start + call);
    expect(format).not.toHaveBeenCalled();
    schedule.rulesFrom(start + minute);
    expect(format).toHaveBeenCalledTimes(1);
    format.mockRestore();
  });
});

describe('the rules that a call can meet', () => {
  it('are those of all its minutes, whenever it starts and however the clock moves', () => {
    fc.assert(
      fc.property(
        schedules,
        fc.integer({ min: 1, max: 90 }),
        fc.array(fc.oneof(moments, fc.integer({ min: -100, max: 100 })), { minLength: 1, maxLength: 6 }),
        (rules, longest, steps) => {
          const schedule = new PriceSchedule(rules, longest * minute);
          let now = Date.UTC(2026, 9, 24, 22);
          for (const step of steps) {
            now = Math.abs(step) > 100 ? step : now + step * minute;
            const first = Math.floor(now / minute);
            const expected = new Set(
              Array.from(
                { length: longest + 2 },
                (_, place) => rules.find((rule) => appliesByHand(rule, (first + place) * minute))?.name,
              ),
            );
            expect(new Set(schedule.rulesFrom(now))).toEqual(expected);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('are all if a call may last longer than a day', () => {
    const schedule = new PriceSchedule([{ name: 'once', until: '2020-01-01' }], 25 * hour);
    expect(schedule.rulesFrom(0)).toEqual([undefined, 'once']);
  });
});

const usd = fc.nat(40_000).map((cents) => new Decimal(cents).div(1000).toFixed());
const rates = fc.record(
  { input: usd, output: usd, cacheRead: usd, cacheWrite30m: usd, cacheWrite12h: usd },
  { requiredKeys: ['input', 'output'] },
);
const times = fc.constantFrom('0.5', '1.1', '2', '0.333333333');
const statedPrice: fc.Arbitrary<Facts> = fc
  .record({
    base: rates,
    fee: fc.option(usd, { nil: undefined }),
    long: fc.option(rates, { nil: undefined }),
    flex: fc.option(times, { nil: undefined }),
    rules: fc.array(
      fc.record({ from: limit, when, own: fc.oneof(times, rates) }, { requiredKeys: ['when', 'own'] }),
      { maxLength: 3 },
    ),
  })
  .map(({ base, fee, long, flex, rules }) => {
    const terms = {
      ...(long ? { tiers: [{ above: 1000, ...long }] } : {}),
      ...(flex ? { modes: { flex: { times: flex } } } : {}),
    };
    return {
      ...base,
      ...(fee ? { request: fee } : {}),
      ...terms,
      rules: rules.map(({ own, ...rule }, place): Rule => ({
        ...(rule.from === undefined ? {} : { from: rule.from }),
        when: rule.when,
        name: `rule-${place}`,
        ...(typeof own === 'string' ? { times: own } : { ...own, ...terms }),
      })),
    };
  });
const figures = fc.record({
  input: fc.nat(2000),
  cacheRead: fc.nat(300),
  cacheWrite30m: fc.nat(300),
  cacheWrite12h: fc.nat(300),
  output: fc.nat(2000),
});

/** USD for a usage at a time, from the text of the price alone. */
function costByHand(price: Facts, usage: Usage, at: number): Decimal {
  const rule = price.rules?.find(({ from, when: stated }) =>
    appliesByHand({ ...(from ? { from } : {}), when: stated ?? {} }, at),
  );
  const own = rule && 'input' in rule ? rule : price;
  const { input = 0, output = 0, cacheRead = 0, cacheWrite30m = 0, cacheWrite12h = 0 } = usage;
  const tier = own.tiers?.find(({ above }) => input > above);
  const table = tier ?? own;
  const flex = usage.mode === 'flex' ? own.modes?.flex : undefined;
  const nano = (rate: string): Decimal => {
    const up = (value: Decimal): Decimal => value.times(1e9).ceil().div(1e9);
    const timed = rule && 'times' in rule ? rule.times : '1';
    const first = flex && 'times' in flex ? up(new Decimal(rate).times(flex.times)) : new Decimal(rate);
    return up(first.times(timed));
  };
  let rest = input;
  let sum = new Decimal(0);
  const take = (count: number, rate: string | undefined): void => {
    if (rate === undefined) return;
    const taken = Math.min(count, rest);
    rest -= taken;
    sum = sum.plus(nano(rate).times(taken));
  };
  take(cacheRead, table.cacheRead);
  take(cacheWrite30m, table.cacheWrite30m);
  take(cacheWrite12h, table.cacheWrite12h ?? table.cacheWrite30m);
  sum = sum.plus(nano(table.input).times(rest)).plus(nano(table.output).times(output)).div(1e6);
  return sum
    .plus(price.request ?? 0)
    .times(1e9)
    .toDecimalPlaces(0, Decimal.ROUND_HALF_EVEN);
}

function scheduled(facts: Facts, longest = hour): { price: Price; schedule: PriceSchedule } {
  const price = priceSchema.parse(facts);
  return { price, schedule: new PriceSchedule(price.rules ?? [], longest) };
}

describe('the cost at a rule', () => {
  it('equals a calculation from the text of the price, for any time, mode, length and cache use', () => {
    fc.assert(
      fc.property(statedPrice, figures, moments, fc.boolean(), (facts, usage, at, isFlex) => {
        const { price, schedule } = scheduled(facts);
        const rule = schedule.ruleAt(at);
        const others = { ...usage, ...(isFlex ? { mode: 'flex' } : {}) };
        const expected = costByHand(facts, others, at);
        expect(costOf(rule === undefined ? others : { ...others, rule }, price).toString()).toBe(
          expected.toFixed(),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('is named by the time, the mode and the length that decided it', () => {
    const { price } = scheduled({
      name: 'off-peak',
      input: '1',
      output: '2',
      tiers: [{ above: 100, input: '2', output: '4' }],
      modes: { flex: { times: '0.5' } },
      rules: [{ name: 'peak', times: '2' }],
    });
    expect(nameRule({ input: 1 }, price)).toBe('off-peak');
    expect(nameRule({ input: 101, mode: 'flex', rule: 'peak' }, price)).toBe('peak flex above-100');
    expect(nameRule({ input: 101, mode: 'flex', rule: 'peak flex above-100' }, price)).toBe(
      'peak flex above-100',
    );
    expect(nameRule({ input: 1, mode: 'batch' }, price)).toBe('off-peak');
    expect(nameRule({}, scheduled({ input: '1', output: '2' }).price)).toBe('standard');
  });

  it('stays the same when the price is written and read again', () => {
    fc.assert(
      fc.property(statedPrice, (facts) => {
        const { price } = scheduled(facts);
        const written = JSON.stringify(price, (_, value: unknown) =>
          typeof value === 'bigint' ? new Decimal(value.toString()).div(1e9).toFixed() : value,
        );
        expect(priceSchema.parse(JSON.parse(written))).toEqual(price);
      }),
    );
  });
});

describe('the reservation of a call', () => {
  it('is the most expensive rule of its minutes, and no more', () => {
    let crossed = 0;
    fc.assert(
      fc.property(
        statedPrice,
        moments,
        fc.integer({ min: 1, max: 60 }),
        fc.nat(2000),
        fc.nat(500),
        (facts, now, longest, input, output) => {
          const { price, schedule } = scheduled(facts, longest * minute);
          const bound = { input, output, candidates: 1, rules: schedule.rulesFrom(now) };
          if (bound.rules.length > 1) crossed += 1;
          const reserved = worstCost(bound, price);
          const each = bound.rules.map((rule) => worstCost({ ...bound, rules: [rule] }, price));
          expect(reserved).toBe(each.reduce((most, cost) => (cost > most ? cost : most)));
          for (const place of [0, longest / 2, longest]) {
            const at = now + Math.floor(place * minute);
            expect(
              costByHand(facts, { input, output }, at).lte(reserved.toString()),
              `at ${new Date(at).toISOString()}`,
            ).toBe(true);
          }
          const limited = affordableOutput(reserved + 1n, bound, price);
          expect(limited).toBeGreaterThanOrEqual(output);
        },
      ),
      { numRuns: 250 },
    );
    expect(crossed).toBeGreaterThan(0);
  });

  it('counts long cache retention only if the call asks for it', () => {
    const { price } = scheduled({ input: '1', output: '0', cacheWrite30m: '1.25', cacheWrite12h: '2.5' });
    const bound = { input: 1_000_000, output: 0, candidates: 1 };
    const costs = [{ uncached: true }, { brief: true }, {}].map((asked) =>
      worstCost({ ...bound, ...asked }, price),
    );
    expect(costs).toEqual([1_000_000_000n, 1_250_000_000n, 2_500_000_000n]);
  });
});

describe('a call across an hour at which the price changes', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const facts: Facts = {
    name: 'off-peak',
    input: '1',
    output: '1',
    rules: [{ name: 'peak', when: { zone: 'Asia/Shanghai', hours: ['09:00-12:00'] }, times: '2' }],
  };

  it.each([
    ['end', 'peak', 2_000_000n],
    ['start', 'off-peak', 1_000_000n],
  ] as const)('is billed by its %s if the provider bills that way', (billedAt, rule, cost) => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 23, 0, 59), toFake: ['Date', 'performance'] });
    const { price, schedule } = scheduled({ ...facts, billedAt });
    const exchange = routed({ ...target('house', { input: '1', output: '1' }), price, schedule });
    const started = { ...exchange.attempt, sent: true, startedAt: performance.now() };
    const running = { ...exchange, attempt: started };
    const reserved = worstCost(useBound(running.call, running.attempt.target, 1000), price);
    vi.advanceTimersByTime(2 * minute);
    const tally = new Tally();
    tally.read({ type: 'usage', usage: { input: 500, output: 500 } });
    tally.read({ type: 'response-end' });
    const charge = computeCharge('completed', running, tally);
    expect(charge).toMatchObject({ rule, cost, usage: { rule } });
    expect(costOf(charge.usage, price)).toBe(cost);
    expect(reserved).toBeGreaterThanOrEqual(
      worstCost({ ...useBound(running.call, running.attempt.target, 1000), rules: ['peak'] }, price),
    );
  });
});

describe('a price', () => {
  it.each([
    [{ rules: [{ name: 'two words', times: '2' }] }, 'one word'],
    [
      {
        rules: [
          { name: 'a', times: '2' },
          { name: 'a', times: '3' },
        ],
      },
      'two rules of one name',
    ],
    [{ rules: [{ name: 'standard', times: '2' }] }, 'two rules of one name'],
    [{ rules: [{ name: 'a', input: '1', output: '1' }], modes: { flex: { times: '0.5' } } }, 'other modes'],
    [{ rules: [{ name: 'a', times: '0' }] }, 'more than 0'],
    [{ rules: [{ name: 'a', times: '2', when: { zone: 'Mars/Base' } }] }, 'time zone'],
    [{ rules: [{ name: 'a', times: '2', when: { hours: ['25:00-26:00'] } }] }, 'times of the day'],
    [{ rules: [{ name: 'a', times: '2', when: { except: ['2026-02-30'] } }] }, 'has to be a day'],
    [{ input: '-1' }, 'not negative'],
  ])('refuses %j', (wrong, message) => {
    const { error } = priceSchema.safeParse({ input: '1', output: '1', ...wrong });
    expect(JSON.stringify(error?.issues)).toContain(message);
  });
});
