/**
 * The ledger's promises in full: the long forms of `test/balance/mixed`, `kills`, `outage` and `test/flows/abort`, the
 * contract with thousands of histories (`HISTORIES`), and a disk that fails (which needs strace).
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { leavers } from '../balance/leavers.ts';
import { drawer } from '../balance/drawer.ts';
import { kills } from '../balance/kills.ts';
import { openTemporary, readBooks, temporaryFolder } from '../balance/ledger-file.ts';
import { mixedCalls } from '../balance/mixed.ts';
import { runOutage } from '../balance/outage.ts';
import { expectSound } from '../contract/books.ts';
import { testStore } from '../contract/store.ts';

const seed = Number(process.env['SEED'] ?? 20_260_702);

describe('twenty thousand mixed calls', () => {
  it("cost what the vendors' own figures come to, to the nano", async () => {
    const { wrong, used, expected, statuses, audit } = await mixedCalls(20_000, drawer(seed));
    expect(statuses).toEqual({ 200: 20_000 });
    expect(wrong).toEqual([]);
    expect(used).toBe(expected);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  });
});

describe('a hundred gateways that are killed under two hundred streams', () => {
  it('lose nothing they told and leave nothing pending, and one that lives is not touched', async () => {
    const { resolvedAfter, completed, recovered, asked, reserved, posted, ...verdict } = await kills({ cycles: 100, streams: 200, living: 5, longest: 3000, lease: 3, draw: drawer(seed) });
    process.stdout.write(`${completed} completed, ${recovered} recovered, ${asked} asked of the vendor; resolved within ${Math.max(...resolvedAfter).toFixed(0)} ms of a restart\n`);
    expect(verdict).toMatchObject({ wrong: [], overcharged: [], touched: [], audit: { ok: true, pending: 0, findings: [] } });
    expect(reserved).toBeGreaterThanOrEqual(asked);
    expect(posted).toBeLessThanOrEqual(asked);
    expect(recovered).toBeGreaterThan(1000);
    expect(Math.max(...resolvedAfter)).toBeLessThan(50_000);
  });
});

describe('a SQLite ledger that cannot be written for twenty seconds', () => {
  it.each(['locked', 'full'] as const)('since it is %s refuses new spending, and settles what ran once it can be', async (kind) => {
    const { refused, ready, whole, longestWait, due, used, audit } = await runOutage({ kind, milliseconds: 20_000, streams: 100 });
    expect(refused).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) });
    expect(ready).toEqual([200, 503, 200]);
    expect(whole).toBe(100);
    expect(longestWait).toBeLessThan(7000);
    expect(used).toBeCloseTo(due, 9);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  });
});

describe('a disk that fails', () => {
  it.each([
    ['to flush', 'fsync,fdatasync:error=EIO:when=10..20'],
    ['to write', 'pwrite64:error=ENOSPC:when=200..230'],
  ])('%s costs those calls a refusal, and nothing that was acknowledged', async (_, fault) => {
    const folder = temporaryFolder();
    const file = join(folder.path, 'ledger.db');
    const traced = ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync,pwrite64', '-e', `inject=${fault}`];
    const { stdout } = await promisify(execFile)('strace', [...traced, process.execPath, 'test/balance/filler.ts', file]);
    const { reserved, refusals } = JSON.parse(stdout);
    expect(refusals).toEqual(['ledger_unavailable']);
    expect(reserved).toBeGreaterThan(64);
    expect(readBooks(file).entries.filter(({ kind }) => kind === 'reserve')).toHaveLength(reserved);
    expectSound(readBooks(file));
    folder.remove();
  });
});

describe('two thousand clients that leave', () => {
  it('have their vendor closed at once, and are settled once each', async () => {
    const count = 2000;
    const house = await leavers('cancel');
    for (let made = 0; made < count; made += 100) await Promise.all(Array.from({ length: 100 }, (_, index) => house.call(((made + index) * 97) % 3000)));
    const ends = await house.gateway.ended(count);
    for (const sent of house.calls) await expect.poll(() => sent.closed || sent.finished, { timeout: 10_000 }).toBe(true);
    expect(house.settled()).toHaveLength(count);
    expect(new Set(house.settled().map(({ call }) => call)).size).toBe(count);
    expect(ends.filter((end) => end.type === 'answered' && end.outcome === 'aborted').length).toBeGreaterThan(count / 2);
    expect(await house.gateway.verb('audit')).toMatchObject({ ok: true, pending: 0, findings: [] });
    await house.close();
  });
});

testStore('SQLite', () => openTemporary());
