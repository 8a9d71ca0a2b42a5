/**
 * Heartbeats on a fake clock: what happens to the calls of processes without one, and to reservations that
 * are too old.
 */
import { pino } from 'pino';
import { beforeEach, vi, afterEach, describe, expect, it } from 'vitest';
import { GatewayError, type Routed } from '../../core/index.ts';
import { Heartbeat } from '../../plugins/meters/balance/heartbeat.ts';
import type { Store, OwnerRecord } from '../../plugins/meters/balance/store.ts';
import { request } from '../contract/store.ts';
import { buildRouted } from '../support/exchange.ts';
import { openAccount, buildStore, progress, quote } from './calls.ts';
import { openTemporary } from './ledger-file.ts';
import { target } from './targets.ts';

const beat = vi.fn<Store['beat']>();
const owners = vi.fn<Store['listOwners']>();
const recover = vi.fn<Store['recover']>();
let fault: Error | undefined;
const store: Store = {
  ...buildStore({ beat, listOwners: owners, recover }),
  owner: 'me',
  findFault: () => fault,
};
const recovered: string[] = [];

/** The ledger reports a fault from now on. */
function breakStore(): void {
  fault = new Error('disk full');
}

beforeEach(() => {
  for (const operation of [beat, owners, recover]) operation.mockReset();
  owners.mockResolvedValue([]);
  recover.mockResolvedValue([]);
  fault = undefined;
  recovered.length = 0;
});

function createHeartbeat(more: Partial<ConstructorParameters<typeof Heartbeat>[0]> = {}): Heartbeat {
  return new Heartbeat({
    store,
    every: 1000,
    lease: 3000,
    longestCall: 1e9,
    logger: pino({ level: 'silent' }),
    onBeat: async () => undefined,
    onRound: () => undefined,
    onRecovered: ({ id }) => void recovered.push(id),
    ...more,
  });
}

/** A call that was sent, with part of its reply received. */
function buildSentCall(id: string, delivered: number): Routed {
  const exchange = buildRouted(target('house', { input: '1', output: '2' }));
  Object.assign(exchange.attempt, { sent: true, phase: 'first-event' });
  Object.assign(exchange.attempt.tally, { deliveredBytes: delivered });
  return { ...exchange, id };
}

it('a beat is not sent while nothing is reserved, unless the ledger failed', async () => {
  const own = createHeartbeat();
  await own.sendBeat();
  expect(beat).not.toHaveBeenCalled();
  breakStore();
  await own.sendBeat();
  expect(beat).toHaveBeenCalledWith({ lease: 3000, progress: [] });
});

it('a beat reports what a call would cost if it ended now, and again after more of its reply', async () => {
  const own = createHeartbeat();
  const exchange = buildSentCall('call-1', 8);
  own.begin(exchange);
  await own.sendBeat();
  expect(beat).toHaveBeenLastCalledWith({
    lease: 3000,
    progress: [
      expect.objectContaining({
        id: 'call-1',
        sent: true,
        delivered: 8,
        input: Math.ceil(exchange.call.size.textBytes / 4),
        output: 2,
      }),
    ],
  });
  await own.sendBeat();
  expect(beat).toHaveBeenLastCalledWith({ lease: 3000, progress: [] });
  Object.assign(exchange.attempt.tally, { deliveredBytes: 12 });
  beat.mockRejectedValueOnce(new GatewayError('ledger_unavailable', 'busy'));
  await own.sendBeat().catch(() => undefined);
  await own.sendBeat();
  expect(beat).toHaveBeenLastCalledWith({
    lease: 3000,
    progress: [expect.objectContaining({ delivered: 12, output: 3 })],
  });
  own.end('call-1');
  beat.mockClear();
  await own.sendBeat();
  expect(beat).not.toHaveBeenCalled();
});

it('a beat is sent for a call that began and ended since the last one', async () => {
  const own = createHeartbeat();
  own.begin(buildSentCall('call-1', 8));
  own.end('call-1');
  await own.sendBeat();
  await own.sendBeat();
  expect(beat).toHaveBeenCalledOnce();
});

it('a beat reports nothing about a call that no provider was sent', async () => {
  const own = createHeartbeat();
  own.begin({ ...buildRouted(target('house', { input: '1', output: '2' })), id: 'call-2' });
  await own.sendBeat();
  expect(beat).toHaveBeenCalledWith({ lease: 3000, progress: [] });
});

it('a beat reports that a call costs nothing after its attempt failed', async () => {
  const own = createHeartbeat();
  const exchange = buildSentCall('call-3', 0);
  Object.assign(exchange.attempt, { phase: 'end', error: new GatewayError('upstream_failed', 'no') });
  own.begin(exchange);
  await own.sendBeat();
  expect(beat).toHaveBeenCalledWith({
    lease: 3000,
    progress: [expect.objectContaining({ id: 'call-3', owed: 0n })],
  });
});

describe('another process', () => {
  const buildOwner = (count: number, lease = 3000): OwnerRecord => ({
    owner: 'other',
    beat: count,
    lease,
    pending: 1,
  });

  /** Looks once a second, at a list of heartbeats. */
  async function checkBeats(own: Heartbeat, beats: readonly (number | 'fails')[], from = 0): Promise<void> {
    for (const [index, count] of beats.entries()) {
      if (count === 'fails') owners.mockRejectedValueOnce(new Error('away'));
      else
        owners.mockResolvedValueOnce([buildOwner(count), { owner: 'me', beat: 1, lease: 3000, pending: 3 }]);
      await own.checkOwners((from + index) * 1000).catch(() => own.forgetSeen());
    }
  }

  it('is dead after a lease without a new beat, and not before; its calls are recovered', async () => {
    const own = createHeartbeat();
    await checkBeats(own, [7, 7, 7]);
    expect(recover).not.toHaveBeenCalled();
    recover.mockResolvedValueOnce([{ id: 'left', status: 'posted', amount: 5n }]);
    await checkBeats(own, [7], 3);
    expect(recover).toHaveBeenCalledWith({
      owner: 'other',
      beat: 7,
      limit: expect.any(Number),
      at: expect.any(Number),
      leaveOut: [],
    });
    expect(recovered).toEqual(['left']);
  });

  it('is not dead when it reserves again after being idle, and keeps its reservations', async () => {
    const own = createHeartbeat();
    const idle: OwnerRecord = { ...buildOwner(7), pending: 0 };
    const busy = buildOwner(7);
    for (const [second, record] of [idle, idle, idle, busy, busy, busy].entries()) {
      owners.mockResolvedValueOnce([record]);
      await own.checkOwners(second * 1000);
    }
    expect(recover).not.toHaveBeenCalled();
    owners.mockResolvedValueOnce([busy]);
    await own.checkOwners(6000);
    expect(recover).toHaveBeenCalledOnce();
  });

  it('is only forgotten if it has nothing reserved, even if it reserves at that moment', async () => {
    const own = createHeartbeat();
    owners.mockResolvedValue([{ ...buildOwner(7), pending: 0 }]);
    for (let second = 0; second < 4; second += 1) await own.checkOwners(second * 1000);
    expect(recover).toHaveBeenCalledWith(expect.objectContaining({ owner: 'other', limit: 0 }));
  });

  it('is alive as long as its beats continue, however slowly', async () => {
    await checkBeats(createHeartbeat(), [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]);
    expect(recover).not.toHaveBeenCalled();
  });

  it('gets the longer of both leases', async () => {
    const own = createHeartbeat();
    owners.mockResolvedValue([buildOwner(1, 5000)]);
    for (const second of [0, 1, 2, 3, 4]) await own.checkOwners(second * 1000);
    expect(recover).not.toHaveBeenCalled();
    await own.checkOwners(5000);
    expect(recover).toHaveBeenCalledTimes(1);
  });

  it('is not dead because the ledger failed, nor because this process slept', async () => {
    const own = createHeartbeat();
    await checkBeats(own, [1, 1, 'fails', 1, 1, 1]);
    expect(recover).not.toHaveBeenCalled();
    await checkBeats(own, [1], 100);
    expect(recover).not.toHaveBeenCalled();
    await checkBeats(own, [1], 101);
    expect(recover).toHaveBeenCalledTimes(1);
  });
});

it('a machine that sleeps for a moment takes no other process for dead when it wakes', async () => {
  const own = createHeartbeat();
  owners.mockResolvedValue([{ owner: 'other', beat: 1, lease: 3000, pending: 1 }]);
  for (const now of [0, 1000, 3900]) await own.checkOwners(now);
  expect(recover).not.toHaveBeenCalled();
});

describe('the heartbeat loop', () => {
  let own: Heartbeat | undefined;
  afterEach(() => own?.stop());

  it('continues after a ledger failure, and stops when asked to', async () => {
    own = createHeartbeat({ every: 5, lease: 15 });
    owners.mockRejectedValueOnce(new Error('away'));
    own.start();
    await vi.waitFor(() => expect(owners.mock.calls.length).toBeGreaterThan(3), 120_000);
    await own.stop();
    const count = owners.mock.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(owners.mock.calls.length).toBe(count);
  });
});

describe('a reservation that is too old', () => {
  const expire = vi.fn<Store['expire']>(async () => []);
  let own: Heartbeat | undefined;
  afterEach(async () => {
    await own?.stop();
    vi.restoreAllMocks();
    expire.mockClear();
  });

  function startWatching(): Heartbeat {
    own = createHeartbeat({ store: { ...store, expire }, every: 1, lease: 1000, longestCall: 300 });
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
    await openAccount(ledger, 'a', 10n ** 9n);
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
    const own = createHeartbeat({ store: ledger, every: 100, lease: 300, longestCall: 1e15 });
    own.start();
    let writes = 0;
    while (recovered.length < left) {
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
