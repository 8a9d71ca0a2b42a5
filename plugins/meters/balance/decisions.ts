/**
 * What an operation does to the books, whatever database keeps them: the quote a reservation takes, and the entries
 * it ends with. Pure: who asks has read what it is passed and writes what it is told.
 */
import type { Nano } from '../../../core/index.ts';
import type { ClaimRecord, Consumption, EntryKind, Progress, Quote, Reserved, Settled, Settlement } from './store.ts';

/** The quote a reservation takes, and how much of it. */
export interface Taken {
  readonly status: 'taken';
  readonly quote: number;
  readonly taken: Quote;
  readonly amount: Nano;
}

/** The first quote whose least is there, and how much of its most is. What costs nothing is always affordable. */
export function take(quotes: readonly Quote[], available: Nano, leftOfCap: Nano | undefined): Taken | Extract<Reserved, { status: 'short' }> {
  const isCapped = leftOfCap !== undefined && leftOfCap < available;
  const affordable = isCapped ? leftOfCap : available;
  for (const [quote, taken] of quotes.entries()) {
    if (taken.least > 0n && taken.least > affordable) continue;
    const amount = taken.most <= affordable ? taken.most : affordable;
    return { status: 'taken', quote, taken, amount: amount > 0n ? amount : 0n };
  }
  return { status: 'short', by: isCapped ? 'cap' : 'balance', available: affordable };
}

/** What an end, and what follows one, has to say of its call. */
export type Facts = Consumption & Pick<Settlement, 'reason' | 'basis' | 'at'>;

const nothing = { model: undefined, provider: undefined, price: undefined, input: 0, output: 0, usage: '{}', costs: '[]', attempts: 0, basis: 'none' } as const;

/** An entry that ends a reservation, or follows its end, with what it moves. */
export interface Ending {
  readonly kind: Exclude<EntryKind, 'credit' | 'reserve'>;
  readonly available: Nano;
  readonly reserved: Nano;
  readonly revenue: Nano;
  readonly facts: Facts;
  readonly flags: string;
}

export interface Ended {
  readonly endings: readonly Ending[];
  readonly settled: Settled;
}

/** Ends a reservation of `reserved` by what is owed; undefined voids it. */
export function end(reserved: Nano, owed: Nano | undefined, facts: Facts, flags: string): Ended {
  if (owed === undefined) {
    return { endings: [{ kind: 'void', available: reserved, reserved: -reserved, revenue: 0n, facts, flags }], settled: { status: 'voided' } };
  }
  if (owed < 0n) throw new RangeError(`nothing below zero can be owed, and ${owed} is`);
  const posted = owed < reserved ? owed : reserved;
  const overage = owed - posted;
  const post: Ending = { kind: 'post', available: reserved - posted, reserved: -reserved, revenue: posted, facts, flags };
  const settled: Settled = { status: 'posted', posted, overage };
  if (overage === 0n) return { endings: [post], settled };
  // So that it can be found by the same, an overage says again where it came from; the figures stand on the post alone.
  const { model, provider, price, reason, basis, at } = facts;
  const above = { ...nothing, model, provider, price, reason, basis, at };
  return { endings: [post, { kind: 'overage', available: -overage, reserved: 0n, revenue: overage, facts: above, flags }], settled };
}

/** Ends a reservation whose time is over. */
export function expire(reserved: Nano, at: number): Ending {
  return { kind: 'expire', available: reserved, reserved: -reserved, revenue: 0n, facts: { ...nothing, reason: 'expired', at }, flags: '' };
}

/**
 * Whether a call is taken for sent where its owner is gone. A call that no beat has told of is: it goes out as soon as its
 * reservation is durable, and the vendor may well have worked for it.
 */
export function wasSent({ sent, attempts }: Progress): boolean {
  return sent || attempts === 0;
}

/** Ends a reservation for an owner that is gone, by how far its call had come. */
export function recover(reserved: Nano, progress: Progress, at: number): Ended {
  if (!wasSent(progress)) return end(reserved, undefined, { ...progress, reason: 'never_sent', basis: 'none', at }, 'recovered');
  const facts: Facts = { ...progress, reason: progress.sent ? 'recovered' : 'presumed_sent', basis: 'estimate', at };
  return end(reserved, progress.owed, facts, 'recovered');
}

/** What is known of a call from its quote alone. */
export function presumed(id: string, { input, owed, model, provider, price }: Quote): Progress {
  return { id, model, provider, price, input, output: 0, usage: `{"input":${input},"output":0}`, costs: '[]', attempts: 0, sent: false, delivered: 0, owed };
}

/** The minute in which a key's calls are counted: when it began, and how many there were. */
export interface Minute {
  readonly began: number;
  readonly calls: number;
}

const minute = 60_000;

/** The minute that a call at this moment counts in: a new one where the last is over, or the clock was set back by more. */
export function minuteOf(last: Minute, at: number): Minute {
  return Math.abs(at - last.began) < minute ? last : { began: at, calls: 0 };
}

/** Whether a call at this moment is one too many; passed the key's rate, undefined where it has none. */
export function limited(rate: number | undefined, last: Minute, at: number): Extract<Reserved, { status: 'limited' }> | undefined {
  if (rate === undefined) return undefined;
  const { began, calls } = minuteOf(last, at);
  return calls < rate ? undefined : { status: 'limited', rate, wait: began + minute - at };
}

/** How a reservation that is not pending any more ended, and what was posted for it by then. */
export interface Past {
  readonly kind: string;
  readonly flags: string;
  readonly posted: Nano;
  readonly isAdjusted: boolean;
}

/** A reservation that another ended is not ended again: what its owner knows better becomes an adjustment. */
export function endLate({ kind, flags, posted, isAdjusted }: Past, settlement: Settlement): Ended {
  const wasTaken = kind === 'expire' || flags.split(' ').includes('recovered');
  if (!wasTaken) return { endings: [], settled: { status: kind === 'post' ? 'already_posted' : 'already_voided' } };
  if (isAdjusted) return { endings: [], settled: { status: 'already_adjusted' } };
  const by = (settlement.amount ?? 0n) - posted;
  const adjustment: Ending = {
    kind: 'adjustment', available: -by, reserved: 0n, revenue: by, facts: settlement, flags: settlement.suspect ? 'late suspect' : 'late',
  };
  return { endings: [adjustment], settled: { status: 'adjusted', by } };
}

/** A claim that anybody may take again. */
export function isOver({ state, expires }: ClaimRecord, at: number): boolean {
  return state === 'done' && expires <= at;
}
