/**
 * What moves money, on one SQLite connection. Each operation runs inside a transaction that its caller began,
 * and checks everything before it writes, so that it leaves nothing behind when it refuses.
 */
import type { DatabaseSync } from 'node:sqlite';
import { end, endLate, expire, recover, take, wasSent, type Ended, type Ending } from '../decisions.ts';
import { progressOf } from '../records.ts';
import { count, integer, maybe, text, type Row } from '../rows.ts';
import { findClaim, settleClaim, takeClaim } from '../sql/claims.ts';
import type {
  Beat,
  Consumption,
  ExpireRequest,
  Progress,
  RecoveredCall,
  RecoverRequest,
  Reserved,
  ReserveRequest,
  Settled,
  Settlement,
  StoredOutcome,
} from '../store.ts';
import { prepareLedger, type LedgerStatements } from './ledger-statements.ts';
import type { Statements } from './statements.ts';
import type { TransactionBalances } from './transaction-balances.ts';

/** The reservation that an entry ends or follows. */
interface Held {
  readonly number: bigint;
  readonly account: bigint;
  readonly key: string | undefined;
  readonly root: string | undefined;
  readonly budgets: string | undefined;
}

function heldBy(row: Row): Held {
  return {
    number: integer(row, 'number'),
    account: integer(row, 'account'),
    key: maybe(row, 'key', text),
    root: maybe(row, 'root', text),
    budgets: maybe(row, 'budgets', text),
  };
}

/** The columns that hold a call's consumption, in the order of the statements. */
function consumptionValues(consumption: Consumption): (string | number | null)[] {
  const { model = null, provider = null, price = null, input, output, usage, costs, attempts } = consumption;
  return [model, provider, price, input, output, usage, costs, attempts];
}

export class Ledger {
  readonly #sql: LedgerStatements;
  readonly #balances: TransactionBalances;
  readonly #statements: Statements;
  readonly #owner: string;

  constructor(database: DatabaseSync, balances: TransactionBalances, statements: Statements, owner: string) {
    this.#sql = prepareLedger(database);
    this.#balances = balances;
    this.#statements = statements;
    this.#owner = owner;
  }

  readonly reserve = ({ id, account: name, key, quotes, claim, tags = [], at }: ReserveRequest): Reserved => {
    const account = this.#balances.account(name);
    if (!account) return { status: 'short', by: 'balance', available: 0n };
    const paying = this.#balances.key(key);
    const limited = paying && this.#balances.limited(paying, at);
    if (limited) return limited;
    const holder = claim && this.#statements.run(findClaim({ name: claim.name, at }));
    if (holder) return { status: 'claimed', claim: holder };
    const root = paying?.root;
    const { budgets } = this.#balances;
    const lines = budgets.linesOf({ account: name, line: account.line, root, tags }, at);
    const found = take(quotes, this.#balances.available(account), {
      leftOfCap: paying && this.#balances.left(paying),
      budget: budgets.sheet.tightest(lines, at),
    });
    if (found.status === 'short') {
      if (found.by === 'budget') budgets.sheet.refuse(lines, found.budget, at);
      return found;
    }
    const { quote, amount, taken } = found;
    const shares = budgets.sheet.hold(lines, amount, at) ?? null;
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
      shares,
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
      shares,
    );
    this.#balances.spend(account.id, root, 0n, amount);
    if (paying) this.#balances.count(paying, at);
    if (claim) this.#statements.run(takeClaim(claim, id));
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
    for (const call of progress) {
      const { id, sent, delivered, owed } = call;
      this.#sql.progress.run(sent ? 1 : 0, delivered, owed, ...consumptionValues(call), id, this.#owner);
    }
  };

  readonly recover = ({ owner, beat, limit, at }: RecoverRequest): readonly RecoveredCall[] => {
    const row = this.#sql.beatOf.get(owner);
    if ((row ? count(row, 'beat') : 0) !== beat) return [];
    const rows = this.#sql.pendingOf.all(owner, limit);
    const recovered = rows.map((found) => this.#recoverOne(progressOf(found), at));
    this.#sql.dropOwner.run(owner);
    return recovered;
  };

  readonly expire = ({ before, limit, at }: ExpireRequest): readonly string[] => {
    const calls = this.#sql.pendingBefore.all(before, limit).map((row) => text(row, 'call'));
    for (const call of calls) {
      const row = this.#taken(call);
      this.#settleClaim(row, 'free');
      this.#add(heldBy(row), expire(integer(row, 'amount'), at));
    }
    return calls;
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
    if (claim !== undefined) this.#statements.run(settleClaim(claim, outcome));
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
    { number, account, key, root, budgets }: Held,
    { kind, available, reserved, revenue, facts, flags }: Ending,
  ): void {
    const { at, reason, basis, vendor = null } = facts;
    const legs = [available, reserved, revenue];
    const figures = consumptionValues(facts);
    this.#sql.addEnd.run(
      kind,
      account,
      at,
      ...legs,
      key ?? null,
      number,
      reason,
      basis,
      ...figures,
      flags,
      budgets ?? null,
      vendor,
    );
    this.#balances.spend(account, root, revenue, reserved);
    this.#balances.budgets.sheet.spend(budgets, revenue, reserved, at);
  }
}
