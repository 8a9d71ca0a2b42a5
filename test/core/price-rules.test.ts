/** Prices that depend on the time, the service mode and the length, against a slow calculation by hand. */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { PriceSchedule } from '../../core/price-schedule.ts';
import { priceSchema } from '../../core/price.ts';
import { appliesByHand, hour, limit, minute, moments, when } from './rules-by-hand.ts';

const schedules = fc
  .array(fc.record({ from: limit, until: limit, when }, { requiredKeys: ['when'] }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((rules) => rules.map((rule, place) => ({ ...rule, name: `rule-${place}` })));

it('the rule of a moment is the first that matches in its zone, at clock changes too', () => {
  let met = 0;
  fc.assert(
    fc.property(schedules, fc.array(moments, { minLength: 1, maxLength: 8 }), (rules, times) => {
      const schedule = new PriceSchedule(rules, hour);
      for (const at of times) {
        const expected = rules.find((rule) => appliesByHand(rule, at))?.name;
        if (expected) met += 1;
        expect(schedule.findRule(at)).toBe(expected);
      }
    }),
    { numRuns: 500 },
  );
  expect(met).toBeGreaterThan(100);
});

it('the rule of a moment omits no hour and doubles none when the clocks change', () => {
  const night = { name: 'night', when: { zone: 'Europe/Berlin', hours: ['02:00-03:00'] } };
  const schedule = new PriceSchedule([night], hour);
  const countNightMinutes = (date: string): number =>
    Array.from({ length: 24 * 60 }, (_, place) => Date.parse(date) + place * minute).filter(
      (at) => schedule.findRule(at) === 'night',
    ).length;
  expect(['2026-03-28', '2026-03-29', '2026-10-25'].map(countNightMinutes)).toEqual([60, 0, 120]);
});

it('the rule of a moment is looked up again only in the next minute', () => {
  const format = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
  const schedule = new PriceSchedule(
    [{ name: 'peak', when: { zone: 'Asia/Shanghai', hours: ['09:00-12:00'] } }],
    hour,
  );
  const start = Date.UTC(2026, 10, 23, 0, 30);
  for (let call = 0; call < 1000; call += 1) schedule.findRule(start + call);
  expect(format).toHaveBeenCalledTimes(1);
  schedule.listPossibleRules(start);
  format.mockClear();
  for (let call = 0; call < 1000; call += 1) schedule.listPossibleRules(start + call);
  expect(format).not.toHaveBeenCalled();
  schedule.listPossibleRules(start + minute);
  expect(format).toHaveBeenCalled();
  format.mockRestore();
});

it('the rules that a call can meet are those of all its minutes, however the clock moves', () => {
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
          expect(new Set(schedule.listPossibleRules(now))).toEqual(expected);
        }
      },
    ),
    { numRuns: 150 },
  );
});

it('the rules that a call can meet are all if a call may last longer than a day', () => {
  const schedule = new PriceSchedule([{ name: 'once', until: '2020-01-01' }], 25 * hour);
  expect(schedule.listPossibleRules(0)).toEqual([undefined, 'once']);
});

const buildZonePrice = (zone: string): object => ({
  input: '1',
  output: '2',
  rules: [{ name: 'night', times: '2', when: { zone, hours: ['00:00-06:00'] } }],
});

it('a time zone may have an older name', () => {
  expect(priceSchema.safeParse(buildZonePrice('US/Eastern')).success).toBe(true);
});

it('a time zone takes the memory of a formatter only when a price depends on it', () => {
  const formatters = vi.spyOn(Intl, 'DateTimeFormat');
  try {
    const { rules = [] } = priceSchema.parse(buildZonePrice('Asia/Shanghai'));
    const schedule = new PriceSchedule(rules, hour);
    expect(formatters).not.toHaveBeenCalled();
    expect(schedule.findRule(Date.parse('2026-11-23T18:00Z'))).toBe('night');
    expect(formatters).toHaveBeenCalledOnce();
  } finally {
    formatters.mockRestore();
  }
});

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
])('a price refuses the rules %j', (wrong, message) => {
  const { error } = priceSchema.safeParse({ input: '1', output: '1', ...wrong });
  expect(JSON.stringify(error?.issues)).toContain(message);
});
