/**
 * A process that reserves until its disk is full: `node fill-disk.ts <file>`. It prints how many calls were
 * reserved and how the others were refused, how long a turn took, and how late the event loop was meanwhile,
 * in milliseconds.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isGatewayError } from '../../core/index.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { quote } from './calls.ts';

const store = await openSqlite({ file: process.argv[2] ?? '' });
await store.createAccount({ name: 'a', at: 1 });
let reserved = 0;
let longest = 0;
const refusals = new Set<string>();
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
for (let turn = 0; turn < 60; turn += 1) {
  const began = performance.now();
  const ids = Array.from({ length: 64 }, (_, index) => `r${turn}-${index}`);
  for (const answer of await Promise.allSettled(
    ids.map((id) => store.reserve({ id, account: 'a', key: 'k', quotes: [quote(0n)], at: 1 })),
  )) {
    if (answer.status === 'fulfilled') reserved += 1;
    else refusals.add(isGatewayError(answer.reason) ? answer.reason.code : String(answer.reason));
  }
  longest = Math.max(longest, performance.now() - began);
}
process.stdout.write(JSON.stringify({ reserved, refusals: [...refusals], longest, lag: delay.max / 1e6 }));
await store.close();
