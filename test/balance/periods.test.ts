/**
 * When budgets reset, against an independent calculation: the calendar of `Temporal`, which the module itself
 * cannot use, since the oldest supported Node lacks it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isZone, findPeriod, type PeriodName } from '../../plugins/meters/balance/budgets/periods.ts';

const zones = Intl.supportedValuesOf('timeZone');
const from = Date.UTC(1972, 0, 1);
const to = Date.UTC(2060, 0, 1);
const zone = fc.constantFrom(...zones);
const calendarPeriod = fc.constantFrom('day', 'week', 'month');

/** The first day of the period of a date, a number of periods later. */
function computeFirstDay(per: string, date: Temporal.PlainDate, later: number): Temporal.PlainDate {
  if (per === 'month') return date.with({ day: 1 }).add({ months: later });
  if (per === 'week') return date.subtract({ days: date.dayOfWeek - 1 }).add({ weeks: later });
  return date.add({ days: later });
}

/** By Temporal: from the start of its first day to the start of the first day of the next period. */
function computePeriod(per: string, name: string, at: number): { start: number; ends: number } {
  const date = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(name).toPlainDate();
  const computeStart = (later: number): number =>
    computeFirstDay(per, date, later).toZonedDateTime(name).startOfDay().epochMilliseconds;
  let later = 0;
  while (computeStart(later + 1) <= at) later += 1;
  return { start: computeStart(later), ends: computeStart(later + 1) };
}

/** Moments around which clocks change, with some on either side. */
function listChanges(name: string, since: number, until: number): number[] {
  const found: number[] = [];
  let moment = Temporal.Instant.fromEpochMilliseconds(since).toZonedDateTimeISO(name);
  for (;;) {
    const next = moment.getTimeZoneTransition('next');
    if (!next || next.epochMilliseconds > until) return found;
    found.push(next.epochMilliseconds);
    moment = next;
  }
}

describe('a period', () => {
  it('is what the calendar of its zone says, in any zone at any moment', () => {
    fc.assert(
      fc.property(zone, calendarPeriod, fc.integer({ min: from, max: to }), (name, per, at) => {
        expect(findPeriod(per, name, at)).toEqual(computePeriod(per, name, at));
      }),
      { numRuns: 1500 },
    );
  });

  it('is what the calendar says around each change of the clocks, in every zone of the world', () => {
    const around = [-86_400_000, -3_600_000, -1, 0, 1_800_000, 5_400_000, 86_400_000];
    let compared = 0;
    for (const name of zones) {
      for (const change of listChanges(name, Date.UTC(2025, 0, 1), Date.UTC(2027, 0, 1))) {
        for (const by of around) {
          expect([name, change + by, findPeriod('day', name, change + by)]).toEqual([
            name,
            change + by,
            computePeriod('day', name, change + by),
          ]);
          compared += 1;
        }
      }
    }
    expect(compared).toBeGreaterThan(1000);
  });

  it('counts each moment once, also at clock changes: the next one starts where it ends', () => {
    fc.assert(
      fc.property(
        zone,
        fc.constantFrom<PeriodName>('hour', 'day', 'week', 'month'),
        fc.integer({ min: from, max: to }),
        (name, per, somewhen) => {
          const near = listChanges(name, somewhen, Math.min(somewhen + 400 * 86_400_000, to));
          for (const at of [
            somewhen,
            ...near.flatMap((change) => [change - 1, change, change + 1_900_000]),
          ]) {
            const { start, ends = Infinity } = findPeriod(per, name, at);
            expect(start).toBeLessThanOrEqual(at);
            expect(ends).toBeGreaterThan(at);
            expect(findPeriod(per, name, start)).toEqual({ start, ends });
            expect(findPeriod(per, name, ends - 1)).toEqual({ start, ends });
            expect(findPeriod(per, name, ends).start).toBe(ends);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([
    ['23 hours when summer time starts', '2026-03-29T12:00:00Z', 23],
    ['25 hours when it ends', '2026-10-25T12:00:00Z', 25],
    ['24 hours otherwise', '2026-07-01T12:00:00Z', 24],
  ])('of a day in Berlin has %s', (_, at, hours) => {
    const { start, ends = 0 } = findPeriod('day', 'Europe/Berlin', Date.parse(at));
    expect((ends - start) / 3_600_000).toBe(hours);
  });

  it('of an hour is the hour that the clocks of its zone show, and shorter if they change within it', () => {
    const at = Date.parse('2026-07-01T12:10:00Z');
    expect(findPeriod('hour', 'Asia/Kathmandu', at)).toEqual({
      start: Date.parse('2026-07-01T11:15:00Z'),
      ends: Date.parse('2026-07-01T12:15:00Z'),
    });
    // Lord Howe sets its clocks by half an hour: from 02:00 back to 01:30.
    const change = Date.parse('2026-04-04T15:00:00Z');
    expect(findPeriod('hour', 'Australia/Lord_Howe', change)).toEqual({
      start: change,
      ends: change + 1_800_000,
    });
  });

  it('starts at the first moment after midnight if the clocks skip midnight', () => {
    // Beirut goes from 00:00 to 01:00.
    const change = Date.parse('2026-03-28T22:00:00Z');
    expect(findPeriod('day', 'Asia/Beirut', change)).toMatchObject({ start: change });
    expect(findPeriod('day', 'Asia/Beirut', change - 1)).toMatchObject({ ends: change });
  });

  it('without a reset has no start and no end', () => {
    expect(findPeriod('total', 'UTC', 5)).toEqual({ start: 0, ends: undefined });
  });
});

it('a zone is known by its name, and an offset is not a zone', () => {
  expect(['Europe/Berlin', 'UTC', 'America/St_Johns'].map(isZone)).toEqual([true, true, true]);
  expect(['+01:00', 'Mars/Base', '', 'Europe/Berlin '].map(isZone)).toEqual([false, false, false, false]);
});
