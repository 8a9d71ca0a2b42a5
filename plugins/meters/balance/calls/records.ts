/** Stored calls: what a query can ask for, and the rows it answers with. */
import { count, integer, maybe, namedTexts, text, type Row } from '../rows.ts';
import { Conditions, type Value } from '../sql/steps.ts';
import { errorOutcomes } from './figures.ts';

/** The columns of a stored call but its record; `CallText` has all of them. */
export const callColumns = [
  'call',
  'started',
  'ended',
  'account',
  'key',
  'asked',
  'model',
  'provider',
  'protocol',
  'operation',
  'stream',
  'outcome',
  'code',
  'status',
  'first_event',
  'duration',
  'attempts',
  'input',
  'output',
  'cached',
  'reasoning',
  'cost',
  'margin',
  'basis',
  'flags',
  'tags',
] as const;

/** One row of the table, without the record of the call. */
export interface CallRow {
  readonly number: number;
  readonly call: string;
  readonly started: number;
  readonly ended: number;
  readonly account: string;
  readonly key: string;
  readonly asked: string | undefined;
  /** Empty if no model was found. */
  readonly model: string;
  /** Empty if no provider was called. */
  readonly provider: string;
  readonly protocol: string;
  readonly operation: string;
  readonly stream: boolean;
  readonly outcome: string;
  readonly code: string | undefined;
  readonly status: number;
  readonly firstEvent: number | undefined;
  readonly duration: number;
  readonly attempts: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
  readonly cost: bigint;
  /** What was charged above the vendor's bill. */
  readonly margin: bigint;
  readonly basis: string;
  readonly flags: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface StoredCall extends CallRow {
  /** The record as JSON text, as `GET /v1/calls/{id}` returns it. */
  readonly body: string;
}

/** Where a page begins: after the call that ended then and has this number. */
export interface CallCursor {
  readonly ended: number;
  readonly number: number;
}

/** Selects stored calls, newest first. Fields that are undefined select nothing. */
export interface CallQuery {
  readonly call?: string | undefined;
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly protocol?: string | undefined;
  /** `error`: any outcome that counts as an error. */
  readonly outcome?: string | undefined;
  /** `name:value` or `name`. */
  readonly tag?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly minCost?: bigint | undefined;
  readonly maxCost?: bigint | undefined;
  readonly after?: CallCursor | undefined;
  readonly limit: number;
}

/** A range of cost with up to so many calls is read by its own index, any other in order of time. */
export const fewCalls = 100_000;

const isError = `outcome IN (${errorOutcomes.map((outcome) => `'${outcome}'`).join(', ')})`;

function addCost(conditions: Conditions, { minCost, maxCost }: CallQuery): void {
  conditions.add('calls.cost >=', minCost);
  conditions.add('calls.cost <=', maxCost);
}

export type CallSelect = { readonly text: string; readonly values: readonly Value[] };

/** Counts what a range of cost selects, up to `fewCalls`; undefined if there is no such range. */
export function probeSql(query: CallQuery): CallSelect | undefined {
  if (query.minCost === undefined && query.maxCost === undefined) return undefined;
  const conditions = new Conditions();
  addCost(conditions, query);
  return {
    text: `
      SELECT count(*) AS found
      FROM (SELECT 1 FROM calls ${conditions.where} LIMIT ${fewCalls + 1}) AS probe`,
    values: conditions.values,
  };
}

/** `byCost` says that the range of cost selects few calls. */
export function callsSql(query: CallQuery, byCost: boolean): CallSelect {
  const conditions = new Conditions();
  // The columns that order a page are those of the index that selects it.
  const order = query.tag === undefined ? 'calls' : 'call_tags';
  let from = 'calls';
  let before = '';
  if (query.tag !== undefined) {
    from = 'call_tags JOIN calls ON calls.number = call_tags.number';
    conditions.add('call_tags.tag =', query.tag);
  } else if (byCost) {
    addCost(conditions, query);
    before = `WITH found AS MATERIALIZED (SELECT number AS found_number FROM calls ${conditions.where})`;
    conditions.texts.length = 0;
    from = 'found JOIN calls ON calls.number = found_number';
  }
  conditions.add('calls.call =', query.call);
  conditions.add('calls.account =', query.account);
  conditions.add('calls.key =', query.key);
  conditions.add('calls.model =', query.model);
  conditions.add('calls.provider =', query.provider);
  conditions.add('calls.protocol =', query.protocol);
  if (query.outcome === 'error') conditions.texts.push(isError);
  else conditions.add('calls.outcome =', query.outcome);
  conditions.add(`${order}.ended >=`, query.from);
  conditions.add(`${order}.ended <`, query.to);
  if (before === '') addCost(conditions, query);
  if (query.after) {
    const { ended, number } = query.after;
    conditions.texts.push(
      `(${order}.ended, ${order}.number) < (${conditions.place(ended)}, ${conditions.place(number)})`,
    );
  }
  const columns = callColumns.map((column) => `calls.${column}`).join(', ');
  const text = `
    ${before} SELECT calls.number, ${columns} FROM ${from} ${conditions.where}
    ORDER BY ${order}.ended DESC, ${order}.number DESC LIMIT ${conditions.place(query.limit)}`;
  return { text, values: conditions.values };
}

export function callRowOf(row: Row): CallRow {
  return {
    number: count(row, 'number'),
    call: text(row, 'call'),
    started: count(row, 'started'),
    ended: count(row, 'ended'),
    account: text(row, 'account'),
    key: text(row, 'key'),
    asked: maybe(row, 'asked', text),
    model: text(row, 'model'),
    provider: text(row, 'provider'),
    protocol: text(row, 'protocol'),
    operation: text(row, 'operation'),
    stream: count(row, 'stream') === 1,
    outcome: text(row, 'outcome'),
    code: maybe(row, 'code', text),
    status: count(row, 'status'),
    firstEvent: maybe(row, 'first_event', count),
    duration: count(row, 'duration'),
    attempts: count(row, 'attempts'),
    input: count(row, 'input'),
    output: count(row, 'output'),
    cached: count(row, 'cached'),
    reasoning: count(row, 'reasoning'),
    cost: integer(row, 'cost'),
    margin: integer(row, 'margin'),
    basis: text(row, 'basis'),
    flags: text(row, 'flags'),
    tags: namedTexts(row, 'tags'),
  };
}

export function storedCallOf(row: Row): StoredCall {
  return { ...callRowOf(row), body: text(row, 'body') };
}

/** How many numbers of each log to add to the roll-ups. */
export interface FoldRequest {
  readonly limit: number;
}

export interface Folded {
  /** False if there is more to fold at once. */
  readonly isDone: boolean;
}

export interface SweepRequest {
  /** Calls that ended before this time are deleted. */
  readonly before: number;
  readonly limit: number;
  readonly at: number;
}
