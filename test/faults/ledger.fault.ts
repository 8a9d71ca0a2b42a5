/**
 * The ledger's promises in full: the long forms of `mixed-calls`, `killed-gateways`, `outage`, `power-loss`,
 * `clock`, `budget-race`, `repricing`, `rolling-replacement`, `spenders` and `suspended-process` of
 * `test/balance`, of `test/flows/abort`, and of the contract, with thousands of histories (`HISTORIES`).
 * Disks that fail or are slow are in `disks.fault.ts`.
 */
import type * as threads from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { runBudgetRace } from '../balance/budget-race.ts';
import { expectClockIgnored } from '../balance/clock.ts';
import { lastWord, openSlowStreams } from '../balance/disconnecting-clients.ts';
import { expectExtensionsKilled, runKills } from '../balance/killed-gateways.ts';
import { openTemporary } from '../balance/ledger-file.ts';
import { expectMixedCallsPaid } from '../balance/mixed-calls.ts';
import { expectOutageSurvived } from '../balance/outage.ts';
import { openFresh } from '../balance/postgres-database.ts';
import { expectPowerLossSurvived } from '../balance/power-loss.ts';
import { createRandom } from '../balance/pseudo-random.ts';
import { runRepricing } from '../balance/repricing.ts';
import { runRolling } from '../balance/rolling-replacement.ts';
import { runSpenders } from '../balance/spenders.ts';
import { expectSuspended } from '../balance/suspended-process.ts';
import { testStore } from '../contract/store.ts';
import { withCounts } from '../support/rates.ts';

vi.mock('node:worker_threads', async (original: () => Promise<typeof threads>) =>
  (await import('../balance/disk-faults.ts')).wrapThreads(await original()),
);

const seed = Number(process.env.SEED ?? 20_260_702);

it("twenty thousand mixed calls cost what the providers' own usage comes to, to the nano", () =>
  expectMixedCallsPaid(20_000, createRandom(seed)));

it('100,000 calls of 64 keys have spent from their account what they cost, to the nano', async () => {
  const perSecond = await runSpenders(await openTemporary(), 100_000, createRandom(seed));
  process.stdout.write(`${perSecond.toFixed(0)} calls a second\n`);
});

it.each([
  ['SQLite', 1, openTemporary],
  ['SQLite', 4, openTemporary],
  ['PostgreSQL', 1, openFresh],
  ['PostgreSQL', 4, openFresh],
] as const)(
  '200 calls at once spend no more from a budget in %s than it allows, from %i processes',
  async (_, processes, open) => {
    const race = { opened: await open(), processes, rounds: 200, calls: 200, draw: createRandom(seed) };
    const { wrong, audit } = await runBudgetRace(race);
    expect(wrong).toEqual([]);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  },
);

it('100 gateways killed under 200 streams lose nothing acknowledged, and leave nothing pending', async () => {
  const {
    resolvedAfter,
    completed,
    recovered,
    presumed,
    asked: requestCount,
  } = await runKills({
    cycles: 100,
    streams: 200,
    living: 5,
    longest: 3000,
    lease: 3,
    draw: createRandom(seed),
  });
  process.stdout.write(
    `${completed} completed, ${recovered} recovered, ${presumed} of them taken for sent, ` +
      `${requestCount} asked of the vendor; resolved within ${Math.max(...resolvedAfter).toFixed(0)} ` +
      'ms of a restart\n',
  );
  expect(recovered).toBeGreaterThan(1000);
  expect(presumed).toBeGreaterThan(100);
  expect(Math.max(...resolvedAfter)).toBeLessThan(50_000);
});

it('ten gateways killed while a hundred calls reserve more leave each with one end', () =>
  expectExtensionsKilled(10, 100));

it.each(['locked', 'full', 'read-only'] as const)(
  'a SQLite ledger that is %s for 20 s refuses new spending, and settles running calls after it',
  (kind) => expectOutageSurvived(kind, 20_000, 100),
);

it('1000 remnants of a log after a power loss open with all that was acknowledged before', () =>
  expectPowerLossSurvived(40, 1000, createRandom(seed)));

it('a clock that jumps, stops and returns makes no process dead and no reservation old', () =>
  expectClockIgnored(10_000));

it('a gateway suspended for two minutes corrects what another settled for it', () =>
  expectSuspended({ streams: 100, words: 480, milliseconds: 120_000, lease: 3 }));

it('each call is charged at the price it was reserved at while prices change every second', async () => {
  const options = { changes: 60, every: 1000, readings: 10, lanes: 20, call: 400 };
  const { calls, versions, overtaken } = await runRepricing(options);
  process.stdout.write(
    `${calls} calls at ${versions} prices; ${overtaken} ended when another was in service\n`,
  );
  expect(versions).toBeGreaterThan(30);
  expect(overtaken).toBeGreaterThan(60);
});

it('two gateways of which one is replaced again and again fail no call and charge each once', async () => {
  const options = { restarts: 60, every: 10_000, lanes: 40, draw: createRandom(seed) };
  const completed = await runRolling(options);
  process.stdout.write(`${completed} calls were completed\n`);
  expect(completed).toBeGreaterThan(1000);
});

it("2000 clients that disconnect end their provider's connection at once, and settle once", async () => {
  const count = 2000;
  const harness = await openSlowStreams('cancel');
  for (let made = 0; made < count; made += 100)
    await Promise.all(Array.from({ length: 100 }, (_, index) => harness.call(((made + index) * 97) % 3000)));
  const ends = await harness.gateway.ended(count);
  for (const sent of harness.calls)
    await expect.poll(() => sent.closed || sent.finished, { timeout: 10_000 }).toBe(true);
  expect(harness.settled()).toHaveLength(count);
  expect(new Set(harness.settled().map(({ call }) => call)).size).toBe(count);
  expect(ends.filter((end) => end.type === 'answered' && end.outcome === 'aborted').length).toBeGreaterThan(
    count / 2,
  );
  expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true, pending: 0, findings: [] });
  await harness.close();
});

it("2000 clients that disconnect at the last event pay once, by their provider's usage", async () => {
  const count = 2000;
  const harness = await openSlowStreams('cancel', 0);
  let early = 0;
  for (let made = 0; made < count; made += 50) {
    const texts = await Promise.all(Array.from({ length: 50 }, () => harness.call(lastWord)));
    early += texts.filter((text) => text.includes(lastWord) && !text.includes('[DONE]')).length;
  }
  const ends = await harness.gateway.ended(count);
  process.stdout.write(`${early} of them left before the end\n`);
  expect(early).toBeGreaterThan(count / 2);
  for (const end of ends)
    expect(end).toMatchObject({
      type: 'answered',
      outcome: 'completed',
      charge: { basis: 'usage', uses: withCounts({ input: 30, output: 40 }) },
    });
  expect(harness.settled()).toHaveLength(count);
  expect(new Set(harness.settled().map(({ call, kind, reason }) => `${call} ${kind} ${reason}`)).size).toBe(
    count,
  );
  expect(harness.settled().every(({ kind, reason }) => kind === 'post' && reason === 'completed')).toBe(true);
  expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true, pending: 0, findings: [] });
  await harness.close();
});

it('of 500 clients that disconnect, 20 replies are read on at a time, others cancelled', async () => {
  const harness = await openSlowStreams({ drain: { seconds: 60, bytes: 1e6, atOnce: 20 } }, 1500);
  await Promise.all(Array.from({ length: 500 }, () => harness.call(200)));
  const ends = await harness.gateway.ended(500);
  const countCharged = (basis: string) =>
    ends.filter((end) => end.type === 'answered' && end.outcome === 'aborted' && end.charge.basis === basis)
      .length;
  expect([countCharged('usage'), countCharged('estimate')]).toEqual([20, 480]);
  expect(harness.calls.filter(({ finished }) => finished)).toHaveLength(20);
  expect(harness.settled()).toHaveLength(500);
  expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true, pending: 0, findings: [] });
  await harness.close();
});

testStore('SQLite', () => openTemporary());
