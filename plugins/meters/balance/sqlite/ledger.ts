/**
 * What moves money, on one SQLite connection. Each operation runs inside a transaction that its caller began, and checks
 * everything before it writes, so that it leaves nothing behind when it refuses.
 */
import type { DatabaseSync } from 'node:sqlite';
import { mostCredit } from '../accounts.ts';
import { end, endLate, expire, recover, take, wasSent, type Ended, type Ending } from '../decisions.ts';
import { ownerOf, progressOf } from '../records.ts';
import { count, integer, maybe, text, type Row } from '../rows.ts';
import type {
  Beat,
  Credit,
  Credited,
  OwnerRecord,
  Progress,
  RecoveredCall,
  RecoverRequest,
  Reserved,
  ReserveRequest,
  Settled,
  Settlement,
  StoredOutcome,
} from '../store.ts';
import type { Claims } from './claims.ts';
import type { TransactionBalances } from './transaction-balances.ts';

function prepare(database: DatabaseSync) {
  return {
    addReserve: database.prepare(`
      INSERT INTO entries (kind, account, at, available, reserved, call, key, model, provider, price) VALUES ('reserve', ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    addPending: database.prepare(
      'INSERT INTO pending (call, number, account, key, root, amount, owner, claim, created, owed, input) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    takePending: database.prepare(
      'DELETE FROM pending WHERE call = ? RETURNING number, account, key, root, amount, claim',
    ),
    addEnd: database.prepare(`
      INSERT INTO entries (kind, account, at, available, reserved, revenue, key, reservation, reason, basis, model, provider, price,
        input, output, usage, costs, attempts, flags)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    addCredit: database.prepare(
      "INSERT INTO entries (kind, account, at, credits, available, source, reference) VALUES ('credit', ?, ?, ?, ?, ?, ?)",
    ),
    creditByReference: database.prepare('SELECT account, available FROM entries WHERE reference = ?'),
    ended: database.prepare(`
      SELECT made.number, made.account, made.key, keys.root, ended.kind, ended.flags, ended.revenue,
        (SELECT revenue FROM entries WHERE reservation = made.number AND kind = 'overage') AS overage,
        EXISTS (SELECT 1 FROM entries WHERE reservation = made.number AND kind = 'adjustment') AS adjusted
      FROM entries made
      JOIN entries ended ON ended.reservation = made.number AND (ended.kind = 'post' OR ended.kind = 'void' OR ended.kind = 'expire')
      LEFT JOIN keys ON keys.id = made.key WHERE made.kind = 'reserve' AND made.call = ?`),
    // The first beat is the time. So an owner that was forgotten and comes back never repeats a beat that was seen before.
    beat: database.prepare(`
      INSERT INTO owners (owner, beat, lease) VALUES (?, CAST(unixepoch('subsec') * 1000 AS INTEGER), ?)
      ON CONFLICT DO UPDATE SET beat = beat + 1, lease = excluded.lease`),
    progress: database.prepare(`
      UPDATE pending SET sent = ?, delivered = ?, owed = ?, model = ?, provider = ?, price = ?, input = ?, output = ?, usage = ?, costs = ?, attempts = ?
      WHERE call = ? AND owner = ?`),
    owners: database.prepare(`
      SELECT owner, max(beat) AS beat, max(lease) AS lease, sum(calls) AS pending
      FROM (SELECT owner, beat, lease, 0 AS calls FROM owners UNION ALL SELECT owner, 0, 0, count(*) FROM pending GROUP BY owner) GROUP BY owner`),
    beatOf: database.prepare('SELECT beat FROM owners WHERE owner = ?'),
    // For a call that no beat has reported, the rest of what is presumed of it is read from its reservation.
    pendingOf: database.prepare(`
      SELECT pending.call, sent, delivered, owed, coalesce(pending.model, made.model) AS model, coalesce(pending.provider, made.provider) AS provider,
        iif(pending.input > 0, coalesce(pending.price, made.price), pending.price) AS price, pending.input, pending.output,
        iif(pending.attempts = 0, json_object('input', pending.input, 'output', 0), pending.usage) AS usage, pending.costs, pending.attempts
      FROM pending JOIN entries made ON made.number = pending.number WHERE owner = ? LIMIT ?`),
    dropOwner: database.prepare(
      'DELETE FROM owners WHERE owner = ?1 AND NOT EXISTS (SELECT 1 FROM pending WHERE owner = ?1)',
    ),
    pendingBefore: database.prepare('SELECT call FROM pending WHERE created < ? LIMIT ?'),
  };
}

/** The reservation that an entry ends or follows. */
interface Held {
  readonly number: bigint;
  readonly account: bigint;
  readonly key: string | undefined;
  readonly root: string | undefined;
}

function heldBy(row: Row): Held {
  return {
    number: integer(row, 'number'),
    account: integer(row, 'account'),
    key: maybe(row, 'key', text),
    root: maybe(row, 'root', text),
  };
}

export class Ledger {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #balances: TransactionBalances;
  readonly #claims: Claims;
  readonly #owner: string;

  constructor(database: DatabaseSync, balances: TransactionBalances, claims: Claims, owner: string) {
    this.#sql = prepare(database);
    this.#balances = balances;
    this.#claims = claims;
    this.#owner = owner;
  }

  readonly reserve = ({ id, account: name, key, quotes, claim, at }: ReserveRequest): Reserved => {
    const account = this.#balances.account(name);
    if (!account) return { status: 'short', by: 'balance', available: 0n };
    const paying = this.#balances.key(key);
    const limited = paying && this.#balances.limited(paying, at);
    if (limited) return limited;
    const holder = claim && this.#claims.findClaim({ name: claim.name, at });
    if (holder) return { status: 'claimed', claim: holder };
    const found = take(quotes, this.#balances.available(account), paying && this.#balances.left(paying));
    if (found.status === 'short') return found;
    const { quote, amount, taken } = found;
    const root = paying?.root;
    const { lastInsertRowid } = this.#sql.addReserve.run(
      account.id,
      at,
      -amount,
      amount,
      id,
      key,
      taken.model,
      taken.provider,
      taken.price,
    );
    this.#sql.addPending.run(
      id,
      lastInsertRowid,
      account.id,
      key,
      root ?? null,
      amount,
      this.#owner,
      claim?.name ?? null,
      at,
      taken.owed,
      taken.input,
    );
    this.#balances.spend(account.id, root, 0n, amount);
    if (paying) this.#balances.count(paying, at);
    if (claim) this.#claims.take(claim, id);
    return { status: 'reserved', quote, amount };
  };

  readonly settle = (settlement: Settlement): Settled => {
    const { amount: owed, outcome } = settlement;
    const row = this.#sql.takePending.get(settlement.id);
    if (!row) return this.#settleLate(settlement);
    this.#settleClaim(row, owed === undefined ? 'free' : outcome);
    return this.#end(row, end(integer(row, 'amount'), owed, settlement, settlement.suspect ? 'suspect' : ''));
  };

  readonly beat = ({ lease, progress }: Beat): void => {
    this.#sql.beat.run(this.#owner, lease);
    for (const {
      id,
      sent,
      delivered,
      owed,
      model = null,
      provider = null,
      price = null,
      input,
      output,
      usage,
      costs,
      attempts,
    } of progress) {
      this.#sql.progress.run(
        sent ? 1 : 0,
        delivered,
        owed,
        model,
        provider,
        price,
        input,
        output,
        usage,
        costs,
        attempts,
        id,
        this.#owner,
      );
    }
  };

  readonly owners = (): readonly OwnerRecord[] => {
    return this.#sql.owners.all().map(ownerOf);
  };

  readonly recover = ({ owner, beat, limit, at }: RecoverRequest): readonly RecoveredCall[] => {
    const row = this.#sql.beatOf.get(owner);
    if ((row ? count(row, 'beat') : 0) !== beat) return [];
    const rows = this.#sql.pendingOf.all(owner, limit);
    const recovered = rows.map((found) => this.#recoverOne(progressOf(found), at));
    this.#sql.dropOwner.run(owner);
    return recovered;
  };

  readonly expire = ({
    before,
    limit,
    at,
  }: {
    readonly before: number;
    readonly limit: number;
    readonly at: number;
  }): readonly string[] => {
    const calls = this.#sql.pendingBefore.all(before, limit).map((row) => text(row, 'call'));
    for (const call of calls) {
      const row = this.#taken(call);
      this.#settleClaim(row, 'free');
      this.#add(heldBy(row), expire(integer(row, 'amount'), at));
    }
    return calls;
  };

  readonly credit = ({ account: name, amount, kind, reference, at }: Credit): Credited => {
    const account = this.#balances.account(name);
    if (!account) return 'not_found';
    if (amount <= 0n) throw new RangeError(`a credit has to be above zero, and is ${amount}`);
    const before = reference === undefined ? undefined : this.#sql.creditByReference.get(reference);
    if (before) {
      const isSame = integer(before, 'account') === account.id && integer(before, 'available') === amount;
      return isSame ? 'already_credited' : 'reference_taken';
    }
    if (amount <= mostCredit && this.#balances.credited(account.id) + amount > mostCredit) return 'too_much';
    this.#sql.addCredit.run(account.id, at, -amount, amount, kind, reference ?? null);
    this.#balances.credit(account.id, amount);
    return 'credited';
  };

  #recoverOne(progress: Progress, at: number): RecoveredCall {
    const { id, owed } = progress;
    const sent = wasSent(progress);
    const row = this.#taken(id);
    this.#settleClaim(row, sent ? undefined : 'free');
    this.#end(row, recover(integer(row, 'amount'), progress, at));
    return { id, status: sent ? 'posted' : 'voided', amount: sent ? owed : 0n };
  }

  #taken(call: string): Row {
    const row = this.#sql.takePending.get(call);
    if (!row) throw new Error(`the reservation ${call} is not pending any more`);
    return row;
  }

  #settleClaim(row: Row, outcome: StoredOutcome | 'free' | undefined): void {
    const claim = maybe(row, 'claim', text);
    if (claim !== undefined) this.#claims.settle(claim, outcome);
  }

  #settleLate(settlement: Settlement): Settled {
    const row = this.#sql.ended.get(settlement.id);
    if (!row) return { status: 'not_found' };
    const posted = integer(row, 'revenue') + (maybe(row, 'overage', integer) ?? 0n);
    return this.#end(
      row,
      endLate(
        {
          kind: text(row, 'kind'),
          flags: text(row, 'flags'),
          posted,
          isAdjusted: integer(row, 'adjusted') === 1n,
        },
        settlement,
      ),
    );
  }

  #end(row: Row, { endings, settled }: Ended): Settled {
    const held = heldBy(row);
    for (const ending of endings) this.#add(held, ending);
    return settled;
  }

  #add(
    { number, account, key, root }: Held,
    { kind, available, reserved, revenue, facts, flags }: Ending,
  ): void {
    const {
      at,
      reason,
      basis,
      model = null,
      provider = null,
      price = null,
      input,
      output,
      usage,
      costs,
      attempts,
    } = facts;
    this.#sql.addEnd.run(
      kind,
      account,
      at,
      available,
      reserved,
      revenue,
      key ?? null,
      number,
      reason,
      basis,
      model,
      provider,
      price,
      input,
      output,
      usage,
      costs,
      attempts,
      flags,
    );
    this.#balances.spend(account, root, revenue, reserved);
  }
}
