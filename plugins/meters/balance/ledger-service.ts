/**
 * The ledger of a process, across all reloads of its configuration: its store, the beats that keep its
 * reservations its own, the audits, and the entries that wait until the ledger works again.
 */
import { hostname } from 'node:os';
import { z } from 'zod';
import { formatUsd, getMessage, isGatewayError, type Host, type Planned } from '../../../core/index.ts';
import { nameDay, raiseNotice, resolveNotice } from '../../shared/notices/events.ts';
import { CallKeeper } from './calls/keeper.ts';
import { Heartbeat } from './heartbeat.ts';
import type { LedgerMetrics } from './metrics.ts';
import { settleWithoutFaulty } from './plugin-tables.ts';
import { settleDurably, buildUnsent, Pauses, type Retrying } from './settlement.ts';
import type { Reserved, ReserveRequest, Settled, Settlement, Store } from './store.ts';

export interface LedgerServiceOptions {
  readonly store: Store;
  readonly logger: Host['logger'];
  readonly metrics: LedgerMetrics;
  /** Milliseconds without a beat after which a process is dead. */
  readonly lease: number;
  /** Milliseconds after which any process gives a reservation back. */
  readonly longestCall: number;
  /** Milliseconds between two audits of new entries; 0 turns them off. */
  readonly auditEvery: number;
  /** Milliseconds for which ended calls are stored; 0 stores none. */
  readonly retention: number;
  readonly workers: Host['workers'];
}

const lastAuditSchema = z.object({ ok: z.boolean(), at: z.number(), findings: z.number() });
/** How the last audit ended, of this process or another worker. */
export type LastAudit = z.output<typeof lastAuditSchema>;

const auditTopic = 'ledger-audit';

/** Beats per lease: enough that a process is not taken for dead when one or two beats are late. */
const beatsPerLease = 3;
/**
 * How many lost reservations are remembered. In a longer outage the others are released only when they
 * expire.
 */
const mostDoubtful = 100_000;
/**
 * Allowances that are credited in one transaction, for which calls wait, and milliseconds after which the
 * others wait for the next beat, which must not be late.
 */
const creditedTogether = 20;
const longestCrediting = 300;
/** Milliseconds of an outage before operators get a notice. */
const shortOutage = 10_000;

export class LedgerService {
  readonly store: Store;
  readonly calls: CallKeeper;
  /** Those of the configurations that use the ledger, the newest last. */
  readonly #listeners: Host['notices'][] = [];
  /** How the last audit ended; undefined before the first. */
  lastAudit: LastAudit | undefined;
  /** When this process made its last audit, by its own clock. */
  #auditedAt = -Infinity;
  readonly #options: LedgerServiceOptions;
  readonly #heartbeat: Heartbeat;
  readonly #closing = new AbortController();
  readonly #settling = new Set<Promise<unknown>>();
  readonly #retrying: Retrying;
  /** Since when the ledger cannot be used, by this process's own clock. */
  #downSince: number | undefined;
  /**
   * Reservations that may exist although their calls were refused, because the ledger's reply was lost, with
   * what plugins write when they are released.
   */
  readonly #doubtful = new Map<string, Settlement['also']>();
  readonly #auditing: NodeJS.Timeout | undefined;
  readonly #stopAnswering: () => void;

  constructor(options: LedgerServiceOptions) {
    const { store, logger, metrics, lease, auditEvery, workers } = options;
    this.store = store;
    this.#options = options;
    this.#retrying = { logger, pauses: new Pauses(), closing: this.#closing.signal };
    this.#heartbeat = new Heartbeat({
      ...options,
      every: lease / beatsPerLease,
      onRecovered: ({ status }) => metrics.recovered.inc({ status }),
      onBeat: async () => {
        await this.#giveBackDoubtful();
        await this.#creditAllowances();
      },
      onRound: (failure) => this.#noteOutage(failure),
    });
    this.#heartbeat.start();
    this.calls = new CallKeeper({ ...options, onLost: (calls) => metrics.lost.inc(calls) });
    this.calls.start();
    metrics.watch(store);
    if (auditEvery > 0) this.#auditing = setInterval(() => void this.#auditInTurn(), auditEvery).unref();
    this.#stopAnswering = workers.answer(auditTopic, () =>
      performance.now() - this.#auditedAt < auditEvery ? this.lastAudit : undefined,
    );
  }

  /** Tells a configuration's operators of outages and faults; returns a function that stops it. */
  listen(notices: Host['notices']): () => void {
    this.#listeners.push(notices);
    return () => void this.#listeners.splice(this.#listeners.indexOf(notices), 1);
  }

  /** From now on each beat reports how far the call has come, until it is settled. */
  begin(exchange: Planned): void {
    this.#heartbeat.begin(exchange);
  }

  /** Resolves when the entry is durable, or was abandoned because the gateway stops. */
  settle(settlement: Settlement): Promise<void> {
    const settling = settleDurably(this.store, settlement, this.#retrying).then((settled) => {
      this.#settling.delete(settling);
      this.#heartbeat.end(settlement.id);
      this.#noteSettled(settlement, settled);
    });
    this.#settling.add(settling);
    return settling;
  }

  /**
   * Rejects if the ledger cannot be reached. If it reserved anything anyway, that is released when it
   * works again.
   */
  async reserve(request: ReserveRequest): Promise<Reserved> {
    try {
      const reserved = await this.store.reserve(request);
      if (reserved.status === 'short' && reserved.by === 'budget')
        this.#options.metrics.budgetRefusals.inc({ scope: reserved.budget.scope });
      return reserved;
    } catch (error) {
      if (isGatewayError(error) && error.code === 'ledger_unavailable' && this.#doubtful.size < mostDoubtful)
        this.#doubtful.set(request.id, undefined);
      throw error;
    }
  }

  /** A call that reserved nothing has ended: what plugins write if it did after all. */
  noteRefused(id: string, list: () => Settlement['also']): void {
    if (this.#doubtful.has(id)) this.#doubtful.set(id, list());
  }

  /**
   * Releases reservations whose replies were lost. It runs after each beat that succeeds: earlier, the
   * ledger would fail again.
   */
  async #giveBackDoubtful(): Promise<void> {
    const { logger } = this.#options;
    await Promise.all(
      Array.from(this.#doubtful, async ([id, also]) => {
        const unsent = buildUnsent(id, 'ledger_unavailable', Date.now());
        await settleWithoutFaulty(this.store, { ...unsent, also }, logger);
        this.#doubtful.delete(id);
      }),
    );
  }

  /** Credits what is due. A call of an account that is due before credits its allowance itself. */
  async #creditAllowances(): Promise<void> {
    const [at, began] = [Date.now(), performance.now()];
    let credited = 0;
    while (performance.now() - began < longestCrediting && (await this.store.hasDueAllowances({ at })))
      credited += await this.store.creditAllowances({ at, limit: creditedTogether });
    if (credited > 0) this.#options.logger.info({ credited }, 'allowances were credited');
  }

  /** Writes one line when the ledger fails, and one when it works again. Then waiting entries are retried. */
  #noteOutage(failure: unknown): void {
    const { logger } = this.#options;
    if (failure === undefined) {
      const listener = this.#listeners.at(-1);
      if (listener) resolveNotice(listener, 'ledger.unreachable', hostname());
      if (this.#downSince === undefined) return;
      this.#downSince = undefined;
      this.#retrying.pauses.endAll();
      return logger.info('the ledger can be used again');
    }
    const error = this.store.findFault() ?? failure;
    if (this.#downSince !== undefined) return this.#raiseOutage(this.#downSince, error);
    this.#downSince = performance.now();
    logger.error(
      { error },
      'the ledger cannot be used and new calls get 503: check its disk or database server; ' +
        '`tollgate doctor` says more',
    );
  }

  /** Told once an hour, and not of a failover of seconds. */
  #raiseOutage(since: number, error: unknown): void {
    const listener = this.#listeners.at(-1);
    if (!listener || performance.now() - since < shortOutage) return;
    const [machine, period] = [hostname(), new Date().toISOString().slice(0, 13)];
    const facts = { machine, reason: getMessage(error) };
    void raiseNotice(listener, 'ledger.unreachable', { subject: machine, period }, facts);
  }

  /** Audits what was written since the last time. Resolves when the metrics and the log have the result. */
  async audit(): Promise<void> {
    const { logger } = this.#options;
    try {
      const report = await this.store.audit();
      this.#auditedAt = performance.now();
      this.#keepAudit({ ok: report.ok, at: Date.now(), findings: report.broken });
      if (!report.ok)
        logger.error(
          { broken: report.broken, findings: report.findings.slice(0, 5) },
          'the books break a rule: run `tollgate audit`',
        );
    } catch (error) {
      logger.warn({ error }, 'the books could not be audited');
    }
  }

  /** Takes the result of another worker that has just audited, since it has read the same entries. */
  async #auditInTurn(): Promise<void> {
    const { success, data } = lastAuditSchema.safeParse(
      await this.#options.workers.askForFirstAnswer(auditTopic, {}),
    );
    if (success) this.#keepAudit(data);
    else await this.audit();
  }

  #keepAudit(audit: LastAudit): void {
    const { findings, ok } = audit;
    this.#options.metrics.noteAudit(findings);
    this.lastAudit = audit;
    const listener = this.#listeners.at(-1);
    if (!listener) return;
    if (ok) resolveNotice(listener, 'ledger.audit', 'ledger');
    else void raiseNotice(listener, 'ledger.audit', { subject: 'ledger', period: nameDay() }, { findings });
  }

  /**
   * Tries once more to write what waits, and closes the store. Another process recovers what could not be
   * written.
   */
  async close(): Promise<void> {
    clearInterval(this.#auditing);
    this.#stopAnswering();
    this.#closing.abort();
    const { size } = this.#settling;
    if (size > 0)
      this.#options.logger.warn(
        { calls: size },
        'the gateway stops while calls wait for the ledger: those that it cannot settle in time ' +
          'stay reserved, and another gateway or the next start settles them',
      );
    await Promise.all(this.#settling);
    await this.#heartbeat.stop();
    await this.calls.close();
    await this.store.close();
  }

  #noteSettled({ id, suspect, provider, model, usage }: Settlement, settled: Settled | undefined): void {
    const { logger, metrics } = this.#options;
    if (suspect) {
      metrics.suspect.inc();
      logger.warn(
        { call: id, provider, model, charged: usage },
        "a vendor's figures could not be true, or it charged for what the call did not ask for: " +
          'no more is charged than was reserved',
      );
    }
    if (settled?.status === 'adjusted') {
      metrics.late.inc();
      logger.warn(
        { call: id, by: formatUsd(settled.by) },
        'a call was settled after another process had taken this one for dead: its entry is adjusted',
      );
    }
    if (settled?.status !== 'posted' || settled.overage === 0n) return;
    metrics.overages.inc();
    logger.warn(
      { call: id, overage: formatUsd(settled.overage) },
      'a call cost more than was reserved for it',
    );
  }
}
