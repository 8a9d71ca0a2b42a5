/** Samples to medians and ratios, and those to lines a person reads. */
import { computeMedian, computeSpread } from './statistics.ts';

interface Row {
  readonly figure: string;
  readonly label: string;
  readonly unit: string;
  readonly better: 'more' | 'less' | undefined;
  /** The figure less another target's in the same round. */
  readonly over?: 'direct' | 'bare';
  readonly digits?: number;
}

const rows: readonly Row[] = [
  { figure: 'jsonRate', label: 'JSON calls, 32 connections', unit: '/s', better: 'more' },
  { figure: 'jsonCpu', label: '  processor time', unit: 'µs/call', better: 'less' },
  { figure: 'jsonP50', label: 'JSON call, 1 connection, p50', unit: 'µs', better: 'less' },
  { figure: 'jsonP50', label: '  more than direct', unit: 'µs', better: 'less', over: 'direct' },
  { figure: 'jsonP50', label: '  more than bare', unit: 'µs', better: undefined, over: 'bare' },
  { figure: 'jsonP99', label: 'JSON call, 1 connection, p99', unit: 'µs', better: 'less' },
  { figure: 'jsonP99', label: '  more than direct', unit: 'µs', better: 'less', over: 'direct' },
  { figure: 'jsonP99', label: '  more than bare', unit: 'µs', better: undefined, over: 'bare' },
  { figure: 'ledgerWait', label: '  of it, mean wait for the ledger', unit: 'µs/call', better: undefined },
  { figure: 'ledgerCommits', label: '  in so many commits', unit: '/call', better: undefined, digits: 2 },
  { figure: 'sync', label: '  one 4 kB write and fsync there', unit: 'µs', better: undefined },
  { figure: 'fewRate', label: 'Events, 32 streams, one a ms each', unit: '/s', better: 'more' },
  { figure: 'fewCpu', label: '  processor time', unit: 'µs/event', better: 'less', digits: 2 },
  {
    figure: 'fewPerRead',
    label: '  events in one read of the proxy',
    unit: '',
    better: undefined,
    digits: 1,
  },
  { figure: 'manyRate', label: 'Events, 256 streams, one a ms each', unit: '/s', better: 'more' },
  { figure: 'manyCpu', label: '  processor time', unit: 'µs/event', better: 'less', digits: 2 },
  {
    figure: 'manyPerRead',
    label: '  events in one read of the proxy',
    unit: '',
    better: undefined,
    digits: 1,
  },
  { figure: 'burstRate', label: 'Events, 32 streams, unpaced vendor', unit: '/s', better: 'more' },
  { figure: 'burstCpu', label: '  processor time', unit: 'µs/event', better: 'less', digits: 2 },
  {
    figure: 'burstPerRead',
    label: '  events in one read of the proxy',
    unit: '',
    better: undefined,
    digits: 1,
  },
  { figure: 'firstEvent', label: 'First event, 1 connection, p50', unit: 'µs', better: 'less' },
  { figure: 'firstEvent', label: '  more than direct', unit: 'µs', better: 'less', over: 'direct' },
  { figure: 'firstEvent', label: '  more than bare', unit: 'µs', better: undefined, over: 'bare' },
  {
    figure: 'translatedJsonRate',
    label: 'JSON calls, messages to chat-completions, 32 connections',
    unit: '/s',
    better: 'more',
  },
  { figure: 'translatedJsonCpu', label: '  processor time', unit: 'µs/call', better: 'less' },
  {
    figure: 'translatedRate',
    label: 'Events, messages to chat-completions, 32 streams, unpaced',
    unit: '/s',
    better: 'more',
  },
  { figure: 'translatedCpu', label: '  processor time', unit: 'µs/event', better: 'less', digits: 2 },
  { figure: 'longP50', label: 'Conversation of 1 MB, 1 connection, p50', unit: 'µs', better: 'less' },
  { figure: 'translatedLongP50', label: '  translated', unit: 'µs', better: 'less' },
  {
    figure: 'others',
    label: 'Processors taken by others meanwhile',
    unit: '%',
    better: undefined,
    digits: 1,
  },
  { figure: 'startup', label: 'Start to first answer', unit: 'ms', better: 'less' },
  { figure: 'memoryBefore', label: 'Memory, idle, before the first call', unit: 'MB', better: 'less' },
  { figure: 'memoryAfter', label: 'Memory, idle, after the last', unit: 'MB', better: 'less' },
];

/** For each figure and target, one value a round. */
export type Samples = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;

export interface Result {
  readonly figure: string;
  readonly over: Row['over'];
  readonly label: string;
  readonly unit: string;
  readonly digits: number;
  readonly better: Row['better'];
  readonly values: Readonly<Record<string, { readonly median: number; readonly rounds: readonly number[] }>>;
  /** Each target's median over the bare proxy's. */
  readonly toBare: Readonly<Record<string, number>>;
}

function computeValues(row: Row, samples: Samples, target: string): readonly number[] {
  const rounds = samples[row.figure]?.[target] ?? [];
  if (!row.over) return rounds;
  const base = samples[row.figure]?.[row.over] ?? [];
  return target === row.over || target === 'direct'
    ? []
    : rounds.map((value, round) => value - (base[round] ?? NaN));
}

export function computeResults(samples: Samples, targets: readonly string[]): Result[] {
  return rows.flatMap((row) => {
    const measured = targets
      .map((name): [string, readonly number[]] => [name, computeValues(row, samples, name)])
      .filter(([, rounds]) => rounds.length);
    if (!measured.length) return [];
    const values = Object.fromEntries(
      measured.map(([name, rounds]) => [name, { median: computeMedian(rounds), rounds }]),
    );
    const bare = values.bare?.median;
    // A difference may come out below zero, and then nothing can be so many times as large.
    const comparable = row.better !== undefined && bare !== undefined && bare > 0;
    const others = comparable ? Object.entries(values).filter(([name]) => name !== 'bare') : [];
    const toBare = Object.fromEntries(others.map(([name, value]) => [name, value.median / (bare ?? NaN)]));
    const { figure, label, unit, better, over, digits = 0 } = row;
    return [{ figure, over, label, unit, digits, better, values, toBare }];
  });
}

function formatFigure(value: number | undefined, digits: number): string {
  if (value === undefined) return '';
  return value
    .toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
    .replaceAll(',', ' ');
}

/**
 * One aligned line per result: the medians, the ratio of each proxy to the bare one, and how far apart its
 * rounds lay.
 */
export function formatTable(results: readonly Result[], targets: readonly string[]): string {
  const compared = targets.filter((name) => name !== 'direct' && name !== 'bare');
  const head = ['', 'unit', ...targets, ...compared.flatMap((name) => [`${name}/bare`, '']), 'spread'];
  const lines = results.map(({ label, unit, digits, better, values, toBare }) => {
    const widest = better && Math.max(...Object.values(values).map(({ rounds }) => computeSpread(rounds)));
    const ratios = compared.flatMap((name) => {
      const ratio = toBare[name];
      return ratio === undefined
        ? ['', '']
        : [`${formatFigure(ratio, 2)}×`, (better === 'more') === ratio >= 1 ? 'better' : 'worse'];
    });
    return [
      label,
      unit,
      ...targets.map((name) => formatFigure(values[name]?.median, digits)),
      ...ratios,
      widest === undefined ? '' : `${formatFigure(widest * 100, 0)} %`,
    ];
  });
  const table = [head, ...lines];
  const widths = head.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  const padCell = (cell: string, column: number): string =>
    column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return table.map((cells) => cells.map(padCell).join('  ').trimEnd()).join('\n');
}
