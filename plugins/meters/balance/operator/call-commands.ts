/** The verbs for stored calls. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { formatTable, formatUsd, parseUsd, toOneLine, type CommandOption } from '../../../../core/index.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import type { Store } from '../store.ts';
import { readCallDetails, callQuery, listCalls } from './calls.ts';
import { buildNumberSchema } from './reading.ts';
import { computeStatement, formatStatementCsv, statementQuery } from './statement.ts';
import { findOwners, toNumeric, only, type Options, type Verb, type Work } from './verbs.ts';

type ListedCall = Awaited<ReturnType<typeof listCalls>>['data'][number];

const headings = 'ENDED CALL ACCOUNT KEY MODEL PROVIDER OUTCOME MS IN OUT USD'.split(' ');

function formatCallCells(call: ListedCall): string[] {
  const { ended, id, account, key, model, provider, outcome, duration_ms, input, output, cost } = call;
  const cells = [ended, id, account, key, model, provider, outcome, duration_ms, input, output, cost];
  return cells.map((cell) => String(cell ?? ''));
}

const filters: readonly CommandOption[] = [
  only.account,
  only.key,
  only.model,
  { flags: '--provider <name>', description: 'only by one provider' },
  { flags: '--outcome <outcome>', description: 'only those that ended so, such as completed or failed' },
];

const runList: Work = async ({ store }, _, { limit, ...options }) => {
  const query = readInput(callQuery, {
    limit: toNumeric(limit) ?? 50,
    ...(await findOwners(store, options)),
  });
  const { data } = await listCalls(store, query);
  const cost = data.reduce((sum, call) => sum + parseUsd(call.cost), 0n);
  const totals = [`${data.length} calls`, ...headings.slice(2).map(() => ''), formatUsd(cost)];
  return {
    json: data,
    text:
      data.length > 0
        ? formatTable(headings, data.map(formatCallCells), data.length > 1 ? totals : undefined)
        : 'There are no calls.',
  };
};

/**
 * Milliseconds between two queries, and how far back each goes: calls are stored a little after they end.
 */
const pause = 1000;
const lookBack = 10_000;

/** All calls that ended from a time on, the oldest first. */
async function listSince(store: Store, options: Options, from: number): Promise<ListedCall[]> {
  const calls: ListedCall[] = [];
  const query = { ...options, from: new Date(from).toISOString(), limit: 1000 };
  for (let after: string | null | undefined; after !== null;) {
    const { data, next } = await listCalls(store, readInput(callQuery, { ...query, after }));
    calls.push(...data);
    after = next;
  }
  return calls.toReversed();
}

const tailQuery = z.object({ count: buildNumberSchema(1).optional() });

const runTail: Work = async ({ store, print }, _, { count: typed, ...filter }) => {
  const { count } = readInput(tailQuery, { count: typed });
  const options = await findOwners(store, filter);
  let queriedAt = Date.now();
  let seen = new Set((await listSince(store, options, queriedAt - lookBack)).map(({ id }) => id));
  for (let left = count ?? Infinity; left > 0;) {
    await sleep(pause);
    const from = queriedAt - lookBack;
    queriedAt = Date.now();
    const calls = await listSince(store, options, from);
    const fresh = calls.filter(({ id }) => !seen.has(id)).slice(0, left);
    for (const call of fresh) print(formatCallCells(call).filter(Boolean).map(toOneLine).join('  '), call);
    seen = new Set(calls.map(({ id }) => id));
    left -= fresh.length;
  }
  return { json: undefined, text: '' };
};

function buildBalanceCells(at: string, text: string, balance: string): string[] {
  return [at, text, '', '', '', balance];
}

const runStatement: Work = async ({ store }, [account = ''], { csv, ...options }) => {
  const query = readInput(statementQuery, options);
  const made = await computeStatement(store, account, query);
  if (csv === true) return { json: made, text: formatStatementCsv(made).trimEnd() };
  const rows = made.lines.map(({ at, kind, text, calls, amount, balance }) =>
    [at, kind, text, calls ?? '', amount, balance].map(String),
  );
  return {
    json: made,
    text: formatTable(
      ['AT', 'KIND', 'TEXT', 'CALLS', 'USD', 'BALANCE'],
      [
        buildBalanceCells(made.from, 'opening', made.opening),
        ...rows,
        buildBalanceCells(made.to, 'closing', made.closing),
      ],
    ),
  };
};

export const callVerbs: readonly Verb[] = [
  {
    name: 'accounts statement <name>',
    description: 'show what an account had, was credited and spent in a month, day by day',
    options: [
      { flags: '--month <month>', description: '2027-01; the current one unless given' },
      { flags: '--from <day>', description: 'instead of a month: the first day' },
      { flags: '--to <day>', description: 'the day after the last one' },
      {
        flags: '--zone <zone>',
        description: 'time zone of the days, such as Europe/Berlin (UTC unless given)',
      },
      { flags: '--csv', description: 'as CSV' },
    ],
    run: runStatement,
  },
  {
    name: 'calls list',
    description: 'show the last calls',
    options: [{ flags: '--limit <count>', description: 'how many (50 unless given)' }, ...filters],
    run: runList,
  },
  {
    name: 'calls show <call>',
    description: 'show all that is known of a call, as JSON',
    async run({ store }, [id = '']) {
      const call = await readCallDetails(store, id);
      return { json: call, text: JSON.stringify(call, null, 2) };
    },
  },
  {
    name: 'calls tail',
    description: 'print calls as they end, until Ctrl-C; with --json each on a line',
    options: [{ flags: '--count <calls>', description: 'stop after so many' }, ...filters],
    run: runTail,
  },
];
