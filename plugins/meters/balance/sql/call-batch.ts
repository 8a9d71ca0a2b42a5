/**
 * Reservations and their ends, for all such operations of a batch that follow one another. They are
 * decided in memory, in the order of their requests, and then written by a few statements. So however many
 * calls an account makes at a time, they wait for its lock in PostgreSQL once for each batch, and not once
 * for each call.
 */
import type { Nano } from '../../../../core/index.ts';
import type { Line } from '../budgets/sheet.ts';
import {
  checkRate,
  computeFunds,
  endLate,
  endReservation,
  expireReservation,
  findMinute,
  isOver,
  recoverReservation,
  replaceReservation,
  takeQuote,
  wasSent,
  type Ended,
  type Ending,
  type Minute,
  type Taken,
  presumeUsage,
} from '../decisions.ts';
import type { Row } from '../rows.ts';
import type {
  Extended,
  ExtendRequest,
  PluginStatements,
  Progress,
  Quote,
  RecoveredCall,
  Reserved,
  ReserveRequest,
  Settled,
  Settlement,
  StoredOutcome,
} from '../store.ts';
import { listBudgetWrites } from './budgets.ts';
import { settleClaim, takeClaim } from './kept.ts';
import {
  type FoundAccount,
  type FoundKey,
  type Held,
  type PastCall,
  type Pending,
  lockRows,
  type Concerned,
  type Found,
} from './locked-rows.ts';
import { listPluginWrites } from './plugin-tables.ts';
import { ask, askRecords, nameStatements, selectRecords, sendAll, type Asked, type Steps } from './steps.ts';
import { creditDue } from './terms.ts';

// Columns of a reservation that are not named have their defaults, which cost less than values.
const reserveColumns =
  'number, kind, account, at, available, reserved, call, key, model, provider, price, budgets, attempts';
const pendingColumns = `call, number, account, key, root, amount, owner, claim, created, owed, model,
  provider, price, input, usage, budgets`;
const endColumns = `number, kind, account, at, available, reserved, revenue, call, key, reservation, reason,
  basis, model, provider, price, input, output, usage, costs, attempts, flags, budgets, vendor`;

const held = 'call, number, amount, budgets, owed, model, provider, price, input, usage';

const sql = nameStatements('calls', {
  addReserves: `INSERT INTO entries (${reserveColumns}) ${selectRecords('entries', reserveColumns)}`,
  addPending: `INSERT INTO pending (${pendingColumns}) ${selectRecords('pending', pendingColumns)}`,
  addEnds: `INSERT INTO entries (${endColumns}) ${selectRecords('entries', endColumns)}`,
  endPending: 'DELETE FROM pending WHERE call = ANY($1::text[])',
  // Progress of earlier attempts says nothing about the next one.
  extendPending: `
    UPDATE pending SET number = more.number, amount = more.amount, budgets = more.budgets, owed = more.owed,
      model = more.model, provider = more.provider, price = more.price, input = more.input, output = 0,
      usage = more.usage, costs = '[]', sent = false, delivered = 0, attempts = 0
    FROM (${selectRecords('pending', held)}) more
    WHERE pending.call = more.call`,
  changeAccounts: `
    UPDATE accounts SET used = accounts.used + change.used, pending = accounts.pending + change.pending
    FROM (${selectRecords('accounts', 'id, used, pending')}) change WHERE accounts.id = change.id`,
  changeKeys: `
    UPDATE keys SET used = keys.used + change.used, pending = keys.pending + change.pending,
      minute = coalesce(change.minute, keys.minute), calls = coalesce(change.calls, keys.calls)
    FROM (${selectRecords('keys', 'id, used, pending, minute, calls')}) change WHERE keys.id = change.id`,
});

/** `attempts`: how many the call had made before. */
function buildReserve(pending: Pending, { taken }: Taken, at: number, attempts = 0): Row {
  const { number, account, call, key, amount, budgets } = pending;
  const legs = { available: -amount, reserved: amount };
  const { model, provider, price } = taken;
  return {
    number,
    kind: 'reserve',
    account,
    at,
    ...legs,
    call,
    key,
    model,
    provider,
    price,
    budgets,
    attempts,
  };
}

function buildPending(pending: Pending, { taken }: Taken, owner: string, created: number): Row {
  const { owed, model, provider, price, input } = taken;
  return { ...pending, owner, created, owed, model, provider, price, input, usage: presumeUsage(taken) };
}

/**
 * An entry that ends a reservation, or follows its end. Its columns are written out, since to merge objects
 * takes 4 % of a reserve and settle (`test/bench/ledger.ts`).
 */
function buildEnd(number: bigint, held: Held, ending: Ending): Row {
  const { call, account, key, budgets } = held;
  const { kind, available, reserved, revenue, flags, facts } = ending;
  return {
    number,
    kind,
    account,
    at: facts.at,
    available,
    reserved,
    revenue,
    call,
    key,
    reservation: held.number,
    reason: facts.reason,
    basis: facts.basis,
    model: facts.model,
    provider: facts.provider,
    price: facts.price,
    input: facts.input,
    output: facts.output,
    usage: facts.usage,
    costs: facts.costs,
    attempts: facts.attempts,
    flags,
    budgets,
    vendor: facts.vendor,
  };
}

/** What a call's limits are found by. */
type Payer = Pick<ReserveRequest, 'account' | 'key' | 'tags' | 'at'>;

/** Sums to add to an account, or to the root of the keys that pay. */
type Change<Id> = {
  readonly id: Id;
  used: Nano;
  pending: Nano;
  /** Of a root with a rate limit: when the current minute began, and how many calls it counts. */
  minute: number | undefined;
  calls: number | undefined;
};

function getChange<Id>(changes: Map<Id, Change<Id>>, id: Id): Change<Id> {
  const known = changes.get(id);
  if (known) return known;
  const change = { id, used: 0n, pending: 0n, minute: undefined, calls: undefined };
  changes.set(id, change);
  return change;
}

/** What is left of an amount that was read before the change. */
function computeLeft(found: Nano, change: Change<unknown> | undefined): Nano {
  return change ? found - change.used - change.pending : found;
}

/** A reservation that has ended, after another entry about it. */
function updatePast(past: PastCall | undefined, held: Held, ending: Omit<Ending, 'facts'>): PastCall {
  const { kind, flags, revenue } = ending;
  if (!past) return { ...held, kind, flags, posted: revenue, isAdjusted: false };
  if (kind === 'adjustment') return { ...past, isAdjusted: true };
  return { ...past, posted: past.posted + revenue };
}

export class CallBatch {
  readonly #owner: string;
  /** What was read, and what this batch makes of it. */
  readonly #found: Found;
  /** What is added to sums, by the ids of accounts and of keys' roots. */
  readonly #accounts = new Map<bigint, Change<bigint>>();
  readonly #roots = new Map<string, Change<string>>();
  readonly #reserves: Row[] = [];
  readonly #ends: Row[] = [];
  /** Pending rows that are made in this batch, by their calls. */
  readonly #made = new Map<string, Row>();
  /** Those that were made before and have a larger amount now. */
  readonly #extended = new Map<string, Row>();
  readonly #ended: string[] = [];
  readonly #claims: Asked[] = [];
  readonly #also: PluginStatements[] = [];

  constructor(owner: string, found: Found) {
    this.#owner = owner;
    this.#found = found;
  }

  reserve(request: ReserveRequest): Reserved {
    const { account: name, key, quotes, claim, at } = request;
    const { accounts, keys, claims, sheet } = this.#found;
    const account = accounts.get(name);
    if (!account) return { status: 'short', by: 'balance', available: 0n };
    const paying = keys.get(key);
    const tooMany = paying && checkRate(paying.rate, this.#getMinute(paying), at);
    if (tooMany) return tooMany;
    const holder = claim && claims.get(claim.name);
    if (holder && !isOver(holder, at)) return { status: 'claimed', claim: holder };
    const lines = this.#getLines(request, account);
    const found = this.#takeQuote(quotes, request, account, lines);
    if (found.status === 'short') {
      if (found.by === 'budget') sheet.noteRefusal(lines, found.budget, at);
      return found;
    }
    const { quote, amount } = found;
    const root = paying?.root;
    const tightest = request.tellsBudget && sheet.findTightest(lines, at);
    const shares = sheet.holdAmount(lines, amount, at);
    this.#addReservation(request, { account: account.id, root, budgets: shares }, found);
    this.#addSpending(account.id, root, 0n, amount);
    if (paying?.rate !== undefined) this.#countCall(paying, at);
    this.#also.push(...(request.also ?? []));
    return tightest ? { status: 'reserved', quote, amount, tightest } : { status: 'reserved', quote, amount };
  }

  extend(request: ExtendRequest): Extended {
    const { id, account: name, quote, at } = request;
    const { accounts, pending: found, sheet } = this.#found;
    const [before, account] = [found.get(id), accounts.get(name)];
    if (!before || !account) return { status: 'not_found' };
    // What it holds counts as free while the larger amount is decided.
    this.#addHeld(before, -before.amount, at);
    const lines = this.#getLines(request, account);
    const taken = this.#takeQuote([quote], request, account, lines);
    if (taken.status === 'short') {
      this.#addHeld(before, before.amount, at);
      return taken;
    }
    const { amount } = taken;
    // It is no end of the call, so it is not among what is past.
    this.#ends.push(buildEnd(this.#takeNumber(), before, replaceReservation(before.amount, at)));
    const budgets = sheet.holdAmount(lines, amount, at);
    const pending = { ...before, number: this.#takeNumber(), amount, budgets };
    this.#addSpending(account.id, before.root, 0n, amount);
    this.#found.pending.set(id, pending);
    this.#reserves.push(buildReserve(pending, taken, at, request.attempts));
    const created = this.#made.get(id)?.created;
    const row = buildPending(pending, taken, this.#owner, typeof created === 'number' ? created : at);
    (created === undefined ? this.#extended : this.#made).set(id, row);
    return { status: 'extended', amount };
  }

  settle(settlement: Settlement): Settled {
    const { id, amount: owed, suspect, outcome, also = [] } = settlement;
    const pending = this.#takePending(id);
    if (pending) {
      this.#also.push(...also);
      const ended = endReservation(pending.amount, owed, settlement, suspect ? 'suspect' : '');
      return this.#endPending(pending, ended, owed === undefined ? 'free' : outcome);
    }
    const past = this.#found.past.get(id);
    if (!past) return { status: 'not_found' };
    const late = endLate(past, settlement);
    if (late.endings.length > 0) this.#also.push(...also);
    return this.#addEndings(past, late);
  }

  /** Ends a pending call whose owner is dead. Returns undefined if it has ended meanwhile. */
  recover(progress: Progress, at: number): RecoveredCall | undefined {
    const { id, owed } = progress;
    const pending = this.#takePending(id);
    if (!pending) return undefined;
    const sent = wasSent(progress);
    this.#endPending(pending, recoverReservation(pending.amount, progress, at), sent ? undefined : 'free');
    return { id, status: sent ? 'posted' : 'voided', amount: sent ? owed : 0n };
  }

  /** Ends a pending call that is too old. Returns false if it has ended meanwhile. */
  expire(call: string, at: number): boolean {
    const pending = this.#takePending(call);
    if (pending) this.#endPending(pending, expireReservation(pending.amount, at), 'free');
    return pending !== undefined;
  }

  /** Everything that was decided. */
  listWrites(): Asked[] {
    return [
      askRecords(sql.addReserves, this.#reserves),
      askRecords(sql.addPending, [...this.#made.values()]),
      askRecords(sql.extendPending, [...this.#extended.values()]),
      askRecords(sql.addEnds, this.#ends),
      ask(sql.endPending, this.#ended),
      askRecords(sql.changeAccounts, [...this.#accounts.values()]),
      askRecords(sql.changeKeys, [...this.#roots.values()]),
      ...listBudgetWrites(this.#found.sheet),
      ...this.#claims,
      ...listPluginWrites(this.#also),
    ];
  }

  #getLines({ account, key, tags = [], at }: Payer, { line }: FoundAccount): Line[] {
    const root = this.#found.keys.get(key)?.root;
    return this.#found.sheet.getLines({ account, line, root, tags }, at);
  }

  #takeQuote(
    quotes: readonly Quote[],
    { key, at }: Payer,
    account: FoundAccount,
    lines: readonly Line[],
  ): ReturnType<typeof takeQuote> {
    const { id, available, postpaid } = account;
    const paying = this.#found.keys.get(key);
    const funds = computeFunds(account, computeLeft(available, this.#accounts.get(id)), lines);
    const found = takeQuote(quotes, funds, {
      leftOfCap:
        paying?.left === undefined ? undefined : computeLeft(paying.left, this.#roots.get(paying.root)),
      budget: this.#found.sheet.findTightest(lines, at),
    });
    const isUnlimited = postpaid && found.status === 'short' && found.by === 'balance';
    return isUnlimited ? { ...found, by: 'postpaid' } : found;
  }

  #addHeld({ account, root, budgets }: Held, amount: Nano, at: number): void {
    this.#addSpending(account, root, 0n, amount);
    this.#found.sheet.addSpending(budgets, 0n, amount, at);
  }

  #addReservation(
    { id: call, key, claim, at }: ReserveRequest,
    { account, root, budgets }: Pick<Held, 'account' | 'root' | 'budgets'>,
    taken: Taken,
  ): void {
    const { amount } = taken;
    const number = this.#takeNumber();
    const pending = { call, number, account, key, root, budgets, amount, claim: claim?.name };
    this.#found.pending.set(call, pending);
    this.#reserves.push(buildReserve(pending, taken, at));
    this.#made.set(call, buildPending(pending, taken, this.#owner, at));
    if (!claim) return;
    this.#found.claims.set(claim.name, { ...claim, call, state: 'running', outcome: undefined });
    this.#claims.push(takeClaim(claim, call));
  }

  /** Returns a reservation that is pending, and removes it. */
  #takePending(call: string): Pending | undefined {
    const pending = this.#found.pending.get(call);
    this.#extended.delete(call);
    // A pending row that was made in this same batch was never written.
    if (this.#found.pending.delete(call) && !this.#made.delete(call)) this.#ended.push(call);
    return pending;
  }

  #endPending(pending: Pending, ended: Ended, outcome: StoredOutcome | 'free' | undefined): Settled {
    if (pending.claim !== undefined) this.#settleClaim(pending.claim, outcome);
    return this.#addEndings(pending, ended);
  }

  #addEndings(held: Held, { endings, settled }: Ended): Settled {
    for (const ending of endings) {
      const { revenue, reserved, facts } = ending;
      this.#addEnd(held, ending);
      this.#addSpending(held.account, held.root, revenue, reserved);
      this.#found.sheet.addSpending(held.budgets, revenue, reserved, facts.at);
    }
    return settled;
  }

  #addEnd(held: Held, ending: Ending): void {
    const { call } = held;
    this.#ends.push(buildEnd(this.#takeNumber(), held, ending));
    this.#found.past.set(call, updatePast(this.#found.past.get(call), held, ending));
  }

  #settleClaim(name: string, outcome: StoredOutcome | 'free' | undefined): void {
    const { claims } = this.#found;
    const claim = claims.get(name);
    if (outcome === 'free') claims.delete(name);
    else if (claim) claims.set(name, { ...claim, state: 'done', outcome });
    this.#claims.push(settleClaim(name, outcome));
  }

  #addSpending(account: bigint, root: string | undefined, used: Nano, pending: Nano): void {
    const change = getChange(this.#accounts, account);
    change.used += used;
    change.pending += pending;
    if (root === undefined) return;
    const spent = getChange(this.#roots, root);
    spent.used += used;
    spent.pending += pending;
  }

  #getMinute({ root, minute }: FoundKey): Minute {
    const change = this.#roots.get(root);
    if (change?.minute === undefined || change.calls === undefined) return minute;
    return { began: change.minute, calls: change.calls };
  }

  #countCall(key: FoundKey, at: number): void {
    const { began, calls } = findMinute(this.#getMinute(key), at);
    const change = getChange(this.#roots, key.root);
    change.minute = began;
    change.calls = calls + 1;
  }

  #takeNumber(): bigint {
    const number = this.#found.numbers[this.#reserves.length + this.#ends.length];
    if (number === undefined) throw new RangeError('more entries were made than were counted');
    return number;
  }
}

/** Decides on calls after their rows were locked and read, and writes what was decided. */
export function* decideCalls<Result>(
  owner: string,
  concerned: Concerned,
  decide: (batch: CallBatch) => Result,
): Steps<Result> {
  const found = yield* lockRows(concerned);
  // The first call of a month must not be refused because nothing has credited its allowance yet.
  const isCredited = yield* creditDue(found.accounts, concerned.moments.at(-1));
  const batch = new CallBatch(owner, isCredited ? yield* lockRows(concerned) : found);
  const result = decide(batch);
  yield* sendAll(batch.listWrites());
  return result;
}
