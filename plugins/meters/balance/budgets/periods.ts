/**
 * The periods after which budgets reset: hours, days, weeks from Monday and months from the first, by the
 * clocks of an IANA time zone. Each moment belongs to exactly one period. A period starts at the first
 * moment whose local date has come, so it is shorter or longer where clocks are set forward or back, also
 * where that happens at midnight. An hour ends early where the clocks change within it.
 */

export const periodNames = ['hour', 'day', 'week', 'month', 'total'] as const;
export type PeriodName = (typeof periodNames)[number];

/**
 * Milliseconds since the epoch. `ends` is the first moment after the period; undefined if it never ends.
 */
export interface Period {
  readonly start: number;
  readonly ends: number | undefined;
}

const hour = 3_600_000;
const day = 24 * hour;

/** Making a formatter takes a thousand times as long as using it. There are some 600 zones. */
const formatters = new Map<string, Intl.DateTimeFormat>();

function getFormatter(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-US-u-ca-iso8601-nu-latn', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formatters.set(zone, made);
  return made;
}

/**
 * Whether it names a zone, such as `Europe/Berlin`, and not an offset, which has no daylight saving time.
 */
export function isZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    getFormatter(name);
    return true;
  } catch {
    return false;
  }
}

/** What the clocks of a zone show at a moment, as if they were in UTC; to the second. */
function computeLocalTime(zone: string, at: number): number {
  const fields = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 };
  for (const { type, value } of getFormatter(zone).formatToParts(at))
    if (type in fields) Object.assign(fields, { [type]: Number(value) });
  return Date.UTC(fields.year, fields.month - 1, fields.day, fields.hour, fields.minute, fields.second);
}

/** How far a zone is ahead of UTC at a moment. */
function computeOffset(zone: string, at: number): number {
  return computeLocalTime(zone, at) - Math.floor(at / 1000) * 1000;
}

/** The moment, after `from` and up to `to`, since which a zone has the offset that it has at `to`. */
function findChange(zone: string, from: number, to: number): number {
  const offset = computeOffset(zone, to);
  let [before, after] = [from, to];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (computeOffset(zone, middle) === offset) after = middle;
    else before = middle;
  }
  return after;
}

/** The first moment at which the clocks of a zone show this time or a later one. */
function findFirstMoment(zone: string, local: number): number {
  const offsets = [computeOffset(zone, local - day), computeOffset(zone, local + day)];
  const [early, late] = [local - Math.max(...offsets), local - Math.min(...offsets)];
  for (const moment of [early, late]) if (computeLocalTime(zone, moment) === local) return moment;
  // The clocks were set forward past this time.
  return findChange(zone, early, late);
}

/** The local date from which a period counts, a number of periods later, as if it were in UTC. */
function computeDate(per: 'day' | 'week' | 'month', local: number, later: number): number {
  const date = new Date(local);
  const [year, month, dayOfMonth] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (per === 'month') return Date.UTC(year, month + later, 1);
  const sinceMonday = (date.getUTCDay() + 6) % 7;
  return per === 'week'
    ? Date.UTC(year, month, dayOfMonth - sinceMonday + 7 * later)
    : Date.UTC(year, month, dayOfMonth + later);
}

function findHour(zone: string, at: number): Period {
  const offset = computeOffset(zone, at);
  const start = Math.floor((at + offset) / hour) * hour - offset;
  const last = start + hour - 1;
  return {
    start: computeOffset(zone, start) === offset ? start : findChange(zone, start, at),
    ends: computeOffset(zone, last) === offset ? last + 1 : findChange(zone, at, last),
  };
}

/** The period that a moment belongs to. */
export function findPeriod(per: PeriodName, zone: string, at: number): Period {
  if (per === 'total') return { start: 0, ends: undefined };
  if (per === 'hour') return findHour(zone, at);
  const local = computeLocalTime(zone, at);
  // Where the clocks go back past midnight, the old date comes again: those moments stay in the new period.
  let start = findFirstMoment(zone, computeDate(per, local, 0));
  for (let later = 1; ; later += 1) {
    const ends = findFirstMoment(zone, computeDate(per, local, later));
    if (ends > at) return { start, ends };
    start = ends;
  }
}

/** The date that the clocks of a zone show at a moment. */
export function formatDate(zone: string, at: number): string {
  return new Date(computeLocalTime(zone, at)).toISOString().slice(0, 10);
}

/** The first moment of a date, as `2027-01-31`, in a zone. */
export function findStartOfDate(zone: string, date: string): number {
  return findFirstMoment(zone, Date.parse(date));
}

/** The last period found for each name and zone: nearly all calls of a period need the same one. */
const lastFound = new Map<string, Period>();

/** The same as `findPeriod`, and quick for moments of the period that was found last. */
export function getCurrentPeriod(per: PeriodName, zone: string, at: number): Period {
  const name = `${per} ${zone}`;
  const last = lastFound.get(name);
  if (last && last.start <= at && (last.ends === undefined || at < last.ends)) return last;
  const found = findPeriod(per, zone, at);
  lastFound.set(name, found);
  return found;
}
