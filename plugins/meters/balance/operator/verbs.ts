/** What the ledger's verbs share. */
import { createInterface } from 'node:readline';
import type { Command, CommandOption, CommandResult } from '../../../../core/index.ts';
import type { Store } from '../store.ts';
import { requireBalance } from './accounts.ts';
import { findKey } from './keys.ts';
import type { Offer } from './model-patterns.ts';

export type Options = Readonly<Record<string, string | boolean | undefined>>;

export interface Bench {
  readonly store: Store;
  readonly offer: Offer;
  /** Prints a line before the result, or with `--json` the value it is about. */
  readonly print: (line: string, value: unknown) => void;
  /** Who runs the command, for the log of operators' actions. */
  readonly author: string;
}

export type Work = (bench: Bench, args: readonly string[], options: Options) => Promise<CommandResult>;

export interface Verb extends Omit<Command, 'run'> {
  readonly run: Work;
  /** Whether it changes the ledger: the log of operators' actions has it. */
  readonly changes?: true;
  /** What it asks before it runs, unless `--yes` is given; undefined: nothing. */
  confirm?(store: Store, args: readonly string[], options: Options): Promise<string | undefined>;
  /** Whether it may create the ledger. Other verbs fail without one. */
  readonly creates?: true;
}

export const yesOption: CommandOption = { flags: '--yes', description: 'do it without a question' };

/** The first line that is typed; undefined if the input ends. */
async function readAnswer(): Promise<string | undefined> {
  // The terminal edits the line itself, and Ctrl-C ends the command.
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    for await (const line of lines) return line.trim();
    return undefined;
  } finally {
    // A terminal that is still read keeps the process.
    process.stdin.destroy();
  }
}

/** Asks on the terminal, since the command cannot be taken back. Throws unless the answer is yes. */
export async function requireConfirmation(question: string): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new Error(`${question} There is no terminal to ask on: add --yes to do it.`);
  process.stderr.write(`${question} [y/N] `);
  if (!/^y(es)?$/i.test((await readAnswer()) ?? '')) throw new Error('nothing was changed');
}

export const namedKey = 'named by its id or its last four characters';

/** Options that narrow a list, a report or an export. */
export const only = {
  account: { flags: '--account <name>', description: 'only of one account' },
  key: { flags: '--key <key>', description: `only by one key, ${namedKey}` },
  model: { flags: '--model <id>', description: 'only of one model' },
  from: { flags: '--from <time>', description: 'from then on: 2027-01-31, or 2027-01-31T09:30:00Z' },
  to: { flags: '--to <time>', description: 'until before then' },
} as const satisfies Readonly<Record<string, CommandOption>>;

/**
 * The options of a list with the id of the key that they name. Ids stay as they are: deleted keys have calls
 * and entries too.
 */
export async function findOwners(store: Store, options: Options): Promise<Options> {
  const { account, key } = options;
  if (typeof account === 'string') await requireBalance(store, account);
  return typeof key === 'string' && key.length === 4
    ? { ...options, key: (await findKey(store, key)).id }
    : options;
}

/** Reads all pages of a list: the admin API needs pages, and a terminal does not. */
export async function readAll<Row, Place>(
  list: (after: Place | undefined) => Promise<{ readonly data: readonly Row[]; readonly next: Place | null }>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: Place | null | undefined; after !== null;) {
    const { data, next } = await list(after);
    for (const row of data) rows.push(row);
    after = next;
  }
  return rows;
}

/** `1 account`, `2 accounts`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A typed number as a number. Other text stays as it is, so that it is refused. */
export function toNumeric(text: string | boolean | undefined): unknown {
  return typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : text;
}
