/**
 * Sets the clock back, by whole days, to the day for which the tests are written: models retire and prices age, and
 * a test must not fail for that. Vitest's configuration loads this file, and `NODE_OPTIONS` gives all processes
 * below the same number of days: otherwise those that start after midnight would be a day behind the others.
 */
const day = 24 * 60 * 60 * 1000;
/** Move it when the catalogue is brought up to date. */
const today = Date.UTC(2026, 10, 22);

const { NODE_OPTIONS = '' } = process.env;
const given = new URL(import.meta.url).searchParams.get('days');

if (given !== null) setBack(Number(given));
// Vitest loads its configuration more than once.
else if (!NODE_OPTIONS.includes('/today.js')) {
  const days = Math.floor((Date.now() - today) / day);
  setBack(days);
  const sameClock = `--import=${new URL(`./today.js?days=${days}`, import.meta.url).href}`;
  process.env.NODE_OPTIONS = `${NODE_OPTIONS} ${sameClock}`.trim();
}

function setBack(days) {
  const RealDate = Date;
  const realNow = RealDate.now;
  const now = () => realNow() - days * day;

  RealDate.now = now;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values, called) =>
      Reflect.construct(target, values.length === 0 ? [now()] : values, called),
    apply: () => String(new RealDate(now())),
  });
}
