/** The rows that calls add: entries, and reservations that are pending. */
import type { Held, Pending } from '../call-rows.ts';
import { presumeUsage, type Ending, type Taken } from '../decisions.ts';
import type { Row } from '../rows.ts';
import { nameStatements, selectRecords } from './steps.ts';

// Columns of a reservation that are not named have their defaults, which cost less than values.
const reserveColumns =
  'number, kind, account, at, available, reserved, call, key, model, provider, price, budgets, attempts';
const pendingColumns = `call, number, account, key, root, amount, owner, claim, created, owed, model,
  provider, price, input, usage, budgets`;
const endColumns = `number, kind, account, at, available, reserved, revenue, call, key, reservation, reason,
  basis, model, provider, price, input, output, usage, costs, attempts, flags, budgets, vendor`;

export const adding = nameStatements('new rows', {
  addReserves: `INSERT INTO entries (${reserveColumns}) ${selectRecords('entries', reserveColumns)}`,
  addPending: `INSERT INTO pending (${pendingColumns}) ${selectRecords('pending', pendingColumns)}`,
  addEnds: `INSERT INTO entries (${endColumns}) ${selectRecords('entries', endColumns)}`,
});

/** `attempts`: how many the call had made before. */
export function buildReserve(pending: Pending, { taken }: Taken, at: number, attempts = 0): Row {
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

export function buildPending(pending: Pending, { taken }: Taken, owner: string, created: number): Row {
  const { owed, model, provider, price, input } = taken;
  return { ...pending, owner, created, owed, model, provider, price, input, usage: presumeUsage(taken) };
}

/**
 * An entry that ends a reservation, or follows its end. Its columns are written out, since to merge objects
 * takes 4 % of a reserve and settle (`test/bench/ledger.ts`).
 */
export function buildEnd(number: bigint, held: Held, ending: Ending): Row {
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
