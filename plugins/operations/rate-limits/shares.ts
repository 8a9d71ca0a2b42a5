/**
 * Fair shares of a full gateway. While there are places, every call gets one. When all are taken, a place
 * that becomes free goes to the account that has the least for its weight, and calls wait for it in a short
 * queue or are refused. A refused call is expected again soon: its turn is kept for that time.
 */
import { z } from 'zod';
import { GatewayError, type Planned } from '../../../core/index.ts';
import { untilOneEnds, type Counts, type Want } from './counter.ts';

const waitText = z
  .string()
  .regex(/^[1-9]\d{0,4}m?s$/, 'a number and a unit: "500ms" or "2s"')
  .transform((text) => Number.parseInt(text, 10) * (text.endsWith('ms') ? 1 : 1000))
  .refine((milliseconds) => milliseconds <= 60_000, 'a call waits for at most a minute');

export const sharesSchema = z.strictObject({
  /** Calls that run at once in all. */
  calls: z.int().positive(),
  /** What an account gets of them in proportion to others, if it is not 1. */
  weights: z.record(z.string(), z.number().positive().max(1000)).default({}),
  /** How long, and how many calls of a process, wait for a place. Without it they are refused at once. */
  queue: z.strictObject({ for: waitText, calls: z.int().positive().max(10_000).default(100) }).optional(),
});

export type SharesOptions = z.output<typeof sharesSchema>;

type Arrived = Pick<Planned, 'id' | 'principal' | 'cancellation'>;

/** A call and its account, as they are counted. */
export interface Caller {
  readonly id: string;
  readonly account: string;
}

function encodeCaller({ id, account }: Caller): string {
  return `${id} ${account}`;
}

function decodeCaller(text: string): Caller {
  const end = text.indexOf(' ');
  return { id: text.slice(0, end), account: text.slice(end + 1) };
}

/**
 * Chooses who of those that wait gets the next places: each time an account with the least running calls for
 * its weight; of several, the one that got the fewest places for its weight so far. Within an account, and
 * between accounts that are equal in both, the first that came.
 */
export function chooseNext(
  running: readonly Caller[],
  waiting: readonly Caller[],
  places: number,
  { weigh, turns }: { weigh(account: string): number; readonly turns: ReadonlyMap<string, number> },
): Caller[] {
  const loads = new Map<string, number>();
  const add = (sums: Map<string, number>, account: string): unknown =>
    sums.set(account, (sums.get(account) ?? 0) + 1 / weigh(account));
  for (const { account } of running) add(loads, account);
  const taken = new Map(turns);
  const queues = Map.groupBy(waiting, ({ account }) => account);
  const chosen: Caller[] = [];
  while (chosen.length < places && queues.size > 0) {
    let least: { account: string; load: number; turn: number } | undefined;
    for (const account of queues.keys()) {
      const [load, turn] = [loads.get(account) ?? 0, taken.get(account) ?? 0];
      if (!least || load < least.load || (load === least.load && turn < least.turn))
        least = { account, load, turn };
    }
    const queue = least && queues.get(least.account);
    const first = queue?.shift();
    if (!first) break;
    if (queue?.length === 0) queues.delete(first.account);
    add(loads, first.account);
    add(taken, first.account);
    chosen.push(first);
  }
  return chosen;
}

/** A call that waits, or one that was refused and is expected again: then there is no call to wake. */
interface Ticket extends Caller {
  /** Where it is noted that it waits. */
  readonly from: Counts;
  wake: (() => void) | undefined;
}

/** Milliseconds for which a refused call is expected again: twice its `retry-after`. */
const patience = 2 * untilOneEnds;
/** Milliseconds between two looks at places that other processes free. */
const pause = 100;
const mostExpected = 1000;

const waits: Want = {
  whose: 'gateway',
  name: 'waiting',
  kind: 'parallel',
  limit: Number.MAX_SAFE_INTEGER,
  amount: 1,
};

export class Shares {
  readonly #options: SharesOptions;
  readonly #counts: Counts;
  readonly #place: Want;
  readonly #held = new Map<string, { readonly from: Counts; readonly text: string }>();
  readonly #tickets = new Map<string, Ticket>();
  /** How many places each waiting account got for its weight, and how many the last one had before. */
  #turns = new Map<string, number>();
  #floor = 0;
  #round: Promise<void> = Promise.resolve();
  #nextRound: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SharesOptions, counts: Counts) {
    this.#options = options;
    this.#counts = counts;
    this.#place = { ...waits, name: 'places', limit: options.calls };
  }

  /** Resolves when the call has a place. Throws `rate_limited` if it gets none in time. */
  async enter({ id, principal: { account }, cancellation }: Arrived): Promise<void> {
    const caller = { id, account };
    if (this.#tickets.size > 0) await this.#forgetExpected(account);
    if (await this.#take(caller, { ...this.#place, unless: waits })) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const mayWait = this.#countWaiting() < (this.#options.queue?.calls ?? 0);
    const { from } = await this.#counts.take(encodeCaller(caller), [waits]);
    const ticket: Ticket = { ...caller, from, wake: resolve };
    this.#tickets.set(id, ticket);
    await this.#look();
    if (!this.#tickets.has(id)) return;
    if (mayWait) {
      this.#timer ??= setInterval(() => void this.#look(), pause).unref();
      const deadline = setTimeout(resolve, this.#options.queue?.for ?? 0);
      cancellation.onCancel(resolve);
      await promise;
      clearTimeout(deadline);
      cancellation.dropCallback(resolve);
      if (!this.#tickets.has(id)) return;
    }
    throw await this.#refuse(ticket, cancellation);
  }

  /** Gives back the place of a call, if it has one. */
  async leave(id: string): Promise<void> {
    const held = this.#held.get(id);
    if (!held) return;
    this.#held.delete(id);
    await held.from.give(held.text, [this.#place]);
    if (this.#tickets.size > 0) await this.#look();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #countWaiting(): number {
    return this.#tickets.values().reduce((count, { wake }) => count + (wake ? 1 : 0), 0);
  }

  async #take(caller: Caller, place: Want): Promise<boolean> {
    const text = encodeCaller(caller);
    const { refused, from } = await this.#counts.take(text, [place]);
    if (!refused) this.#held.set(caller.id, { from, text });
    return !refused;
  }

  /** Returns the error of a call that gets no place. Unless its client left, it is expected again. */
  async #refuse(ticket: Ticket, { cancelled, reason }: Planned['cancellation']): Promise<GatewayError> {
    ticket.wake = undefined;
    const isExpected = !cancelled && this.#tickets.size - this.#countWaiting() <= mostExpected;
    if (isExpected) setTimeout(() => void this.#forget(ticket), patience).unref();
    else await this.#forget(ticket);
    if (cancelled) return reason ?? new GatewayError('client_gone', 'The client left while its call waited.');
    const message =
      `The gateway runs ${this.#options.calls} calls at once, and other accounts have a smaller share of ` +
      `them, or have waited longer. Try again later.`;
    return new GatewayError('rate_limited', message, { retryAfter: untilOneEnds / 1000 });
  }

  async #forget(ticket: Ticket): Promise<void> {
    if (!this.#tickets.delete(ticket.id)) return;
    await ticket.from.give(encodeCaller(ticket), [waits]);
    if (this.#tickets.size > 0) await this.#look();
    else this.#stopLooking();
  }

  /** A call of the account has come, which may be the one that was expected. */
  async #forgetExpected(account: string): Promise<void> {
    const expected = this.#tickets.values().find((each) => each.account === account && !each.wake);
    if (!expected) return;
    this.#tickets.delete(expected.id);
    await expected.from.give(encodeCaller(expected), [waits]);
  }

  #stopLooking(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Gives free places to calls that wait. One look at a time, and one more for what happens meanwhile. */
  #look(): Promise<void> {
    this.#nextRound ??= this.#round.then(() => {
      this.#nextRound = undefined;
      // A look that fails must not keep others from looking.
      this.#round = this.#assign().catch(() => undefined);
      return this.#round;
    });
    return this.#nextRound;
  }

  async #assign(): Promise<void> {
    const running = (await this.#counts.listRunning(this.#place)).map(decodeCaller);
    const free = this.#options.calls - running.length;
    if (free > 0) {
      const waiting = (await this.#counts.listRunning(waits)).map(decodeCaller);
      await this.#admit(chooseNext(running, waiting, free, this.#rank(running, waiting)));
    }
    if (this.#countWaiting() === 0) this.#stopLooking();
  }

  /** Forgets the turns of accounts that have left. One that comes begins where the others are. */
  #rank(running: readonly Caller[], waiting: readonly Caller[]) {
    const present = new Set([...running, ...waiting].map(({ account }) => account));
    const turns = [...present].map(
      (account) => [account, Math.max(this.#floor, this.#turns.get(account) ?? 0)] as const,
    );
    this.#turns = new Map(turns);
    return { turns: this.#turns, weigh: (account: string) => this.#options.weights[account] ?? 1 };
  }

  /** Wakes the calls of this process. Places for others, or for calls that are expected, stay free. */
  async #admit(chosen: readonly Caller[]): Promise<void> {
    for (const { id, account } of chosen) {
      const ticket = this.#tickets.get(id);
      if (!ticket?.wake) continue;
      if (!(await this.#take(ticket, this.#place))) return;
      this.#floor = this.#turns.get(account) ?? 0;
      this.#turns.set(account, this.#floor + 1 / (this.#options.weights[account] ?? 1));
      await ticket.from.give(encodeCaller(ticket), [waits]);
      // It may have given up while its place was taken. The next look waits for this one.
      if (!this.#tickets.delete(id) || !ticket.wake) void this.leave(id);
      else ticket.wake();
    }
  }
}
