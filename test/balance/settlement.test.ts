/** How the gateway settles an end, and tries again while the ledger is down. */
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  computeCostLines,
  GatewayError,
  type Answered,
  type Failed,
  type Refused,
  type Target,
} from '../../core/index.ts';
import { getPriceRecord } from '../../plugins/meters/balance/prices.ts';
import { settleDurably, buildSettlement, Pauses } from '../../plugins/meters/balance/settlement.ts';
import type { Settlement, Store } from '../../plugins/meters/balance/store.ts';
import { buildRouted } from '../support/exchange.ts';
import { used } from '../support/rates.ts';
import { settlement, buildStore } from './calls.ts';
import { target } from './targets.ts';

describe('the settlement of an end', () => {
  const inHouse: Target = target('house', { input: '1', output: '2.5' });
  const facts = { attempts: [], duration: 5, recording: undefined, losses: [] };
  const exchange = { ...buildRouted(inHouse), id: 'call-1' };
  const error = new GatewayError('upstream_failed', 'no');

  it('posts what an answered call costs, with what a usage report needs', () => {
    const lines = computeCostLines(used({ input: 3, output: 4 }), inHouse.price);
    const charge = {
      cost: 12n,
      lines,
      ...used({ input: 3, output: 4 }),
      rule: 'standard',
      basis: 'estimate',
      suspect: false,
    } as const;
    const end: Answered = {
      ...facts,
      type: 'answered',
      exchange,
      attempts: [exchange.attempt],
      outcome: 'aborted',
      error: undefined,
      charge,
    };
    expect(buildSettlement(end, 77)).toEqual({
      id: 'call-1',
      amount: 12n,
      reason: 'aborted',
      basis: 'estimate',
      suspect: false,
      usage: '{"input":3,"output":4,"rule":"standard"}',
      input: 3,
      output: 4,
      costs: '[["input",3,"1"],["output",4,"2.5"]]',
      price: getPriceRecord(inHouse.price).version,
      model: 'house/model',
      provider: 'house',
      attempts: 1,
      at: 77,
    });
  });

  it('posts zero if a call was free, and voids if nothing is owed', () => {
    const free: Answered = {
      ...facts,
      type: 'answered',
      exchange,
      outcome: 'completed',
      error: undefined,
      charge: { cost: 0n, lines: [], uses: [], rule: 'standard', basis: 'usage', suspect: false },
    };
    expect(buildSettlement(free, 1)).toMatchObject({ amount: 0n, reason: 'completed' });
    const failed: Failed = {
      ...facts,
      type: 'failed',
      exchange,
      error,
      charge: { cost: 0n, lines: [], uses: [], rule: '', basis: 'none', suspect: false },
    };
    expect(buildSettlement(failed, 1)).toMatchObject({
      amount: undefined,
      reason: 'upstream_failed',
      provider: 'house',
    });
  });

  it('voids a call that was refused after its reservation, by the code of the refusal', () => {
    const refused: Refused = {
      ...facts,
      type: 'refused',
      exchange,
      error: new GatewayError('rate_limited', 'slow down'),
    };
    expect(buildSettlement(refused, 1)).toMatchObject({
      id: 'call-1',
      amount: undefined,
      reason: 'rate_limited',
      basis: 'none',
      provider: undefined,
    });
  });
});

describe('settling durably', () => {
  let log: { level: number; msg: string }[];
  let closing: AbortController;
  let pauses: Pauses;
  const settle = vi.fn<Store['settle']>();
  const store = buildStore({ settle });
  const outOfOrder = new GatewayError('ledger_unavailable', 'disk full');

  beforeEach(() => {
    log = [];
    closing = new AbortController();
    pauses = new Pauses();
    settle.mockReset();
  });
  afterEach(() => closing.abort());

  function run(more: Partial<Settlement> = {}): ReturnType<typeof settleDurably> {
    const logger = pino({}, { write: (line: string) => void log.push(JSON.parse(line)) });
    return settleDurably(store, settlement('r1', 5n, more), { logger, pauses, closing: closing.signal });
  }

  it('logs nothing if the ledger works', async () => {
    settle.mockResolvedValueOnce({ status: 'posted', posted: 5n, overage: 0n });
    expect(await run()).toEqual({ status: 'posted', posted: 5n, overage: 0n });
    expect(log).toEqual([]);
  });

  it('tries again until the ledger is back, and warns once', async () => {
    settle
      .mockRejectedValueOnce(outOfOrder)
      .mockRejectedValueOnce(outOfOrder)
      .mockResolvedValueOnce({ status: 'posted', posted: 5n, overage: 0n });
    expect(await run()).toEqual({ status: 'posted', posted: 5n, overage: 0n });
    expect(settle).toHaveBeenCalledTimes(3);
    expect(log).toMatchObject([{ level: 40 }]);
  });

  it('takes "already posted" after a failed try for the lost answer', async () => {
    settle.mockRejectedValueOnce(outOfOrder).mockResolvedValueOnce({ status: 'already_posted' });
    expect(await run()).toEqual({ status: 'already_posted' });
    expect(log).toMatchObject([{ level: 40 }]);
  });

  it('logs an error if a first try finds nothing to settle', async () => {
    settle.mockResolvedValueOnce({ status: 'not_found' });
    expect(await run()).toEqual({ status: 'not_found' });
    expect(log).toMatchObject([{ level: 50, call: 'r1', settled: { status: 'not_found' } }]);
  });

  it('tries once more when the gateway stops, then gives up and logs everything it knows', async () => {
    settle.mockRejectedValue(outOfOrder);
    const settled = run();
    await vi.waitFor(() => expect(settle).toHaveBeenCalledTimes(3), 120_000);
    closing.abort();
    expect(await settled).toBeUndefined();
    expect(settle).toHaveBeenCalledTimes(4);
    expect(log.at(-1)).toMatchObject({ level: 50, settlement: { id: 'r1', amount: '5' } });
  });

  it('keeps the stored reply out of the log', async () => {
    settle.mockRejectedValueOnce(new Error('entries sum to 1'));
    await run({
      outcome: { status: 200, headers: { 'x-said': 'a secret' }, body: Buffer.from('a secret'), whole: true },
    });
    expect(log).toMatchObject([{ level: 50, settlement: { id: 'r1', amount: '5' } }]);
    expect(log[0]).not.toHaveProperty('settlement.outcome');
  });

  it('does not repeat what the ledger rejects for another reason', async () => {
    settle.mockRejectedValueOnce(new Error('entries sum to 1'));
    expect(await run()).toBeUndefined();
    expect(settle).toHaveBeenCalledTimes(1);
    expect(log).toMatchObject([{ level: 50 }]);
  });
});
