/** Sixty-four keys that spend from one account; `npm run faults` has a hundred thousand calls of theirs. */
import { expect, it } from 'vitest';
import { openTemporary } from './ledger-file.ts';
import { openFresh } from './postgres-database.ts';
import { createRandom } from './pseudo-random.ts';
import { runSpenders } from './spenders.ts';

it.each([
  ['SQLite', openTemporary],
  ['PostgreSQL', openFresh],
] as const)(
  'many small spenders of one account have spent in %s what their calls cost, to the nano',
  async (_, open) => {
    const { wrong, used, expected, audit } = await runSpenders(await open(), 1500, createRandom(3));
    expect(wrong).toEqual([]);
    expect(used).toBe(expected);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  },
);
