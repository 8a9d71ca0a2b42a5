/** The verbs for stored calls. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { formatTable, formatUsd, parseUsd, type CommandOption } from '../../../../core/index.ts';
import { read } from '../../../shared/operator-routes.ts';
import type { Store } from '../store.ts';
import { callDetails, callQuery, listCalls } from './calls.ts';
import { wholeNumber } from './reading.ts';
import { statement, statementCsv, statementQuery } from './statement.ts';
import { numeric, only, type Options, type Verb, type Work } from './verbs.ts';

type ListedCall = Awaited<ReturnType<typeof listCalls>>['data'][number];

const headings = 'ENDED CALL ACCOUNT KEY MODEL PROVIDER OUTCOME MS IN OUT USD'.split(' ');

function callCells(call: ListedCall): string[] {
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

const listWork: Work = async ({ store }, _, { limit, ...options }) => {
  const query = read(callQuery, { limit: numeric(limit) ?? 50, ...options });
  const { data } = await listCalls(store, query);
  const cost = data.reduce((sum, call) => sum + parseUsd(call.cost), 0n);
  const totals = [`${data.length} calls`, ...headings.slice(2).map(() => ''), formatUsd(cost)];
  return {
    json: data,
    text:
      data.length > 0
        ? formatTable(headings, data.map(callCells), data.length > 1 ? totals : undefined)
        : 'There are no calls.',
  };
};

/** Milliseconds between two looks, and how far back each looks: calls are stored a little after they end. */
const pause = 1000;
const lookBack = 10_000;

/** The calls that were stored since the last look, the oldest first. */
async function listNew(store: Store, options: Options, seen: Set<string>): Promise<ListedCall[]> {
  const from = new Date(Date.now() - lookBack).toISOString();
  const { data } = await listCalls(store, read(callQuery, { ...options, from, limit: 1000 }));
  const fresh = data.filter(({ id }) => !seen.has(id)).toReversed();
  seen.clear();
  for (const { id } of data) seen.add(id);
  return fresh;
}

const tailQuery = z.object({ count: wholeNumber(1).optional() });

const tailWork: Work = async ({ store, print }, _, { count: typed, ...options }) => {
  const { count } = read(tailQuery, { count: typed });
  const seen = new Set<string>();
  await listNew(store, options, seen);
  for (let left = count ?? Infinity; left > 0;) {
    await sleep(pause);
    const calls = (await listNew(store, options, seen)).slice(0, left);
    for (const call of calls) print(callCells(call).filter(Boolean).join('  '));
    left -= calls.length;
  }
  return { json: null, text: '' };
};

function balanceCells(at: string, text: string, balance: string): string[] {
  return [at, text, '', '', '', balance];
}

const statementWork: Work = async ({ store }, [account = ''], { csv, ...options }) => {
  const query = read(statementQuery, options);
  const made = await statement(store, account, query);
  if (csv === true) return { json: made, text: statementCsv(made).trimEnd() };
  const rows = made.lines.map(({ at, kind, text, calls, amount, balance }) =>
    [at, kind, text, calls ?? '', amount, balance].map(String),
  );
  return {
    json: made,
    text: formatTable(
      ['AT', 'KIND', 'TEXT', 'CALLS', 'USD', 'BALANCE'],
      [
        balanceCells(made.from, 'opening', made.opening),
        ...rows,
        balanceCells(made.to, 'closing', made.closing),
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
    work: statementWork,
  },
  {
    name: 'calls list',
    description: 'show the last calls',
    options: [{ flags: '--limit <count>', description: 'how many (50 unless given)' }, ...filters],
    work: listWork,
  },
  {
    name: 'calls show <call>',
    description: 'show all that is known of a call, as JSON',
    async work({ store }, [id = '']) {
      const call = await callDetails(store, id);
      return { json: call, text: JSON.stringify(call, null, 2) };
    },
  },
  {
    name: 'calls tail',
    description: 'print calls as they end, until Ctrl-C',
    options: [{ flags: '--count <calls>', description: 'stop after so many' }, ...filters],
    work: tailWork,
  },
];
