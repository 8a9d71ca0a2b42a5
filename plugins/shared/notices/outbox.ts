/**
 * Keeps notices beside the ledger until each was delivered once to each channel. A process that dies after it
 * sent a message and before it noted that is followed by one that sends it again. To raise a notice costs a
 * look-up; all else happens behind the calls.
 */
import { hash, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  GatewayError,
  isGatewayError,
  type Erasure,
  type Finding,
  type Host,
  type Notice,
  type Notices,
  type Tables,
} from '../../../core/index.ts';
import { defineCounter, defineGauge } from '../metric.ts';
import { limitEntries } from '../up-to.ts';
import { Delivery, describeFault, longestTry, type Channel, type Told } from './delivery.ts';
import { declaration, sql } from './tables.ts';
import { UrgentNotices } from './urgent.ts';

const outboxName = 'notices';

/** Milliseconds between two looks at what is due, and two clean-ups. */
const lookEvery = 2000;
const tidyEvery = 600_000;
/** Milliseconds after which a write of the tables counts as failed. */
const patience = 5000;
/** Notices that wait in memory for the tables, and rows and milliseconds for which they are kept then. */
const mostWaiting = 1000;
const mostKept = 10_000;
const longestKept = 90 * 24 * 3_600_000;

interface Waiting {
  readonly told: Told;
  readonly kept: Promise<boolean>;
  end(isKept: boolean): void;
}

const [done, lost] = [Promise.resolve(true), Promise.resolve(false)];

async function waitAtMost<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const fail = (): void => reject(new GatewayError('ledger_unavailable', 'It did not answer in time.'));
  const timer = setTimeout(fail, milliseconds);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

function nameNotice({ event, subject, period }: Pick<Notice, 'event' | 'subject' | 'period'>): string {
  return `${event}\n${subject}\n${period}`;
}

function nameCondition(event: string, subject: string): string {
  return `${event}\n${subject}`;
}

function registerNoticeMetrics(metrics: Host['metrics']) {
  return {
    attempts: defineCounter(
      metrics,
      'tollgate_notices_total',
      'Messages to operators, by what became of them.',
      ['channel', 'outcome'],
    ),
    undelivered: defineGauge(
      metrics,
      'tollgate_notices_undelivered',
      'Notices that a channel has not accepted: pending ones are sent again, failed ones are given up.',
      { together: 'max', labelNames: ['channel', 'state'] },
    ),
  };
}

interface OutboxOptions extends Pick<Host, 'logger' | 'metrics' | 'workers'> {
  readonly firstPause?: number;
}

export class NoticeOutbox implements Pick<Notices, 'raise' | 'resolve'> {
  readonly name = outboxName;
  readonly channels = new Map<string, Channel>();
  readonly #options: OutboxOptions;
  readonly #metrics: ReturnType<typeof registerNoticeMetrics>;
  readonly #urgent: UrgentNotices;
  /** What is in the tables, as far as this process raised it. */
  readonly #known = new LRUCache<string, true>(limitEntries(mostKept));
  readonly #waiting = new Map<string, Waiting>();
  /** Conditions that a notice was raised of, and those that are over. */
  #open = new Set<string>();
  readonly #over = new Map<string, readonly [event: string, subject: string]>();
  readonly #stopping = new AbortController();
  readonly #serving = new Map<string, Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];
  #soon: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #tables: Tables | undefined;
  #delivery: Delivery | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#metrics = registerNoticeMetrics(options.metrics);
    this.#urgent = new UrgentNotices(options);
  }

  raise(notice: Notice): Promise<boolean> {
    const name = nameNotice(notice);
    if (this.#known.has(name)) return done;
    const known = this.#waiting.get(name);
    if (known) return known.kept;
    if (this.#waiting.size >= mostWaiting || this.#stopping.signal.aborted) return lost;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const told = { ...notice, id: hash('sha256', name).slice(0, 32), at: Date.now() };
    this.#waiting.set(name, { told, kept: promise, end: resolve });
    this.#open.add(nameCondition(notice.event, notice.subject));
    this.#runSoon();
    return promise;
  }

  resolve(event: string, subject: string): void {
    const name = nameCondition(event, subject);
    if (!this.#open.has(name)) return;
    this.#over.set(name, [event, subject]);
    this.#runSoon();
  }

  /** Keeps and delivers notices in these tables from now on. */
  async start(tables: Tables): Promise<void> {
    const { logger, firstPause = 5000 } = this.#options;
    this.#tables = tables;
    this.#delivery = new Delivery({
      logger,
      tables,
      firstPause,
      holder: randomUUID(),
      stopping: this.#stopping.signal,
      count: (channel, outcome) => {
        this.#metrics.attempts.inc({ channel: channel.name, outcome });
        channel.count?.(outcome);
      },
    });
    await this.tidy();
    this.#timers.push(
      setInterval(() => void this.run(), lookEvery).unref(),
      setInterval(() => void this.tidy().catch(() => undefined), tidyEvery).unref(),
    );
    this.#runSoon();
  }

  /** Keeps what waits, and ends when no message is on its way. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    clearTimeout(this.#soon);
    this.#stopping.abort();
    await this.#running;
    if (this.#tables) await this.#keep().catch(() => undefined);
    for (const { end } of this.#waiting.values()) end(false);
    await this.waitForMessages();
  }

  /** Resolves when no message is on its way. */
  async waitForMessages(): Promise<void> {
    await Promise.all(this.#serving.values());
  }

  /** Keeps what waits and starts to deliver what is due; never rejects. */
  run(): Promise<void> {
    this.#running ??= (async () => {
      // What is raised before the tables are open waits.
      if (!this.#tables) return;
      await this.#keep();
      if (!this.#stopping.signal.aborted && this.channels.size > 0) await this.#deliver();
    })()
      .catch((error: unknown) => this.#options.logger.debug({ error }, 'notices have to wait'))
      .finally(() => void (this.#running = undefined));
    return this.#running;
  }

  /** Deletes old notices, and learns which conditions other processes have reported. */
  async tidy(): Promise<void> {
    const { write, read } = this.#requireTables();
    const now = Date.now();
    await write([
      { sql: sql.giveUp, values: [now - longestTry] },
      { sql: sql.forget, values: [now - longestKept, mostKept] },
      { sql: sql.tidy },
    ]);
    const open = await read({ sql: sql.open });
    this.#open = new Set(open.map(({ event, subject }) => nameCondition(String(event), String(subject))));
    for (const { told } of this.#waiting.values()) this.#open.add(nameCondition(told.event, told.subject));
  }

  /** Deletes the notices of an account or of keys. */
  async erase({ account, keys }: Erasure): Promise<void> {
    const names = account === undefined ? keys : [account, ...keys];
    await this.#requireTables().write([
      ...names.map((name) => ({ sql: sql.erase, values: [name] })),
      { sql: sql.tidy },
    ]);
  }

  #requireTables(): Tables {
    if (!this.#tables) throw new Error('the tables of notices are not open yet');
    return this.#tables;
  }

  /** Several notices that are raised in one moment are one message. */
  #runSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void (this.#running ?? done).then(() => this.run());
    }, 50).unref();
  }

  async #keep(): Promise<void> {
    await Promise.all(Array.from(this.#waiting, ([name, waiting]) => this.#keepNotice(name, waiting)));
    const waiting = new Set(
      Array.from(this.#waiting.values(), ({ told }) => nameCondition(told.event, told.subject)),
    );
    for (const [name, [event, subject]] of this.#over) {
      // First the notice, then that it is over.
      if (waiting.has(name)) continue;
      const at = Date.now();
      await waitAtMost(
        patience,
        this.#requireTables().write([
          { sql: sql.tellEnd, values: [event, subject, at] },
          { sql: sql.end, values: [event, subject, at] },
        ]),
      );
      this.#over.delete(name);
      this.#open.delete(name);
    }
  }

  async #keepNotice(name: string, { told, end }: Waiting): Promise<void> {
    const { id, event, subject, at, ...body } = told;
    const channels = [...this.channels.values()].filter((channel) => channel.takes(told));
    const account = told.accounts?.[0] ?? null;
    const values = [id, event, subject, account, at, JSON.stringify({ event, subject, ...body })];
    try {
      const statements = channels.map((channel) => {
        const wasTold = this.#urgent.wasTold(told, channel);
        return { sql: sql.address, values: [id, channel.name, wasTold ? null : at, wasTold ? at : null] };
      });
      await waitAtMost(patience, this.#requireTables().write([{ sql: sql.raise, values }, ...statements]));
      this.#known.set(name, true);
    } catch (error) {
      if (isGatewayError(error)) {
        if (told.isUrgent) await Promise.all(channels.map((channel) => this.#urgent.report(told, channel)));
        return;
      }
      this.#options.logger.error({ error, event }, 'a notice cannot be kept');
    }
    this.#waiting.delete(name);
    end(this.#known.has(name));
  }

  async #deliver(): Promise<void> {
    const { logger } = this.#options;
    const rows = await this.#requireTables().read({ sql: sql.count });
    const { undelivered } = this.#metrics;
    undelivered.reset();
    for (const channel of this.channels.keys())
      for (const state of ['pending', 'failed']) undelivered.set({ channel, state }, 0);
    for (const { channel: name, pending, failed, next } of rows) {
      const channel = this.channels.get(String(name));
      if (!channel || !this.#delivery) continue;
      undelivered.set({ channel: channel.name, state: 'pending' }, Number(pending));
      undelivered.set({ channel: channel.name, state: 'failed' }, Number(failed));
      if (this.#serving.has(channel.name) || Number(pending) === 0 || Number(next) > Date.now()) continue;
      // Not awaited: a channel that does not answer holds back no other.
      const serving = this.#delivery
        .serve(channel)
        .catch((error: unknown) => logger.debug({ error }, 'a channel has to wait'))
        .finally(() => this.#serving.delete(channel.name));
      this.#serving.set(channel.name, serving);
    }
  }
}

async function examineChannel({ name, check }: Channel): Promise<Finding> {
  const subject = `channel ${name}`;
  try {
    await check();
    return { subject, state: 'well', message: 'takes notices' };
  } catch (error) {
    const remedy = `check its options; \`tollgate notices test ${name}\` sends a message`;
    return { subject, state: 'fault', message: describeFault(error), remedy };
  }
}

/** The outbox of a configuration. The first plugin that asks for it makes it. */
export function useOutbox(host: Host): NoticeOutbox {
  const { hooks, notices, tables, examinations } = host;
  const known = notices.outboxes.find(outboxName);
  if (known instanceof NoticeOutbox) return known;
  const outbox = new NoticeOutbox(host);
  notices.outboxes.add(outbox);
  host.onApplied(() => {
    if (!tables.find('ledger'))
      throw new Error('notices are kept with the ledger: add balance() to the configuration');
  });
  // After the tap that opens the ledger, and before the one that closes it.
  hooks.ready.tapPromise({ name: outboxName, stage: 10 }, async () =>
    outbox.start(await tables.get('ledger').open(declaration)),
  );
  hooks.erase.tapPromise(outboxName, (erasure) => outbox.erase(erasure));
  hooks.close.tapPromise({ name: outboxName, stage: -10 }, () => outbox.stop());
  examinations.add({
    name: outboxName,
    examine: () => Promise.all(Array.from(outbox.channels.values(), examineChannel)),
  });
  return outbox;
}
