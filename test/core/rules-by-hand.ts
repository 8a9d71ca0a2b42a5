/** Random rules and moments, and when a rule applies, calculated from its text. */
import fc from 'fast-check';

export const minute = 60_000;
export const hour = 60 * minute;
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

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
export function appliesByHand(
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

export const limit = fc.oneof(
  day,
  fc
    .tuple(day, clock, fc.constantFrom('Z', '+08:00', '-05:00'))
    .map(([date, time, zone]) => `${date}T${time}${zone}`),
);

export const when: fc.Arbitrary<When> = fc.record(
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

export const moments = fc
  .tuple(day, fc.nat(24 * 60 - 1), fc.nat(59_999))
  .map(([date, minutes, rest]) => Date.parse(date) + minutes * minute + rest);

export const times = fc.constantFrom('0.5', '1.1', '2', '0.333333333');
