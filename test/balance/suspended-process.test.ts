/** A process that is suspended for longer than its lease; `npm run faults` suspends one for two minutes. */
import { it } from 'vitest';
import { expectSuspended } from './suspended-process.ts';

it("a live process taken for dead corrects its calls: each costs its provider's usage, once", () =>
  expectSuspended({ streams: 10, words: 400, milliseconds: 1500, lease: 0.5 }));
