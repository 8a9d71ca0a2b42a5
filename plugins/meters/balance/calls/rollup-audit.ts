/**
 * Rule I12 of the audit: the money of the roll-ups, with that of entries that are not summed up yet, is the
 * money of the entries. Every hour or day is compared, and now and then every key at every model.
 */
import { formatUsd } from '../../../../core/for-threads.ts';
import type { Entry } from '../books.ts';
import { createReader, readInteger, readText, type Row } from '../rows.ts';
import { namePair, pairs, units, type Unit } from './figures.ts';
import { unsummedEntries } from './sums.ts';

/** A query for stored sums by the names of groups. */
export interface RollupCheck {
  readonly table: string;
  /** The length of the steps it groups by; undefined: it groups by account, key, model and provider. */
  readonly step: number | undefined;
  readonly text: string;
}

/** What a check found. */
export interface CheckedRollups extends RollupCheck {
  readonly rows: Iterable<Row>;
}

function buildCheck(
  { table, step }: Omit<RollupCheck, 'text'>,
  kept: string,
  name: string,
  join = '',
): RollupCheck {
  const text = `
    SELECT ${name} AS name, CAST(sum(cost) AS bigint) AS cost, CAST(sum(margin) AS bigint) AS margin,
      CAST(sum(posts) AS bigint) AS posts
    FROM (
      ${kept}
      UNION ALL SELECT account, key, model, provider, at, cost, margin, posts
      FROM (${unsummedEntries}) AS rest
    ) AS parts ${join}
    GROUP BY 1`;
  return { table, step, text };
}

function buildStepCheck(dimension: string, unit: Unit): RollupCheck {
  const step = units[unit];
  const kept = `
    SELECT '' AS account, '' AS key, '' AS model, '' AS provider, start AS at, cost, margin, posts
    FROM series_sums WHERE dimension = '${dimension}' AND step = ${step}`;
  return buildCheck({ table: `${dimension} by ${unit}`, step }, kept, `CAST(at / ${step} * ${step} AS text)`);
}

function buildPartyCheck(unit: Unit): RollupCheck {
  const kept = `SELECT account, key, model, provider, start AS at, cost, margin, posts FROM party_sums
    WHERE step = ${units[unit]}`;
  const names = `coalesce(accounts.id, erasures.account) || '\n' || key || '\n' || model || '\n' || provider`;
  // The sums of an account that is being erased have its former name until they were moved.
  const join = `LEFT JOIN accounts ON accounts.name = parts.account
    LEFT JOIN erasures ON erasures.former = parts.account AND erasures.account IS NOT NULL`;
  return buildCheck({ table: `of parties by ${unit}`, step: undefined }, kept, names, join);
}

const steps = [
  buildStepCheck('model', '1h'),
  buildStepCheck('provider', '1h'),
  buildStepCheck('account', '1d'),
  buildStepCheck('key', '1d'),
  ...pairs.map(([of, by]) => buildStepCheck(namePair(of, by), '1d')),
];
const everything = [buildPartyCheck('1h'), buildPartyCheck('1d')];

/** Audits between two that compare every key at every model, which reads all hours there ever were. */
const seldom = 60;

/** The checks of an audit by its number, from 0. */
export function selectChecks(audit: number): readonly RollupCheck[] {
  return audit % seldom === 0 ? [...steps, ...everything] : steps;
}

/** `margin` is what was charged above the vendors' bills. */
const readSums = createReader({ cost: readInteger, margin: readInteger, posts: readInteger });
type Sums = { -readonly [Name in keyof ReturnType<typeof readSums>]: bigint };

type Groups = Map<string, Sums>;

function addSums(groups: Groups, name: string, { cost, margin, posts }: Readonly<Sums>): void {
  const sums = groups.get(name);
  if (!sums) return void groups.set(name, { cost, margin, posts });
  sums.cost += cost;
  sums.margin += margin;
  sums.posts += posts;
}

/** The money of the entries, by who and what they name, and by hour. */
export interface KnownRollups {
  readonly byParties: Groups;
  readonly byHour: Groups;
  /** The names of accounts by their numbers. */
  readonly accounts: Map<number, string>;
}

export class RollupAudit {
  readonly #known: KnownRollups;
  readonly #reportFinding: (message: string) => void;

  constructor(known: KnownRollups, found: (message: string) => void) {
    this.#known = known;
    this.#reportFinding = found;
  }

  addEntry({ account, owner, at, kind, ...entry }: Entry & { readonly owner: number }): void {
    const { key = '', model = '', provider = '', revenue, vendor = revenue } = entry;
    const sums = { cost: revenue, margin: revenue - vendor, posts: kind === 'post' ? 1n : 0n };
    if (revenue === 0n && vendor === 0n && sums.posts === 0n) return;
    this.#known.accounts.set(owner, account);
    addSums(this.#known.byParties, [owner, key, model, provider].join('\n'), sums);
    addSums(this.#known.byHour, String(Math.floor(at / units['1h']) * units['1h']), sums);
  }

  compareRollups({ table, step, rows }: CheckedRollups): void {
    const wanted = step === undefined ? this.#known.byParties : this.#sumSteps(step);
    const missing = new Set(wanted.keys());
    for (const row of rows) {
      const name = readText(row, 'name');
      missing.delete(name);
      const booked = describeSums(wanted.get(name) ?? { cost: 0n, margin: 0n, posts: 0n });
      const kept = describeSums(readSums(row));
      if (kept !== booked)
        this.#reportFinding(
          `the roll-up ${table} has ${kept} for ${this.#formatGroup(name)}, and the entries sum to ${booked}`,
        );
    }
    for (const name of missing)
      this.#reportFinding(`the roll-up ${table} has nothing for ${this.#formatGroup(name)}`);
  }

  #formatGroup(name: string): string {
    const [owner = '', ...others] = name.split('\n');
    if (others.length === 0) return new Date(Number(name)).toISOString();
    return [this.#known.accounts.get(Number(owner)) ?? owner, ...others].join(' ');
  }

  #sumSteps(step: number): Groups {
    const groups: Groups = new Map();
    for (const [at, sums] of this.#known.byHour)
      addSums(groups, String(Math.floor(Number(at) / step) * step), sums);
    return groups;
  }
}

function describeSums({ cost, margin, posts }: Sums): string {
  const above = margin === 0n ? '' : ` (margin ${formatUsd(margin)})`;
  return `${formatUsd(cost)}${above} in ${posts} calls`;
}
