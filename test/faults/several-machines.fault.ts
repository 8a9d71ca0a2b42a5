/**
 * Several gateways on one ledger, a ledger that is down for long, and thousands of histories on PostgreSQL:
 * the long forms of `balance-race` and `outage` in `test/balance`, and of the contract.
 */
import { it } from 'vitest';
import { expectOneWinnerEach } from '../balance/balance-race.ts';
import { expectOutageSurvived } from '../balance/outage.ts';
import { openFresh } from '../balance/postgres-database.ts';
import { testStore } from '../contract/store.ts';
import { openDatabase } from '../support/database.ts';

const rounds = 200;

it.each([1, 4])(
  'of 500 calls at once for one balance, %i processes on one PostgreSQL make exactly one',
  async (processes) => {
    const { url, drop } = await openDatabase();
    await expectOneWinnerEach({ store: 'postgres', url, processes, calls: 500, rounds });
    await drop();
  },
);

it.each([1, 4])(
  'of 500 calls at once for one balance, %i processes on one SQLite file make exactly one',
  (processes) => expectOneWinnerEach({ store: 'sqlite', processes, calls: 500, rounds }),
);

it.each(['stopped', 'silent'] as const)(
  'a PostgreSQL that is down for 20 s and %s refuses new spending, and settles calls after it',
  (kind) => expectOutageSurvived(kind, 20_000, 100),
);

testStore('PostgreSQL', () => openFresh(), 5000);
