/** Reservations that the heartbeat ends: too old, or of processes that died. */
import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Heartbeat } from '../../plugins/meters/balance/heartbeat.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { request } from '../contract/store.ts';
import { price, progress, quote } from './calls.ts';
import { openTemporary } from './ledger-file.ts';
import { owners, resetStore, store } from './mocked-heartbeat.ts';

resetStore();

describe('a reservation that is too old', () => {
  const expire = vi.fn<Store['expire']>(async () => []);
  let own: Heartbeat | undefined;
  afterEach(async () => {
    await own?.stop();
    vi.restoreAllMocks();
    expire.mockClear();
  });

  function startWatching(): Heartbeat {
    own = new Heartbeat({
      store: { ...store, expire },
      every: 1,
      lease: 1000,
      longestCall: 300,
      logger: pino({ level: 'silent' }),
      onBeat: async () => undefined,
      onRound: () => undefined,
      onRecovered: () => undefined,
    });
    own.start();
    return own;
  }

  it('is voided once this process has watched the clock for as long', async () => {
    const began = Date.now();
    startWatching();
    await vi.waitFor(() => expect(expire).toHaveBeenCalled(), 120_000);
    const asked = expire.mock.calls[0]?.[0];
    expect(asked?.at).toBeGreaterThanOrEqual(began + 300);
    expect(asked?.before).toBe((asked?.at ?? 0) - 300);
  });

  it('is not voided after a clock jump, back or forth', async () => {
    const now = Date.now.bind(Date);
    let off = 0;
    vi.spyOn(Date, 'now').mockImplementation(() => now() + off);
    const jumping = setInterval(() => void (off = off === 0 ? 3_600_000 : 0), 20);
    startWatching();
    const beats = owners.mock.calls.length;
    await vi.waitFor(() => expect(owners.mock.calls.length).toBeGreaterThan(beats + 300), 120_000);
    expect(expire).not.toHaveBeenCalled();
    clearInterval(jumping);
    await vi.waitFor(() => expect(expire).toHaveBeenCalled(), 120_000);
  });
});

describe('a ledger full of calls of dead processes', () => {
  it('is cleared within moments of a start, in parts that let others write between them', async () => {
    const { store: ledger, another, books, dispose } = await openTemporary();
    await ledger.definePrice(price);
    await ledger.createAccount({ name: 'a', at: 1 });
    await ledger.addCredit({ account: 'a', amount: 10n ** 9n, kind: 'bonus', reference: undefined, at: 1 });
    const left = 3000;
    for (const name of ['first', 'second', 'third']) {
      const dead = await another();
      await Promise.all(
        Array.from({ length: left / 3 }, (_, index) => dead.reserve(request(`${name}-${index}`, 'a'))),
      );
      await dead.beat({
        lease: 50,
        progress: Array.from({ length: left / 6 }, (_, index) => progress(`${name}-${index}`, 4n)),
      });
      await dead.close();
    }
    const ended: string[] = [];
    const own = new Heartbeat({
      store: ledger,
      every: 100,
      lease: 300,
      longestCall: 1e15,
      logger: pino({ level: 'silent' }),
      onBeat: async () => undefined,
      onRound: () => undefined,
      onRecovered: ({ id }) => void ended.push(id),
    });
    own.start();
    let writes = 0;
    while (ended.length < left) {
      await ledger.reserve(request(`between-${writes}`, 'a', { quotes: [quote(0n)] }));
      writes += 1;
    }
    await own.stop();
    expect(writes).toBeGreaterThan(10);
    expect(await ledger.readBalance('a')).toMatchObject({ used: BigInt((4 + 10) * (left / 2)), pending: 0n });
    expect((await books()).entries.filter(({ flags }) => flags === 'recovered')).toHaveLength(left);
    expect(await ledger.audit()).toMatchObject({ ok: true, pending: writes });
    await dispose();
  });
});
