/**
 * The ledger of a process: what it counts of settlements, which unanswered reservations it voids, and how it
 * closes.
 */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../core/index.ts';
import type { Workers } from '../../core/plugin.ts';
import type { AuditReport } from '../../plugins/meters/balance/audit.ts';
import { LedgerService, type LedgerServiceOptions } from '../../plugins/meters/balance/ledger-service.ts';
import { registerLedgerMetrics } from '../../plugins/meters/balance/metrics.ts';
import type { Settlement, Store } from '../../plugins/meters/balance/store.ts';
import { request } from '../contract/store.ts';
import { buildRouted } from '../support/exchange.ts';
import { settlement, buildStore } from './calls.ts';
import { target } from './targets.ts';

const away = new GatewayError('ledger_unavailable', 'away');
const totals = {
  accounts: 1,
  keys: 1,
  pendingCalls: 3,
  pendingAmount: 2_500_000_000n,
  oldestPending: Date.now() - 5000,
};
const settle = vi.fn<Store['settle']>();
const reserve = vi.fn<Store['reserve']>();
const audit = vi.fn<Store['audit']>();
const beat = vi.fn<Store['beat']>();
const close = vi.fn<Store['close']>(async () => undefined);
const store: Store = {
  ...buildStore({
    settle,
    reserve,
    audit,
    beat,
    close,
    listOwners: async () => [],
    expire: async () => [],
    hasDueAllowances: async () => false,
    sumTotals: async () => totals,
  }),
};

/** The other workers that share the port. */
const askForFirstAnswer = vi.fn<Workers['askForFirstAnswer']>();
const answer = vi.fn<Workers['answer']>(() => () => undefined);
const workers: Workers = {
  several: true,
  notify: () => undefined,
  askForFirstAnswer,
  askForAllAnswers: async () => [],
  askSupervisor: async () => undefined,
  answer,
};

let registry: Registry;
let options: LedgerServiceOptions;
let service: LedgerService;
let log: string[];

beforeEach(() => {
  for (const operation of [settle, reserve, audit, beat, askForFirstAnswer]) operation.mockReset();
  registry = new Registry();
  log = [];
  const logger = pino({}, { write: (line: string) => void log.push(line) });
  options = {
    store,
    logger,
    metrics: registerLedgerMetrics(registry),
    lease: 60,
    longestCall: 1e9,
    auditEvery: 0,
    retention: 0,
    workers,
  };
  service = new LedgerService(options);
});
afterEach(() => service.close());

async function readMetric(name: string): Promise<number | undefined> {
  return (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
}

describe('a reservation whose answer was lost', () => {
  it('is voided once the ledger works again, and not asked for again', async () => {
    reserve.mockRejectedValueOnce(away);
    settle.mockRejectedValueOnce(away).mockResolvedValue({ status: 'voided' });
    await expect(service.reserve(request('lost', 'a'))).rejects.toBe(away);
    await vi.waitFor(() => expect(settle).toHaveBeenCalledTimes(2), 120_000);
    expect(settle).toHaveBeenLastCalledWith(
      expect.objectContaining({ id: 'lost', amount: undefined, reason: 'ledger_unavailable' }),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(settle).toHaveBeenCalledTimes(2);
  });

  it('is voided with what plugins write for the refused call', async () => {
    reserve.mockRejectedValueOnce(away);
    const voided = Promise.withResolvers<Settlement>();
    settle.mockImplementation(async (settlement) => {
      voided.resolve(settlement);
      return { status: 'voided' };
    });
    await expect(service.reserve(request('lost', 'a'))).rejects.toBe(away);
    const also = [{ name: 'visits', statements: [] }];
    service.noteRefused('lost', () => also);
    service.noteRefused('other', () => expect.unreachable());
    expect(await voided.promise).toMatchObject({ id: 'lost', also });
  });

  it('is not remembered if the ledger refused the request itself', async () => {
    reserve.mockRejectedValueOnce(new Error('UNIQUE'));
    await expect(service.reserve(request('twice', 'a'))).rejects.toThrow('UNIQUE');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(settle).not.toHaveBeenCalled();
  });
});

it('allowances of many accounts are credited in parts, after a beat', async () => {
  let due = 50;
  const hasDueAllowances = vi.fn<Store['hasDueAllowances']>(async () => due > 0);
  const creditAllowances = vi.fn<Store['creditAllowances']>(async ({ limit }) => {
    const part = Math.min(limit, due);
    due -= part;
    return part;
  });
  const many = new LedgerService({ ...options, store: { ...store, hasDueAllowances, creditAllowances } });
  await vi.waitFor(() => expect(due).toBe(0), 120_000);
  expect(creditAllowances.mock.calls.length).toBeGreaterThanOrEqual(3);
  await many.close();
});

describe('entries that wait for the ledger', () => {
  it('are retried at once when it works again, however long their pauses have become', async () => {
    const calls = ['r1', 'r2', 'r3'];
    let isDown = true;
    const fail = async (): Promise<void> => {
      if (isDown) throw away;
    };
    /** Entries that were settled when each beat after the outage began. */
    const settledAtBeats: number[] = [];
    const settled = new Set<string>();
    settle.mockImplementation(async ({ id }) => {
      await fail();
      settled.add(id);
      return { status: 'posted', posted: 5n, overage: 0n };
    });
    beat.mockImplementation(async () => {
      await fail();
      settledAtBeats.push(settled.size);
    });
    for (const id of calls)
      service.begin({ ...buildRouted(target('house', { input: '1', output: '1' })), id });
    const settling = calls.map((id) => service.settle(settlement(id, 5n)));
    // By now each waits 0.8 s, which is many beats.
    await vi.waitFor(() => expect(settle.mock.calls.length).toBeGreaterThanOrEqual(12), 120_000);
    const tries = settle.mock.calls.length;
    isDown = false;
    await Promise.all(settling);
    expect(settledAtBeats[1] ?? calls.length).toBe(calls.length);
    expect(settle).toHaveBeenCalledTimes(tries + calls.length);
  });
});

it('metrics report pending reservations, read from the ledger with each scrape', async () => {
  expect([
    await readMetric('tollgate_ledger_pending_calls'),
    await readMetric('tollgate_ledger_pending_usd'),
  ]).toEqual([3, 2.5]);
  expect(await readMetric('tollgate_ledger_oldest_pending_seconds')).toBeGreaterThanOrEqual(5);
});

it('metrics count overages, late ends and suspect usage', async () => {
  settle.mockResolvedValueOnce({ status: 'posted', posted: 5n, overage: 2n });
  await service.settle(settlement('dear', 7n));
  settle.mockResolvedValueOnce({ status: 'adjusted', by: -3n });
  await service.settle(settlement('late', 2n));
  settle.mockResolvedValueOnce({ status: 'posted', posted: 5n, overage: 0n });
  await service.settle(settlement('lied', 5n, { suspect: true, provider: 'liar', model: 'house/model' }));
  const names = ['overage', 'late', 'suspect'].map((name) => `tollgate_ledger_${name}_total`);
  expect(await Promise.all(names.map(readMetric))).toEqual([1, 1, 1]);
  expect(log.map((line) => JSON.parse(line).call)).toEqual(['dear', 'late', 'lied']);
  expect(JSON.parse(log.at(-1) ?? '')).toMatchObject({ level: 40, provider: 'liar', model: 'house/model' });
});

it('metrics show the result of the last audit, and the log shows its findings', async () => {
  const report = { ok: true, entries: 1, accounts: 1, pending: 0, broken: 0, findings: [] };
  audit.mockResolvedValueOnce(report);
  await service.audit();
  expect([
    await readMetric('tollgate_ledger_audit_ok'),
    await readMetric('tollgate_ledger_audit_findings'),
  ]).toEqual([1, 0]);
  const findings = [{ rule: 'I2' as const, entry: 7, account: 'a', message: 'wrong' }];
  audit.mockResolvedValueOnce({ ...report, ok: false, broken: 4, findings });
  await service.audit();
  expect([
    await readMetric('tollgate_ledger_audit_ok'),
    await readMetric('tollgate_ledger_audit_findings'),
  ]).toEqual([0, 4]);
  expect(JSON.parse(log.at(-1) ?? '{}')).toMatchObject({ level: 50, broken: 4, findings });
});

describe('workers that share a ledger', () => {
  const report = { ok: false, entries: 1, accounts: 1, pending: 0, broken: 4, findings: [] };

  /** What this worker answers to another that asks for its audits within `auditEvery`. */
  function answerWithin(auditEvery: number): () => unknown {
    answer.mockClear();
    const other = new LedgerService({ ...options, auditEvery });
    others.push(other);
    const [, give] = answer.mock.calls[0] ?? [];
    return async () => {
      await other.audit();
      return give?.({});
    };
  }

  const others: LedgerService[] = [];
  afterEach(() => Promise.all(others.splice(0).map((other) => other.close())));

  it('take the result of one that has audited, and audit where none has', async () => {
    const heard = { ok: false, at: 5, findings: 3 };
    const audited = Promise.withResolvers<AuditReport>();
    audit.mockReturnValue(audited.promise);
    askForFirstAnswer.mockResolvedValueOnce(heard).mockResolvedValue(undefined);
    const other = new LedgerService({ ...options, auditEvery: 20 });
    others.push(other);
    await vi.waitFor(() => expect(audit).toHaveBeenCalled(), 120_000);
    expect(other.lastAudit).toEqual(heard);
    expect(await readMetric('tollgate_ledger_audit_findings')).toBe(3);
    audited.resolve(report);
    await vi.waitFor(async () => expect(await readMetric('tollgate_ledger_audit_findings')).toBe(4), 120_000);
  });

  it('tell each other of an audit until the next is due', async () => {
    audit.mockResolvedValue(report);
    expect(await answerWithin(1e8)()).toMatchObject({ ok: false, findings: 4 });
    expect(await answerWithin(1e-9)()).toBeUndefined();
  });
});

it('closing tries failed writes once more, and then closes the store', async () => {
  settle.mockRejectedValue(away);
  const settled = service.settle(settlement('r1', 5n));
  await vi.waitFor(() => expect(log.join('')).toContain('the call is settled again later'), 120_000);
  await service.close();
  expect(await settled).toBeUndefined();
  expect(settle).toHaveBeenCalledTimes(2);
  expect(log.join('')).toContain('"calls":1,"msg":"the gateway stops while calls wait for the ledger');
  expect(close).toHaveBeenCalled();
});
