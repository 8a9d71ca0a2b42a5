/** A process that is suspended for longer than its lease; `npm run faults` suspends one for two minutes. */
import { expect, it } from 'vitest';
import { runSuspended } from './suspended-process.ts';

it("a live process taken for dead corrects its calls: each costs its provider's usage, once", async () => {
  const { streams, taken, whole, wrong, endedTwice, audit } = await runSuspended({
    streams: 10,
    words: 400,
    milliseconds: 1500,
    lease: 0.5,
  });
  expect({ taken, whole }).toEqual({ taken: streams, whole: streams });
  expect({ wrong, endedTwice }).toEqual({ wrong: [], endedTwice: [] });
  expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
});
