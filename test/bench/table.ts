/** Samples to medians and ratios, and those to lines a person reads. */
import { rows, type Row } from './rows.ts';
import { computeMedian, computeSpread } from './statistics.ts';

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
