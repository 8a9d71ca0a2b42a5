/**
 * A clock that jumps by an hour and a year, back and forth, during running calls; `npm run faults` takes
 * longer over it.
 */
import { it } from 'vitest';
import { expectClockIgnored } from './clock.ts';

it('a clock jump expires no process and no reservation, and each process settles its own calls', () =>
  expectClockIgnored(600));
