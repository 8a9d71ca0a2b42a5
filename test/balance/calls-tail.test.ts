/** Calls printed as they end, however many do at once. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { add, buildCall } from '../contract/made-calls.ts';
import { makeDataFolder, runVerb } from '../support/process.ts';

it('the command line prints every call that ends, also if thousands do in a second', async () => {
  const folder = makeDataFolder();
  const store = await openSqlite({ file: join(folder, 'ledger.db') });
  const tail = runVerb(['calls', 'tail', '--count', '2500', '--json'], { TOLLGATE_DATA: folder });
  const stopped = new AbortController();
  void tail.then(() => stopped.abort());
  // What ended before the command looked first is not printed, so it gets more until it has enough.
  for (let batch = 1; !stopped.signal.aborted; batch += 1) {
    const ended = Date.now();
    const calls = Array.from({ length: 2500 }, (_, index) => buildCall(`${batch}-${index}`, 'a', ended));
    await add(store, ...calls);
    await sleep(2000, undefined, { signal: stopped.signal }).catch(() => undefined);
  }
  await store.close();
  const ids = (await tail).output
    .trim()
    .split('\n')
    .map((line) => String(JSON.parse(line).id));
  const [batch] = ids[0]?.split('-') ?? [];
  expect(ids).toEqual(Array.from({ length: 2500 }, (_, index) => `${batch}-${index}`));
});
