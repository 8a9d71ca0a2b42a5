/**
 * What an operation does to the books, in either database: which quote a reservation takes, and which
 * entries end it. These functions are pure: the caller has read what they need, and writes what they
 * return.
 */
import type { Nano } from '../../../core/index.ts';
import { mostCredit } from './accounts.ts';
import type { Line, Tightest } from './budgets/sheet.ts';
import type { PastCall } from './sql/locked-rows.ts';
import type {
  AccountTerms,
  ClaimRecord,
  Consumption,
  EntryKind,
  Progress,
  Quote,
  Reserved,
  Settled,
  Settlement,
} from './store.ts';

/** The quote a reservation takes, and how much of it. */
export interface Taken {
  readonly status: 'taken';
  readonly quote: number;
  readonly taken: Quote;
  readonly amount: Nano;
}

/**
 * What an account can pay besides the limits of budgets: a prepaid one what it has. One that pays later can
 * pay all that its budgets allow, and nothing if no hard budget counts it or a team that it is in.
 */
export function computeFunds(
  { postpaid }: Pick<AccountTerms, 'postpaid'>,
  left: Nano,
  lines: readonly Line[],
): Nano {
  if (!postpaid) return left;
  const isLimited = lines.some(
    ({ budget: { hard, scope } }) => hard && (scope === 'account' || scope === 'team'),
  );
  return isLimited ? mostCredit : 0n;
}

/** What limits a reservation, besides the balance. */
export interface Limits {
  readonly leftOfCap?: Nano | undefined;
  readonly budget?: Tightest | undefined;
}

/**
 * Finds the first quote whose `least` is affordable, and how much of its `most` can be reserved. What costs
 * nothing is always affordable.
 */
export function takeQuote(
  quotes: readonly Quote[],
  available: Nano,
  { leftOfCap, budget }: Limits = {},
): Taken | Extract<Reserved, { status: 'short' }> {
  const isCapped = leftOfCap !== undefined && leftOfCap < available;
  const paid = isCapped ? leftOfCap : available;
  const affordable = budget && budget.left < paid ? budget.left : paid;
  for (const [quote, taken] of quotes.entries()) {
    if (taken.least > 0n && taken.least > affordable) continue;
    const amount = taken.most <= affordable ? taken.most : affordable;
    return { status: 'taken', quote, taken, amount: amount > 0n ? amount : 0n };
  }
  if (budget && budget.left < paid)
    return { status: 'short', by: 'budget', available: affordable, budget: budget.budget };
  return { status: 'short', by: isCapped ? 'cap' : 'balance', available: affordable };
}

/** What an entry that ends a call, or follows its end, records of the call. */
export type Facts = Consumption & Pick<Settlement, 'reason' | 'basis' | 'at' | 'vendor'>;

/** The consumption of a call that was sent to no vendor. */
export const nothing = {
  model: undefined,
  provider: undefined,
  price: undefined,
  input: 0,
  output: 0,
  usage: '{}',
  costs: '[]',
  attempts: 0,
  basis: 'none',
} as const;

/** An entry that ends a reservation or follows its end, with the amounts that it moves. */
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

function releaseReservation(kind: 'void' | 'expire', reserved: Nano, facts: Facts, flags = ''): Ending {
  return { kind, available: reserved, reserved: -reserved, revenue: 0n, facts, flags };
}

/** Charges what no reservation holds. */
function chargeMore(kind: 'overage' | 'adjustment', by: Nano, facts: Facts, flags: string): Ending {
  return { kind, available: -by, reserved: 0n, revenue: by, facts, flags };
}

/** Ends a reservation: what is `owed` is posted, and the rest released. Undefined voids it. */
export function endReservation(reserved: Nano, owed: Nano | undefined, facts: Facts, flags: string): Ended {
  if (owed === undefined)
    return {
      endings: [releaseReservation('void', reserved, facts, flags)],
      settled: { status: 'voided' },
    };
  if (owed < 0n) throw new RangeError(`nothing below zero can be owed, and ${owed} is`);
  const posted = owed < reserved ? owed : reserved;
  const overage = owed - posted;
  const available = reserved - posted;
  const post: Ending = { kind: 'post', available, reserved: -reserved, revenue: posted, facts, flags };
  const settled: Settled = { status: 'posted', posted, overage };
  if (overage === 0n) return { endings: [post], settled };
  // An overage repeats who served the call, so that the same filters find it. Only the post has the
  // figures.
  const { model, provider, price, reason, basis, at } = facts;
  const vendor = facts.vendor === undefined ? undefined : 0n;
  const above = { ...nothing, model, provider, price, reason, basis, at, vendor };
  return { endings: [post, chargeMore('overage', overage, above, flags)], settled };
}

/** Ends a reservation that a larger one of the same call replaces. */
export function replaceReservation(reserved: Nano, at: number): Ending {
  return releaseReservation('void', reserved, { ...nothing, reason: 'extended', at });
}

/** Ends a reservation that is too old. */
export function expireReservation(reserved: Nano, at: number): Ended {
  const ending = releaseReservation('expire', reserved, { ...nothing, reason: 'expired', at });
  return { endings: [ending], settled: { status: 'voided' } };
}

/**
 * Whether a call whose owner is dead counts as sent. A call that no beat reported does: it is sent as soon
 * as its reservation is durable, so the vendor may well have worked on it.
 */
export function wasSent({ sent, attempts }: Progress): boolean {
  return sent || attempts === 0;
}

/** Ends a reservation whose owner is dead, by how far its call had come. */
export function recoverReservation(reserved: Nano, progress: Progress, at: number): Ended {
  const [owed, reason, basis] = wasSent(progress)
    ? ([progress.owed, progress.sent ? 'recovered' : 'presumed_sent', 'estimate'] as const)
    : ([undefined, 'never_sent', 'none'] as const);
  return endReservation(reserved, owed, { ...progress, reason, basis, at }, 'recovered');
}

/** What is taken for the usage of a call that no beat has reported: the input of its quote. */
export function presumeUsage({ input }: Pick<Quote, 'input'>): string {
  return `{"input":${input},"output":0}`;
}

/** The minute in which a key's calls are counted: when it began, and how many there were. */
export interface Minute {
  readonly began: number;
  readonly calls: number;
}

const minute = 60_000;

/**
 * The minute in which a call at this moment is counted. It is a new one if the last is over, or if the clock
 * was set back by more than a minute.
 */
export function findMinute(last: Minute, at: number): Minute {
  return Math.abs(at - last.began) < minute ? last : { began: at, calls: 0 };
}

/** Whether a call at this moment exceeds the key's rate. An undefined rate is no limit. */
export function checkRate(
  rate: number | undefined,
  last: Minute,
  at: number,
): Extract<Reserved, { status: 'limited' }> | undefined {
  if (rate === undefined) return undefined;
  const { began, calls } = findMinute(last, at);
  return calls < rate ? undefined : { status: 'limited', rate, wait: began + minute - at };
}

/**
 * Settles a call whose reservation has already ended. If another process ended it, the difference to what
 * its owner knows becomes an adjustment.
 */
export function endLate({ kind, flags, posted, isAdjusted }: PastCall, settlement: Settlement): Ended {
  const wasTaken = kind === 'expire' || flags.split(' ').includes('recovered');
  if (!wasTaken)
    return { endings: [], settled: { status: kind === 'post' ? 'already_posted' : 'already_voided' } };
  if (isAdjusted) return { endings: [], settled: { status: 'already_adjusted' } };
  const by = (settlement.amount ?? 0n) - posted;
  // The entry that is adjusted counts what it posted as the vendor's bill.
  const vendor = settlement.vendor === undefined ? undefined : settlement.vendor - posted;
  const adjustment = chargeMore(
    'adjustment',
    by,
    { ...settlement, vendor },
    settlement.suspect ? 'late suspect' : 'late',
  );
  return { endings: [adjustment], settled: { status: 'adjusted', by } };
}

/** Whether another call may take the claim. */
export function isOver({ state, expires }: ClaimRecord, at: number): boolean {
  return state === 'done' && expires <= at;
}
