/**
 * Sends what is due to a channel. One process at a time holds the channel, for as long as its messages may
 * take; then the channel rests, so that notices which come meanwhile are one message. What the channel did
 * not accept is due again after a pause, for a day.
 */
import { getMessage, hideSecrets, type Host, type Notice, type TableRow } from '../../../core/index.ts';
import { sql } from './tables.ts';

/** A notice as it was kept. */
export interface Told extends Notice {
  /** The same at each attempt. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** One notice, or several of one event. Texts are plain: each channel escapes them. */
export interface Message extends Pick<Notice, 'event' | 'severity' | 'title'> {
  readonly state: 'raised' | 'resolved' | 'test';
  /** What happened, a line for each notice, of which there are at most eleven. */
  readonly lines: readonly string[];
  readonly notices: readonly Told[];
}

/** A way to reach operators. */
export interface Channel {
  readonly name: string;
  /** Milliseconds between messages, and for one to be accepted. */
  readonly every: number;
  readonly timeout: number;
  /** Whether each notice is a message of its own. */
  readonly isSingle?: boolean;
  takes(notice: Notice): boolean;
  /** Rejects if the message was not accepted: it is sent again later. */
  send(message: Message): Promise<void>;
  /** Rejects with the reason if messages cannot be sent. Sends none. */
  check(): Promise<void>;
  count?(outcome: Outcome): void;
}

export type Outcome = 'sent' | 'failed' | 'given-up';

/** Why a channel did not accept a message, and for how many seconds it wants none. */
export class SendError extends Error {
  readonly retryAfter: number;

  constructor(message: string, retryAfter = 0) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

const mostLines = 10;
/** Messages for which a process holds a channel at once. */
const mostMessages = 5;
/** Milliseconds for which it holds the channel longer than the messages may take. */
const margin = 10_000;
const longestPause = 3_600_000;
export const longestTry = 24 * 3_600_000;

/** The message of one or more notices of an event; without one there is none. */
export function buildMessage(state: Message['state'], notices: readonly Told[]): Message | undefined {
  const [first] = notices;
  if (!first) return undefined;
  const { event, severity, title } = first;
  const count = notices.length > 1 ? ` (${notices.length})` : '';
  const more = notices.length - mostLines;
  const lines = notices.slice(0, mostLines).map(({ text }) => text);
  return {
    event,
    state,
    severity: state === 'resolved' ? 'info' : severity,
    title: `${title}${count}`,
    lines: more > 0 ? [...lines, `And ${more} more.`] : lines,
    notices,
  };
}

/** Sends in time, whatever the channel does. */
export async function sendInTime(channel: Channel, message: Message): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const rejectLate = (): void => reject(new SendError(`it did not answer in ${channel.timeout / 1000} s`));
  const timer = setTimeout(rejectLate, channel.timeout);
  await Promise.race([channel.send(message), promise]).finally(() => clearTimeout(timer));
}

export function describeFault(error: unknown): string {
  return hideSecrets(getMessage(error)).slice(0, 300);
}

interface Due {
  readonly state: 'raised' | 'resolved';
  readonly attempts: number;
  readonly dueSince: number;
  readonly told: Told;
}

export function readTold({ id, at, body }: TableRow): Told {
  return { ...JSON.parse(String(body)), id: String(id), at: Number(at) };
}

function readDue({ notice: id, state, attempts, at, body }: TableRow): Due {
  const told = readTold({ id, at, body });
  const name = state === 'resolved' ? state : 'raised';
  return { state: name, attempts: Number(attempts), dueSince: Number(at), told };
}

export interface DeliveryOptions extends Pick<Host, 'logger'> {
  readonly tables: Awaited<ReturnType<ReturnType<Host['tables']['get']>['open']>>;
  /** Milliseconds before the first retry. */
  readonly firstPause: number;
  /** Another one for each process. */
  readonly holder: string;
  readonly stopping: AbortSignal;
  count(channel: Channel, outcome: Outcome): void;
}

export class Delivery {
  readonly #options: DeliveryOptions;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Sends what is due, unless another process holds the channel or it rests. Rejects if the tables fail. */
  async serve(channel: Channel): Promise<void> {
    const { tables, holder } = this.#options;
    const { name, timeout } = channel;
    const now = Date.now();
    const until = now + mostMessages * timeout + margin;
    const [held = []] = await tables.write([{ sql: sql.hold, values: [name, holder, until, now] }]);
    if (held.length === 0) return;
    const rest = await this.#sendDue(channel, until);
    await tables.write([{ sql: sql.release, values: [name, holder, Date.now() + rest] }]);
  }

  /** Returns for how many milliseconds the channel rests. */
  async #sendDue(channel: Channel, until: number): Promise<number> {
    const { tables, stopping } = this.#options;
    const rows = await tables.read({ sql: sql.due, values: [channel.name, Date.now()] });
    const groups = Map.groupBy(rows.map(readDue), ({ told, state }) =>
      channel.isSingle ? `${told.id} ${state}` : `${told.event} ${state}`,
    );
    let rest = 0;
    for (const group of [...groups.values()].slice(0, mostMessages)) {
      // After a long sleep of this process another one may hold the channel.
      if (stopping.aborted || Date.now() + channel.timeout > until) break;
      rest = channel.every;
      const failure = await this.#sendGroup(channel, group);
      if (failure === undefined) continue;
      // The rest would probably fail too; what failed least often comes first the next time.
      return Math.max(rest, failure instanceof SendError ? failure.retryAfter * 1000 : 0);
    }
    return rest;
  }

  /** Returns why the message was not accepted, if so. */
  async #sendGroup(channel: Channel, group: readonly Due[]): Promise<unknown> {
    const message = buildMessage(
      group[0]?.state ?? 'raised',
      group.map(({ told }) => told),
    );
    if (!message) return undefined;
    try {
      await sendInTime(channel, message);
    } catch (error) {
      await this.#noteFailure(channel, group, describeFault(error));
      return error;
    }
    this.#options.count(channel, 'sent');
    await this.#note(channel, group, () => [null, Date.now(), null]);
    return undefined;
  }

  async #noteFailure(channel: Channel, group: readonly Due[], fault: string): Promise<void> {
    const { firstPause, logger, count } = this.#options;
    const computePause = ({ attempts }: Due): number =>
      Math.min(firstPause * 2 ** Math.min(attempts, 20), longestPause);
    const isLast = (due: Due): boolean => Date.now() + computePause(due) - due.dueSince > longestTry;
    const isGivenUp = group.every(isLast);
    count(channel, isGivenUp ? 'given-up' : 'failed');
    const event = group[0]?.told.event;
    logger.warn(
      { channel: channel.name, event, notices: group.length, fault, isGivenUp },
      'a channel did not accept a notice: try `tollgate notices test`',
    );
    await this.#note(channel, group, (due) => [
      isLast(due) ? null : Date.now() + computePause(due),
      null,
      fault,
    ]);
  }

  /** Notes when each delivery is due again, when it was done, and why not. */
  async #note(
    { name }: Channel,
    group: readonly Due[],
    note: (due: Due) => readonly [due: number | null, done: number | null, fault: string | null],
  ): Promise<void> {
    await this.#options.tables.write(
      group.map((due) => ({ sql: sql.note, values: [due.told.id, due.state, name, ...note(due)] })),
    );
  }
}
