/** Stored calls: the filters of a query, and the rows it returns. */
import {
  toColumn,
  readCount,
  readFlag,
  readInteger,
  readNamedTexts,
  readObject,
  allowNull,
  createReader,
  readText,
  type RecordOf,
} from '../rows.ts';
import { Conditions, type Value } from '../sql/steps.ts';
import { errorOutcomes } from './figures.ts';

/** The columns of a stored call but its record, by the names of their fields. */
const callFields = {
  call: readText,
  started: readCount,
  ended: readCount,
  account: readText,
  key: readText,
  /** What the client wrote. */
  asked: allowNull(readText),
  /** Of the last attempt; empty if no model was found. */
  model: readText,
  /** Empty if no provider was called. */
  provider: readText,
  protocol: readText,
  operation: readText,
  stream: readFlag,
  outcome: readText,
  code: allowNull(readText),
  status: readCount,
  firstEvent: allowNull(readCount),
  duration: readCount,
  attempts: readCount,
  input: readCount,
  output: readCount,
  cached: readCount,
  reasoning: readCount,
  cost: readInteger,
  /** What was charged above the vendor's bill. */
  margin: readInteger,
  basis: readText,
  flags: readText,
  tags: readNamedTexts,
};
type CallColumn = Exclude<keyof typeof callFields, 'firstEvent'> | 'first_event';
export const callColumns = Object.keys(callFields).map(toColumn) as CallColumn[];

const rowFields = {
  ...callFields,
  number: readCount,
  /** What the record says was used, by the names of counts. */
  usage: allowNull(readObject),
};
/** One row of the table, without the record of the call. */
export type CallRow = RecordOf<typeof rowFields>;
export const readCallRow = createReader(rowFields);
/** The usage of a record, which has no column. */
export const usageColumn = "calls.body::json ->> 'usage' AS usage";

/** `body` is the record as JSON text, as `GET /v1/calls/{id}` returns it. */
export type StoredCall = CallRow & { readonly body: string };
export const readStoredCall = createReader({ ...rowFields, body: readText });

/** Where a page begins: after the call that ended then and has this number. */
export interface CallCursor {
  readonly ended: number;
  readonly number: number;
}

const parties = ['call', 'account', 'key', 'model', 'provider', 'protocol'] as const;

/**
 * Selects stored calls, newest first. Undefined fields do not filter. An outcome may be `error`: any that
 * counts as one. A tag is `name:value` or `name`.
 */
export interface CallQuery extends Readonly<
  Partial<Record<(typeof parties)[number] | 'outcome' | 'tag' | 'holder', string | undefined>>
> {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly minCost?: bigint | undefined;
  readonly maxCost?: bigint | undefined;
  readonly after?: CallCursor | undefined;
  readonly limit: number;
}

/** A range of cost with at most this many calls is read by its own index, any other in order of time. */
export const fewCalls = 100_000;

const isError = `outcome IN (${errorOutcomes.map((outcome) => `'${outcome}'`).join(', ')})`;

function addCost(conditions: Conditions, { minCost, maxCost }: CallQuery): void {
  conditions.add('calls.cost >=', minCost);
  conditions.add('calls.cost <=', maxCost);
}

export type CallSelect = { readonly text: string; readonly values: readonly Value[] };

/** Counts what a range of cost selects, up to `fewCalls`; undefined if there is no such range. */
export function buildProbeSql(query: CallQuery): CallSelect | undefined {
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
export function buildCallsSql(query: CallQuery, byCost: boolean): CallSelect {
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
  for (const name of parties) conditions.add(`calls.${name} =`, query[name]);
  if (query.holder !== undefined) {
    const holder = conditions.addValue(query.holder);
    conditions.texts.push(`calls.key IN (SELECT id FROM keys WHERE holder = ${holder})`);
  }
  if (query.outcome === 'error') conditions.texts.push(isError);
  else conditions.add('calls.outcome =', query.outcome);
  conditions.add(`${order}.ended >=`, query.from);
  conditions.add(`${order}.ended <`, query.to);
  if (before === '') addCost(conditions, query);
  if (query.after) {
    const { ended, number } = query.after;
    conditions.texts.push(
      `(${order}.ended, ${order}.number) < (${conditions.addValue(ended)}, ${conditions.addValue(number)})`,
    );
  }
  const columns = callColumns.map((column) => `calls.${column}`).join(', ');
  const text = `
    ${before} SELECT calls.number, ${columns}, ${usageColumn} FROM ${from} ${conditions.where}
    ORDER BY ${order}.ended DESC, ${order}.number DESC LIMIT ${conditions.addValue(query.limit)}`;
  return { text, values: conditions.values };
}
