/**
 * Keeps notices beside the ledger until each was delivered once to each channel. To raise a notice costs a
 * look-up; all else happens behind the calls. One process at a time holds a channel, for as long as its
 * messages may take. If it dies after it sent a message and before it noted that, another one sends it again.
 * While the ledger is away, urgent notices are sent from memory.
 */
import { hash, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import {
  GatewayError,
  isGatewayError,
  withTimeout,
  type Erasure,
  type Host,
  type Notice,
  type Supervisor,
  type TableRow,
  type Tables,
  type TableStatement,
} from '../../../core/index.ts';
import { defineCounter, defineGauge } from '../metric.ts';
import { limitEntries } from '../up-to.ts';
import {
  buildMessage,
  describeFault,
  readTold,
  SendError,
  sendInTime,
  type Channel,
  type Told,
} from './message.ts';
import { declaration, sql } from './tables.ts';

const outboxName = 'notices';
const claimTopic = 'notices:claim';

/** Milliseconds between two looks at what is due, and two clean-ups. */
const lookEvery = 2000;
const tidyEvery = 600_000;
/** Milliseconds after which a write of the tables counts as failed. */
const patience = 5000;
/** Notices that wait in memory for the tables, and rows and milliseconds for which they are kept then. */
const mostWaiting = 1000;
const mostKept = 10_000;
const longestKept = 90 * 24 * 3_600_000;
/** Messages for which a process holds a channel at once, and milliseconds beyond what they may take. */
const mostMessages = 5;
const margin = 10_000;
/** Milliseconds between two tries of a message at most, and for which it is tried. */
const longestPause = 3_600_000;
export const longestTry = 24 * 3_600_000;
/** Milliseconds before an urgent message is tried again, and before another worker may try it. */
const urgentPause = 10_000;
const claimed = 60_000;

interface Waiting extends PromiseWithResolvers<boolean> {
  readonly told: Told;
}

interface Due extends Told {
  readonly attempts: number;
}

function readDue(row: TableRow): Due {
  return { ...readTold(row), attempts: Number(row.attempts) };
}

function joinNames(...names: readonly string[]): string {
  return names.join('\n');
}

interface OutboxOptions extends Pick<Host, 'logger' | 'metrics' | 'workers'> {
  /** Milliseconds before the first retry. */
  readonly firstPause?: number;
}

export class NoticeOutbox {
  readonly name = outboxName;
  readonly channels = new Map<string, Channel>();
  readonly #options: OutboxOptions;
  readonly #attempts;
  readonly #undelivered;
  /** Another one for each process. */
  readonly #holder = randomUUID();
  /** What is in the tables, as far as this process raised it. */
  readonly #known = new LRUCache<string, true>(limitEntries(mostKept));
  readonly #waiting = new Map<string, Waiting>();
  /** The last notice of each condition that this process has not seen the end of. */
  readonly #open = new LRUCache<string, Notice>(limitEntries(mostKept));
  /** When an urgent notice may be sent to a channel again: never, once it was sent from memory. */
  readonly #urgent = new Map<string, number>();
  readonly #serving = new Map<string, Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];
  #soon: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #tables: Tables | undefined;
  #isStopping = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#attempts = defineCounter(
      options.metrics,
      'tollgate_notices_total',
      'Messages to operators, by what became of them.',
      ['channel', 'outcome'],
    );
    this.#undelivered = defineGauge(
      options.metrics,
      'tollgate_notices_undelivered',
      'Notices that a channel has not accepted: pending ones are sent again, failed ones are given up.',
      { together: 'max', labelNames: ['channel', 'state'] },
    );
  }

  async raise(notice: Notice): Promise<boolean> {
    const name = joinNames(notice.event, notice.subject, notice.period);
    if (this.#known.has(name)) return true;
    const known = this.#waiting.get(name);
    if (known) return known.promise;
    if (this.#waiting.size >= mostWaiting || this.#isStopping) return false;
    const told = { ...notice, id: hash('sha256', name).slice(0, 32), at: Date.now() };
    const waiting = { ...Promise.withResolvers<boolean>(), told };
    this.#waiting.set(name, waiting);
    if (!notice.isOver) this.#open.set(joinNames(notice.event, notice.subject), notice);
    this.#runSoon();
    return waiting.promise;
  }

  /** That a notice of this process is over is a notice too, once by all processes. */
  resolve(event: string, subject: string): void {
    const name = joinNames(event, subject);
    const notice = this.#open.get(name);
    if (!notice) return;
    this.#open.delete(name);
    void this.raise({ ...notice, period: `end of ${notice.period}`, isOver: true, isUrgent: false });
  }

  /** Keeps and delivers notices in these tables from now on. */
  async start(tables: Tables): Promise<void> {
    this.#tables = tables;
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
    this.#isStopping = true;
    await this.#running;
    if (this.#tables) await this.#keep().catch(() => undefined);
    for (const { resolve } of this.#waiting.values()) resolve(false);
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
      if (!this.#isStopping && this.channels.size > 0) await this.#deliver();
    })()
      .catch((error: unknown) => this.#options.logger.debug({ error }, 'notices have to wait'))
      .finally(() => void (this.#running = undefined));
    return this.#running;
  }

  /** Deletes old notices. */
  async tidy(): Promise<void> {
    const now = Date.now();
    await this.#requireTables().write([
      { sql: sql.giveUp, values: [now - longestTry] },
      { sql: sql.forget, values: [now - longestKept, mostKept] },
      { sql: sql.tidy },
    ]);
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

  async #writeInTime(statements: readonly TableStatement[]): Promise<void> {
    if (!(await withTimeout(this.#requireTables().write(statements), patience)))
      throw new GatewayError('ledger_unavailable', 'It did not answer in time.');
  }

  /** Several notices that are raised in one moment are one message. */
  #runSoon(): void {
    this.#soon ??= setTimeout(async () => {
      this.#soon = undefined;
      await this.#running;
      await this.run();
    }, 50).unref();
  }

  async #keep(): Promise<void> {
    await Promise.all(Array.from(this.#waiting, ([name, waiting]) => this.#keepNotice(name, waiting)));
  }

  async #keepNotice(name: string, { told, resolve }: Waiting): Promise<void> {
    const { id, event, subject, at, ...body } = told;
    const channels = [...this.channels.values()].filter((channel) => channel.takes(told));
    const account = told.accounts?.[0] ?? null;
    const values = [id, event, subject, account, at, JSON.stringify({ event, subject, ...body })];
    try {
      const addresses = await Promise.all(channels.map((channel) => this.#buildDelivery(told, channel)));
      await this.#writeInTime([{ sql: sql.raise, values }, ...addresses]);
      this.#known.set(name, true);
    } catch (error) {
      if (isGatewayError(error)) {
        if (told.isUrgent) await Promise.all(channels.map((channel) => this.#sendUrgent(told, channel)));
        return;
      }
      this.#options.logger.error({ error, event }, 'a notice cannot be kept');
    }
    this.#waiting.delete(name);
    resolve(this.#known.has(name));
  }

  /** Of an urgent notice, which may have been sent from memory, it asks what the other workers did. */
  async #buildDelivery({ id, at, isUrgent }: Told, { name }: Channel): Promise<TableStatement> {
    const holder = isUrgent ? await this.#claim(joinNames(id, name)) : undefined;
    // The worker that sends it now notes it here. If that one dies, the notice is due later.
    const due = typeof holder === 'number' ? at + claimed : at;
    const times = holder === 'sent' ? [null, at] : [due, null];
    return { sql: sql.address, values: [id, name, at, ...times] };
  }

  async #claim(name: string): Promise<unknown> {
    if (this.#urgent.get(name) === Infinity) return 'sent';
    return this.#options.workers.askSupervisor(claimTopic, { name, isSent: false });
  }

  /** Sends without the tables, once by all workers. Never rejects; a later call tries again what failed. */
  async #sendUrgent(told: Told, channel: Channel): Promise<void> {
    const { workers, logger } = this.#options;
    const name = joinNames(told.id, channel.name);
    if (Date.now() < (this.#urgent.get(name) ?? 0)) return;
    this.#urgent.set(name, Date.now() + urgentPause);
    const holder = await this.#claim(name);
    if (typeof holder === 'number') return;
    try {
      if (holder !== 'sent') await sendInTime(channel, buildMessage(told));
      this.#urgent.set(name, Infinity);
      await workers.askSupervisor(claimTopic, { name, isSent: true });
    } catch (error) {
      const fault = describeFault(error);
      logger.warn({ channel: channel.name, fault }, 'an urgent notice was not accepted');
    }
  }

  async #deliver(): Promise<void> {
    const rows = await this.#requireTables().read({ sql: sql.count });
    this.#undelivered.reset();
    for (const channel of this.channels.values()) {
      const { name } = channel;
      const counts = rows.find((row) => row.channel === name);
      const pending = Number(counts?.pending ?? 0);
      this.#undelivered.set({ channel: name, state: 'pending' }, pending);
      this.#undelivered.set({ channel: name, state: 'failed' }, Number(counts?.failed ?? 0));
      if (this.#serving.has(name) || pending === 0 || Number(counts?.next) > Date.now()) continue;
      // Not awaited: a channel that does not answer holds back no other.
      const serving = this.#serve(channel)
        .catch((error: unknown) => this.#options.logger.debug({ error }, 'a channel has to wait'))
        .finally(() => this.#serving.delete(name));
      this.#serving.set(name, serving);
    }
  }

  /** Sends what is due, unless another process holds the channel or it rests. Rejects if the tables fail. */
  async #serve(channel: Channel): Promise<void> {
    const { write, read } = this.#requireTables();
    const { name, timeout, every } = channel;
    const until = Date.now() + mostMessages * timeout + margin;
    const [held] = await write([{ sql: sql.hold, values: [name, this.#holder, until, Date.now()] }]);
    if (!held?.length) return;
    const due = (await read({ sql: sql.due, values: [name, Date.now()] })).map(readDue);
    const groups = Map.groupBy(due, ({ event, isOver }) => joinNames(event, String(isOver)));
    // What comes while the channel rests is one message.
    let rest = 0;
    for (const group of [...groups.values()].slice(0, mostMessages)) {
      // After a long sleep of this process another one may hold the channel.
      if (this.#isStopping || Date.now() + timeout > until) break;
      const failure = await this.#sendGroup(channel, group);
      rest = Math.max(every, failure instanceof SendError ? failure.retryAfter * 1000 : 0);
      // The rest would probably fail too; what failed least often comes first the next time.
      if (failure !== undefined) break;
    }
    await write([{ sql: sql.release, values: [name, this.#holder, Date.now() + rest] }]);
  }

  /** Sends one message, and notes what became of it. Returns why it was not accepted, if so. */
  async #sendGroup(channel: Channel, group: readonly Due[]): Promise<unknown> {
    const { firstPause = 5000, logger } = this.#options;
    const [first, ...rest] = group;
    if (!first) return undefined;
    const message = buildMessage(first, ...rest);
    const failure: unknown = await sendInTime(channel, message).catch((error: unknown) => error);
    const fault = failure === undefined ? null : describeFault(failure);
    const now = Date.now();
    const findDue = ({ attempts, at }: Due): number | null => {
      const due = now + Math.min(firstPause * 2 ** attempts, longestPause);
      return fault === null || due - at > longestTry ? null : due;
    };
    const isGivenUp = group.every((each) => findDue(each) === null);
    const failed = isGivenUp ? 'given-up' : 'failed';
    const outcome = fault === null ? 'sent' : failed;
    this.#attempts.inc({ channel: channel.name, outcome });
    if (fault !== null)
      logger.warn(
        { channel: channel.name, event: message.event, notices: group.length, fault, isGivenUp },
        'a channel did not accept a notice: try `tollgate notices test`',
      );
    const sent = fault === null ? now : null;
    await this.#requireTables().write(
      group.map((each) => ({
        sql: sql.note,
        values: [each.id, channel.name, findDue(each), sent, fault],
      })),
    );
    return failure;
  }
}

const claimSchema = z.object({ name: z.string(), isSent: z.boolean() });

/**
 * Answers the workers, in the process that starts them, so that one of them sends an urgent notice: nothing
 * if the worker may send it, or the number of the one that does, or that it was sent. Gateways on other
 * machines send it themselves.
 */
export function answerClaims(supervisor: Supervisor): void {
  const holders = new LRUCache<string, number | 'sent'>(limitEntries(1000));
  supervisor.answer(claimTopic, (question, worker) => {
    const { name, isSent } = claimSchema.parse(question);
    const holder = holders.get(name) ?? worker;
    if (holder !== worker) return holder;
    if (isSent) holders.set(name, 'sent');
    else holders.set(name, worker, { ttl: claimed });
    return undefined;
  });
}

/** The outbox of a configuration. The first plugin that asks for it makes it. */
export function useOutbox(host: Host): NoticeOutbox {
  const { hooks, notices, tables } = host;
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
  return outbox;
}
