/**
 * Clients that disconnect: the gateway cancels the provider's request at once, or reads the reply on for its
 * usage where the provider's options say so. It settles each call once.
 */
import { afterEach, expect, it } from 'vitest';
import { findCount } from '../../core/index.ts';
import { openSlowStreams, words, type SlowStreams, type OnAbort } from '../balance/disconnecting-clients.ts';
import { expectSound } from '../contract/books.ts';
import { withCounts } from '../support/rates.ts';

let harness: SlowStreams;

async function open(onAbort: OnAbort, pause?: number): Promise<SlowStreams> {
  harness = await openSlowStreams(onAbort, pause);
  return harness;
}

afterEach(() => harness.close());

it('a cancelled provider loses its connection at once, and each call is settled once', async () => {
  const { gateway, calls, call, readLedger, settled } = await open('cancel');
  const count = 60;
  await Promise.all(Array.from({ length: count }, (_, index) => call((index * 97) % 3000)));
  const ends = await gateway.ended(count);
  for (const sent of calls) await expect.poll(() => sent.closed || sent.finished).toBe(true);
  expect(calls.filter(({ closed }) => closed).length).toBeGreaterThan(count / 2);
  expect(settled()).toHaveLength(count);
  expect(new Set(settled().map(({ call: id }) => id)).size).toBe(count);
  for (const end of ends) {
    if (end.type !== 'answered' || end.outcome !== 'aborted') continue;
    expect(end.charge).toMatchObject({ basis: 'estimate', suspect: false });
    expect(findCount(end.charge.uses, 'output')).toBeLessThanOrEqual(Math.ceil((words * 5) / 4));
  }
  expectSound(readLedger());
  expect(await gateway.verb('audit')).toMatchObject({ ok: true, pending: 0, findings: [] });
});

it("a reply that is read on costs its provider's usage, though the client disconnected midway", async () => {
  const { gateway, calls, call, settled } = await open('drain');
  await call(200);
  const [end] = await gateway.ended(1);
  expect(calls).toEqual([{ events: words, closed: false, finished: true }]);
  expect(end).toMatchObject({
    type: 'answered',
    outcome: 'aborted',
    error: { code: 'client_gone' },
    charge: { basis: 'usage', uses: withCounts({ input: 30, output: 40 }) },
  });
  expect(settled()).toMatchObject([{ kind: 'post', reason: 'aborted' }]);
});

it('a reply that is read on is cancelled after its time, and charged for what had arrived', async () => {
  const { gateway, calls, call } = await open({ drain: { seconds: 0.2, bytes: 1e6, atOnce: 20 } }, 100);
  await call(200);
  const [end] = await gateway.ended(1);
  expect(end).toMatchObject({ type: 'answered', outcome: 'aborted', charge: { basis: 'estimate' } });
  await expect.poll(() => calls[0]?.closed).toBe(true);
  expect(calls[0]?.events).toBeLessThan(words);
});

it('a reply that is read on is cancelled after the configured number of bytes', async () => {
  const { gateway, calls, call } = await open({ drain: { seconds: 60, bytes: 300, atOnce: 20 } });
  await call(200);
  expect(await gateway.ended(1)).toMatchObject([{ outcome: 'aborted', charge: { basis: 'estimate' } }]);
  await expect.poll(() => calls[0]?.closed).toBe(true);
});

it('a reply beyond the number of those that are read on at once is cancelled', async () => {
  const { gateway, calls, call } = await open({ drain: { seconds: 60, bytes: 1e6, atOnce: 3 } }, 30);
  await Promise.all(Array.from({ length: 12 }, () => call(200)));
  const ends = await gateway.ended(12);
  const drained = ends.filter((end) => end.type === 'answered' && end.charge.basis === 'usage');
  expect(drained.length).toBeGreaterThan(0);
  expect(drained.length).toBeLessThanOrEqual(3);
  expect(calls.filter(({ finished }) => finished)).toHaveLength(drained.length);
  expect(await gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
});

it.each([
  ['a refusal', 500, '{"error":{"message":"broken"}}'],
  ['an error in its stream', 200, 'data: {"error":{"message":"broken"}}\n\n'],
])('a reply that is read on costs nothing if it turns out as %s', async (_, status, body) => {
  const { gateway, leaveUnanswered, settled } = await open('drain');
  await leaveUnanswered(status, body);
  expect(await gateway.ended(1)).toMatchObject([{ type: 'failed', charge: { basis: 'none', cost: 0n } }]);
  expect(settled()).toMatchObject([{ kind: 'void' }]);
});

it('a client that has received the whole reply may disconnect', async () => {
  const { gateway, call } = await open('drain');
  await call(undefined);
  expect(await gateway.ended(1)).toMatchObject([{ outcome: 'completed', charge: { basis: 'usage' } }]);
});
