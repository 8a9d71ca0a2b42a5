/**
 * What a power failure leaves of a ledger's file: the log up to some byte, or with garbage from there on. The
 * test opens and audits each remnant, and compares it with what had been acknowledged when the log had that
 * length.
 */
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createAudit } from '../../plugins/meters/balance/sqlite/auditing.ts';
import { openDatabase } from '../../plugins/meters/balance/sqlite/database.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { expectSound } from '../contract/books.ts';
import { makeFolder } from '../support/folder.ts';
import { newKey, price, quote, settlement } from './calls.ts';
import { readBooks } from './ledger-file.ts';

/** The length of the log when this many operations had been acknowledged. */
interface Mark {
  readonly length: number;
  readonly acknowledged: number;
}

const key = '00000000000000a1';

/** A ledger with some calls in its file, and others in its log only; returns what was acknowledged when. */
async function write(file: string, turns: number, draw: (below: number) => number): Promise<Mark[]> {
  const before = await openSqlite({ file });
  await before.definePrice(price);
  await before.createAccount({ name: 'a', at: 1 });
  await before.createKey(newKey(key, 'a'));
  await before.addCredit({ account: 'a', amount: 1_000_000n, kind: 'top-up', reference: undefined, at: 1 });
  await before.close();
  const store = await openSqlite({ file });
  const marks: Mark[] = [];
  let acknowledged = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    const ids = Array.from({ length: 1 + draw(8) }, (_, index) => `call-${turn}-${index}`);
    await Promise.all(ids.map((id) => store.reserve({ id, account: 'a', key, quotes: [quote(50n)], at: 1 })));
    acknowledged += ids.length;
    marks.push({ length: statSync(`${file}-wal`).size, acknowledged });
    const settled = ids.slice(draw(3));
    await Promise.all(
      settled.map((id) => store.settle(settlement(id, draw(4) === 0 ? undefined : BigInt(draw(60))))),
    );
    acknowledged += settled.length;
    marks.push({ length: statSync(`${file}-wal`).size, acknowledged });
  }
  for (const part of ['', '-wal']) copyFileSync(file + part, `${file}.kept${part}`);
  await store.close();
  return marks;
}

/** How many reservations and ends there are; throws if the audit fails. */
function countSoundEntries(file: string): number {
  const database = openDatabase(file, 1000);
  try {
    const report = createAudit(database, undefined).auditPart();
    if (!report?.ok) throw new Error(JSON.stringify(report?.findings));
  } finally {
    database.close();
  }
  const books = readBooks(file);
  expectSound(books);
  return books.entries.filter(({ kind }) => kind === 'reserve' || kind === 'post' || kind === 'void').length;
}

/** Every remnant opens, passes its audit, and has all that had been acknowledged. */
export async function expectPowerLossSurvived(
  turns: number,
  remains: number,
  draw: (below: number) => number,
): Promise<void> {
  const folder = makeFolder();
  const file = join(folder, 'ledger.db');
  const marks = await write(file, turns, draw);
  const log = readFileSync(`${file}.kept-wal`);
  const rest = join(folder, 'rest.db');
  let shortened = 0;
  for (let index = 0; index < remains; index += 1) {
    const cut = log.length - draw(Math.min(log.length, 64 * 1024));
    const isGarbled = index % 2 === 1;
    copyFileSync(`${file}.kept`, rest);
    const garbage = Buffer.from(Array.from({ length: isGarbled ? log.length - cut : 0 }, () => draw(256)));
    writeFileSync(`${rest}-wal`, Buffer.concat([log.subarray(0, cut), garbage]));
    const damage = `${isGarbled ? 'garbage' : 'nothing'} from byte ${cut} of ${log.length} on`;
    const acknowledged = marks.findLast(({ length }) => length <= cut)?.acknowledged ?? 0;
    let found = 0;
    expect(() => (found = countSoundEntries(rest)), damage).not.toThrow();
    expect(found, damage).toBeGreaterThanOrEqual(acknowledged);
    if (found < (marks.at(-1)?.acknowledged ?? 0)) shortened += 1;
  }
  // Remnants that lack anything at all: without any, the test would prove little.
  expect(shortened).toBeGreaterThan(remains / 2);
}
