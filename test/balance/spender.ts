/**
 * A process that spends from a ledger beside others: `node spender.ts <file> <account> <name> <pairs>`. It
 * prints a line for each answer it gets, and ends after so many calls, or when it is killed.
 */
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { quote, settlement } from './calls.ts';

const [file = '', account = '', name = '', pairs = '0'] = process.argv.slice(2);
const inFlight = 16;

const store = await openSqlite({ file });
await store.createAccount({ name: account, at: 1 });
await store.addCredit({ account, amount: 1_000_000_000n, kind: 'bonus', reference: `for ${account}`, at: 1 });
process.stdout.write('ready\n');

let started = 0;

async function spend(): Promise<void> {
  while (started < Number(pairs)) {
    started += 1;
    const id = `${name}-${started}`;
    const isVoid = started % 5 === 0;
    if ((await store.reserve({ id, account, key: name, quotes: [quote(100n)], at: 1 })).status !== 'reserved')
      throw new Error('refused');
    process.stdout.write(`reserved ${id}\n`);
    const { status } = await store.settle(settlement(id, isVoid ? undefined : 60n));
    process.stdout.write(`${status} ${id}\n`);
  }
}

await Promise.all(Array.from({ length: inFlight }, spend));
await store.close();
