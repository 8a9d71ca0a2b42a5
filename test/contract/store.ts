/**
 * What every store must satisfy, whatever its database: the answers of its operations, and the ledger behind
 * them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { price } from '../balance/calls.ts';
import { testAccounts, testKeys } from './accounts.ts';
import { request, type Bench } from './bench.ts';
import { expectSound, type OpenedStore } from './books.ts';
import { testBudgets } from './budgets.ts';
import { testClaims } from './claims.ts';
import { testCorrections } from './corrections.ts';
import { testDocuments } from './documents.ts';
import { testErasures } from './erasures.ts';
import { testExtensions } from './extensions.ts';
import { testHistories } from './histories.ts';
import { testLeases } from './leases.ts';
import { testNames } from './names.ts';
import { testRates } from './rates.ts';
import { testReports } from './reports.ts';
import { testReservations, testSettling } from './reservations.ts';
import { testStoredCalls } from './stored-calls.ts';
import { testTables } from './tables.ts';
import { testTeams } from './teams.ts';
import { testAllowanceHistories, testAllowances, testPostpaid } from './terms.ts';

export { request } from './bench.ts';

let made = 0;

/**
 * Runs the contract against stores that `open` opens empty, with so many histories: 60, or what `HISTORIES`
 * says.
 */
export function testStore(
  name: string,
  open: () => Promise<OpenedStore>,
  histories = Number(process.env.HISTORIES ?? 60),
): void {
  describe(`the ${name} store`, () => {
    let opened: OpenedStore;
    beforeAll(async () => {
      opened = await open();
      await opened.store.definePrice(price);
    });
    afterAll(() => opened.dispose());

    const bench: Bench = {
      opened: () => opened,
      store: () => opened.store,
      /** A new account with credit. */
      async account(credit) {
        made += 1;
        const fresh = `account-${made}`;
        await opened.store.createAccount({ name: fresh, at: 1 });
        if (credit > 0n)
          await opened.store.addCredit({
            account: fresh,
            amount: credit,
            kind: 'top-up',
            reference: undefined,
            at: 1,
          });
        return fresh;
      },
      reserve: (id, account, ...quotes) => opened.store.reserve(request(id, account, { quotes })),
      entriesOf: async (account) =>
        (await opened.books()).entries.filter((entry) => entry.account === account),
    };

    testReservations(bench);
    testSettling(bench);
    testExtensions(bench);
    testLeases(bench);
    testClaims(bench);
    testAccounts(bench);
    testKeys(bench);
    testRates(bench);
    testBudgets(bench);
    testPostpaid(bench);
    testAllowances(bench);
    testAllowanceHistories(bench, Math.ceil(histories / 2));
    testNames(bench);
    testReports(bench);
    testCorrections(bench);
    testDocuments(bench);
    testTables(bench);
    testTeams(bench);
    testErasures(bench, Math.ceil(histories / 5));
    // A roll-up is compared with all entries and calls, which takes as long as twenty histories.
    testStoredCalls(bench, Math.ceil(histories / 20));
    testHistories(bench, histories);

    it('kept sound books in all of this, by its own audit too', async () => {
      expectSound(await opened.books());
      expect(await opened.store.audit()).toMatchObject({ ok: true, broken: 0, findings: [] });
    });
  });
}
