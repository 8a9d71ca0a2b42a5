/** Calls that race for a budget; `npm run faults` has two hundred rounds of two hundred calls each. */
import { expect, it } from 'vitest';
import { runBudgetRace } from './budget-race.ts';
import { openTemporary } from './ledger-file.ts';
import { openFresh } from './postgres-database.ts';
import { createRandom } from './pseudo-random.ts';

it.each([
  ['SQLite', 1, openTemporary],
  ['SQLite', 2, openTemporary],
  ['PostgreSQL', 1, openFresh],
  ['PostgreSQL', 2, openFresh],
] as const)(
  'a budget in %s that covers one call admits one of many that processes ask for at once: %i',
  { timeout: 120_000 },
  async (_, processes, open) => {
    const { wrong, audit } = await runBudgetRace({
      opened: await open(),
      processes,
      rounds: 6,
      calls: 40,
      draw: createRandom(20 + processes),
    });
    expect(wrong).toEqual([]);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  },
);
