/**
 * When a price rule applies: between two moments, at hours of the day, on days of the week, and not on
 * holidays, all in a time zone. Rules change at whole minutes, so all calls of a minute share one answer.
 */
import { z } from 'zod';

const minute = 60_000;
const minutesOfDay = 24 * 60;
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

/** A day, from its midnight in the rule's zone, or a moment with its offset. */
const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true, precision: -1 })], {
  error: 'has to be a day (2026-08-23) or a minute with its offset (2026-08-16T16:00Z)',
});

/** A day, or the first and the last day of several (`2026-10-01/2026-10-07`). */
const days = z
  .string()
  .refine(
    (text) => text.split('/').every((day) => z.iso.date().safeParse(day).success) && text.length <= 21,
    'has to be a day (2026-10-01) or two, the first and the last (2026-10-01/2026-10-07)',
  );

const hours = z
  .string()
  .regex(
    /^([01]\d|2[0-3]):[0-5]\d-(([01]\d|2[0-3]):[0-5]\d|24:00)$/,
    'has to be two times of the day, as 01:00-04:00',
  );

/** The list lacks the older names of zones. A formatter knows them, but loads 8 MB. */
function isZone(zone: string): boolean {
  if (Intl.supportedValuesOf('timeZone').includes(zone)) return true;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).format(0) !== '';
  } catch {
    return false;
  }
}

/** When a rule applies. What is not stated does not restrict it. */
export const whenShape = {
  from: moment.optional(),
  /** The moment from which it no longer applies. */
  until: moment.optional(),
  when: z
    .strictObject({
      /** The time zone of everything stated here, and of `from` and `until` if they are days. */
      zone: z.string().refine(isZone, 'has to be a time zone, as Asia/Shanghai').optional(),
      /** The end is not part of it. Hours that pass midnight belong to both days. */
      hours: z.array(hours).min(1).optional(),
      days: z.array(z.enum(weekdays)).min(1).optional(),
      /** Days on which it applies alone, and days on which it does not apply. */
      only: z.array(days).min(1).optional(),
      except: z.array(days).min(1).optional(),
    })
    .optional(),
};

const whenSchema = z.strictObject(whenShape);
type When = z.output<typeof whenSchema>;

interface Local {
  readonly day: string;
  readonly weekday: (typeof weekdays)[number];
  readonly minute: number;
}

/** Reads the clock of a time zone. Most gateways never call a model whose price depends on it. */
function createClock(zone: string): (at: number) => Local {
  if (zone === 'UTC') {
    return (at) => ({
      day: new Date(at).toISOString().slice(0, 10),
      weekday: weekdays[new Date(at).getUTCDay()] ?? 'sun',
      minute: Math.floor(at / minute) % minutesOfDay,
    });
  }
  let format: Intl.DateTimeFormat | undefined;
  return (at) => {
    format ??= new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    });
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    const weekday = parts.weekday?.toLowerCase();
    return {
      day: `${parts.year}-${parts.month}-${parts.day}`,
      weekday: weekdays.find((name) => name === weekday) ?? 'sun',
      minute: Number(parts.hour) * 60 + Number(parts.minute),
    };
  };
}

function toMinute(time: string): number {
  const [hour = 0, rest = 0] = time.split(':').map(Number);
  return hour * 60 + rest;
}

function isOneOf(ranges: readonly string[], { day }: Local): boolean {
  return ranges.some((range) => range.slice(0, 10) <= day && day <= range.slice(-10));
}

/** Whether a day or a moment has begun. */
function hasBegun(text: string, { day }: Local, at: number): boolean {
  return text.length === 10 ? day >= text : at >= Date.parse(text);
}

export interface ScheduledRule extends When {
  readonly name: string;
}

function isWithin(minute: number, [start = 0, end = 0]: readonly number[]): boolean {
  return start < end ? minute >= start && minute < end : minute >= start || minute < end;
}

function createMatcher({ from, until, when = {} }: ScheduledRule): (at: number) => boolean {
  const clock = createClock(when.zone ?? 'UTC');
  const spans = when.hours?.map((span) => span.split('-').map(toMinute));
  return (at) => {
    const local = clock(at);
    return (
      (from === undefined || hasBegun(from, local, at)) &&
      (until === undefined || !hasBegun(until, local, at)) &&
      (when.days?.includes(local.weekday) ?? true) &&
      (spans?.some((span) => isWithin(local.minute, span)) ?? true) &&
      (when.only === undefined || isOneOf(when.only, local)) &&
      (when.except === undefined || !isOneOf(when.except, local))
    );
  };
}

/** Calls that may last longer than this are reserved for as if they could meet every rule. */
const longestLook = minutesOfDay;

/** The rules of one price over time. A rule is its name, or undefined for the price's own rates. */
export class PriceSchedule {
  readonly #rules: readonly { readonly name: string; readonly matches: (at: number) => boolean }[];
  readonly #longest: number;
  /** The rule of the minute that was looked at last, and the rules that calls of a minute can meet. */
  #now: { readonly minute: number; readonly rule: string | undefined } | undefined;
  #within: { readonly minute: number; readonly rules: readonly (string | undefined)[] } | undefined;

  /** `longest` is how many milliseconds a call may last. */
  constructor(rules: readonly ScheduledRule[], longest: number) {
    this.#rules = rules.map((rule) => ({ name: rule.name, matches: createMatcher(rule) }));
    this.#longest = Math.ceil(longest / minute);
  }

  findRule(at: number): string | undefined {
    const place = Math.floor(at / minute);
    if (this.#now?.minute !== place) this.#now = { minute: place, rule: this.#find(place) };
    return this.#now.rule;
  }

  /** All rules that a call can meet if it starts now: those of each minute until it must have ended. */
  listPossibleRules(now: number): readonly (string | undefined)[] {
    if (this.#longest > longestLook) return [undefined, ...this.#rules.map(({ name }) => name)];
    const first = Math.floor(now / minute);
    if (this.#within?.minute === first) return this.#within.rules;
    const met = new Set<string | undefined>();
    // One minute more, because a call may outlast its limit by a second: calls are checked once a second.
    for (let place = first; place <= first + this.#longest + 1; place += 1) met.add(this.#find(place));
    this.#within = { minute: first, rules: [...met] };
    return this.#within.rules;
  }

  #find(place: number): string | undefined {
    return this.#rules.find(({ matches }) => matches(place * minute))?.name;
  }
}
