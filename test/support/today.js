/**
 * Sets the clock back, by whole days, to the day for which the tests are written: models retire and prices age, and
 * a test must not fail for that. Processes that a test starts load this file too, through `NODE_OPTIONS`.
 */
const day = 24 * 60 * 60 * 1000;
/** Move it when the catalogue is brought up to date. */
const today = Date.UTC(2026, 10, 22);

/** The real Date, also where a replacement is in place. */
const { constructor: RealDate } = Date.prototype;
/** Vitest runs this file before each test file, in the same process. */
const kept = Symbol.for('tollgate tests: the real clock');
const realNow = (RealDate[kept] ??= RealDate.now);
const given = new URL(import.meta.url).searchParams.get('days');
const days = given === null ? Math.floor((realNow() - today) / day) : Number(given);
const now = () => realNow() - days * day;

RealDate.now = now;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, values, called) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, called),
  apply: () => String(new RealDate(now())),
});

/** The option that gives a process the same clock. */
const sameClock = `--import=${new URL(`./today.js?days=${days}`, import.meta.url).href}`;
process.env.NODE_OPTIONS = [
  ...(process.env.NODE_OPTIONS ?? '').split(' ').filter((option) => !option.includes('/today.js')),
  sameClock,
]
  .join(' ')
  .trim();
