/** What happens to ended calls when the database fails: they wait, and the gateway counts those it loses. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { GatewayError, type End } from '../../core/index.ts';
import { CallKeeper } from '../../plugins/meters/balance/calls/keeper.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { received } from '../support/exchange.ts';
import { storeWith } from './calls.ts';

function refused(id: string, account: string | null = 'a'): End {
  const principal = account === null ? undefined : ({ kind: 'user', account, key: 'k' } as const);
  return {
    type: 'refused',
    exchange: { ...received('messages'), id, ...(principal && { principal }) },
    error: new GatewayError('invalid_request', 'no'),
    attempts: [],
    duration: 5,
    losses: [],
    recording: undefined,
  };
}

type Batch = Parameters<Store['addCalls']>[0];

function keeperOn(addCalls: (batch: Batch) => Promise<void>, retention = 1000) {
  const lost: number[] = [];
  const keeper = new CallKeeper({
    store: storeWith({ addCalls }),
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
    const { keeper, lost } = keeperOn(async ({ calls }) => {
      if (isAway) throw new GatewayError('ledger_unavailable', 'away');
      stored.push(...calls);
    });
    keeper.add(refused('one'));
    await keeper.flush();
    keeper.add(refused('two'));
    isAway = false;
    await keeper.flush();
    expect(stored.join('').match(/"call":"(one|two)"/g)).toEqual(['"call":"one"', '"call":"two"']);
    await keeper.close();
    expect(lost).toEqual([]);
  });

  it('are lost and counted if they cannot be written, and later ones are stored', async () => {
    const stored: string[] = [];
    const { keeper, lost } = keeperOn(async ({ calls: [call] }) => {
      if (call?.includes('"call":"bad"')) throw new Error('it breaks a rule');
      stored.push(String(call));
    });
    keeper.add(refused('bad'));
    await keeper.flush();
    keeper.add(refused('good'));
    await keeper.flush();
    await keeper.close();
    expect(lost).toEqual([1]);
    expect(stored).toHaveLength(1);
  });

  it('are lost and counted when too many wait', async () => {
    const { keeper, lost } = keeperOn(async () => {
      throw new GatewayError('ledger_unavailable', 'away');
    });
    for (let index = 0; index < 20_003; index += 1) keeper.add(refused(`call-${index}`));
    await keeper.close();
    expect(lost.reduce((sum, calls) => sum + calls, 0)).toBe(20_003);
    expect(lost[0]).toBe(3);
  });

  it('without a known key, or without retention, are not stored', async () => {
    const stored: string[] = [];
    const store = async ({ calls }: Batch) => void stored.push(...calls.flat());
    const [kept, unkept] = [keeperOn(store).keeper, keeperOn(store, 0).keeper];
    kept.add(refused('stranger', null));
    unkept.add(refused('one'));
    await kept.close();
    await unkept.close();
    expect(stored).toEqual([]);
  });
});
