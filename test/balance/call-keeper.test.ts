/** What happens to ended calls when the database fails: they wait, and the gateway counts those it loses. */
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { GatewayError, type End } from '../../core/index.ts';
import { CallKeeper } from '../../plugins/meters/balance/calls/keeper.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { buildHead } from '../support/exchange.ts';
import { buildStore } from './calls.ts';

function buildRefused(id: string, account: string | null = 'a', message = 'no'): End {
  const principal = account === null ? undefined : ({ kind: 'user', account, key: 'k' } as const);
  return {
    type: 'refused',
    exchange: { ...buildHead('messages'), id, ...(principal && { principal }) },
    error: new GatewayError('invalid_request', message),
    attempts: [],
    duration: 5,
    losses: [],
    recording: undefined,
  };
}

type Batch = Parameters<Store['addCalls']>[0];

function createKeeper(addCalls: (batch: Batch) => Promise<void>, retention = 1000) {
  const lost: number[] = [];
  const keeper = new CallKeeper({
    store: buildStore({
      async addCalls(batch) {
        if (batch.calls.length > 0) await addCalls(batch);
        return { isDone: true };
      },
    }),
    logger: pino({ level: 'silent' }),
    retention,
    onLost: (calls) => void lost.push(calls),
  });
  return { keeper, lost };
}

describe('ended calls', () => {
  it('wait while the database is down, and are stored once it is back', async () => {
    let isAway = true;
    const stored: string[] = [];
    const { keeper, lost } = createKeeper(async ({ calls }) => {
      if (isAway) throw new GatewayError('ledger_unavailable', 'away');
      stored.push(...calls);
    });
    keeper.add(buildRefused('one'));
    await keeper.flush();
    keeper.add(buildRefused('two'));
    isAway = false;
    await keeper.flush();
    expect(stored.join('').match(/"call":"(one|two)"/g)).toEqual(['"call":"one"', '"call":"two"']);
    await keeper.close();
    expect(lost).toEqual([]);
  });

  it('are lost and counted if they cannot be written, and later ones are stored', async () => {
    const stored: string[] = [];
    const { keeper, lost } = createKeeper(async ({ calls: [call] }) => {
      if (call?.includes('"call":"bad"')) throw new Error('it breaks a rule');
      stored.push(String(call));
    });
    keeper.add(buildRefused('bad'));
    await keeper.flush();
    keeper.add(buildRefused('good'));
    await keeper.flush();
    await keeper.close();
    expect(lost).toEqual([1]);
    expect(stored).toHaveLength(1);
  });

  it('are stored without U+0000, and without the half of a pair that a cut text ends with', async () => {
    const stored: string[] = [];
    const { keeper } = createKeeper(async ({ calls }) => void stored.push(...calls));
    keeper.add(buildRefused('odd', 'a', String.raw`\u0000 \\ud83d` + '\0\0 \u{1f600}'.slice(0, -1)));
    await keeper.close();
    expect(JSON.parse(String(stored[0])).message).toBe(String.raw`\u0000 \\ud83d` + '\ufffd\ufffd \ufffd');
  });

  it('form no queue of turns while the database is slow: a stop would wait for all of them', async () => {
    vi.useFakeTimers();
    const { promise, resolve } = Promise.withResolvers<void>();
    let asked = 0;
    const { keeper } = createKeeper(async () => {
      asked += 1;
      await promise;
      throw new GatewayError('ledger_unavailable', 'away');
    });
    keeper.add(buildRefused('one'));
    await vi.advanceTimersByTimeAsync(30_000);
    vi.useRealTimers();
    const closed = keeper.close();
    resolve();
    await closed;
    expect(asked).toBe(2);
  });

  it('are lost and counted when too many wait', async () => {
    const { keeper, lost } = createKeeper(async () => {
      throw new GatewayError('ledger_unavailable', 'away');
    });
    for (let index = 0; index < 20_003; index += 1) keeper.add(buildRefused(`call-${index}`));
    await keeper.close();
    expect(lost.reduce((sum, calls) => sum + calls, 0)).toBe(20_003);
    expect(lost[0]).toBe(3);
  });

  it('without a known key, or without retention, are not stored', async () => {
    const stored: string[] = [];
    const store = async ({ calls }: Batch) => void stored.push(...calls.flat());
    const [kept, unkept] = [createKeeper(store).keeper, createKeeper(store, 0).keeper];
    kept.add(buildRefused('stranger', null));
    unkept.add(buildRefused('one'));
    await kept.close();
    await unkept.close();
    expect(stored).toEqual([]);
  });
});
