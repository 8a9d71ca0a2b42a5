/** The matrix: what was measured, as `GET /admin/capabilities` and the README show it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { openFourWires, wires, type Wire } from '../support/four-wires.ts';
import { capabilities, groups } from './capabilities.ts';
import { applies, Broken, judge, type Outcome } from './judge.ts';

/** Outcomes by capability, client and wire; a cell with nothing to cross is missing. */
export type Matrix = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, Outcome>>>>>>;

export interface Measured {
  readonly matrix: Matrix;
  /** What was lost in silence. */
  readonly broken: readonly string[];
}

export async function measure(): Promise<Measured> {
  const harness = await openFourWires();
  const broken: string[] = [];
  const matrix: Record<string, Record<string, Record<string, Outcome>>> = {};
  for (const capability of capabilities) {
    for (const client of wires) {
      for (const wire of wires.filter((name) => applies(capability, client, name))) {
        try {
          const row = (matrix[capability.name] ??= {});
          (row[client] ??= {})[wire] = await judge(harness, capability, client, wire);
        } catch (thrown) {
          broken.push(
            thrown instanceof Broken
              ? thrown.message
              : `${capability.name}, ${client} to ${wire}: ${String(thrown)}`,
          );
        }
      }
    }
  }
  await harness.close();
  return { matrix, broken };
}

const file = new URL('../../plugins/operations/crossing/capabilities.json', import.meta.url);
const readme = new URL('../../plugins/protocols/README.md', import.meta.url);
const marks: Readonly<Record<Outcome, string>> = { works: '●', approximated: '◐', lost: '○', refused: '×' };
const [opening, closing] = ['<!-- matrix -->', '<!-- /matrix -->'];

/** The file has the capabilities by group. */
export function readMatrix(): Matrix {
  const grouped: Readonly<Record<string, Matrix>> = JSON.parse(readFileSync(file, 'utf8'));
  return Object.assign({}, ...Object.values(grouped));
}

export function writeMatrix(matrix: Matrix): void {
  const grouped = Object.entries(groups).map(([group, rows]) => [
    group,
    Object.fromEntries(rows.flatMap(({ name }) => (matrix[name] ? [[name, matrix[name]]] : []))),
  ]);
  const text = JSON.stringify(Object.fromEntries(grouped), undefined, 2);
  // What a client of one protocol can expect is one line.
  writeFileSync(file, `${text.replace(/\{[^{}]*\}/g, (row) => row.replaceAll(/\s+/g, ' '))}\n`);
}

function formatRow(name: string, matrix: Matrix): string {
  const formatCell = (client: Wire): string => {
    const row = matrix[name]?.[client];
    return row ? `\`${wires.map((wire) => (row[wire] ? marks[row[wire]] : '·')).join('')}\`` : '';
  };
  return `| ${name} | ${wires.map(formatCell).join(' | ')} |`;
}

/** The table of the README, from what is checked in. */
function formatTable(matrix: Matrix): string {
  const head = [`| client → | ${wires.join(' | ')} |`, `|---|${wires.map(() => ':-:|').join('')}`];
  const body = Object.entries(groups).flatMap(([group, rows]) => [
    `| **${group}** | | | | |`,
    ...rows.filter(({ name }) => name in matrix).map(({ name }) => formatRow(name, matrix)),
  ]);
  return [...head, ...body].join('\n');
}

/** The README with the table between its marks. */
export function insertTable(text: string, matrix: Matrix): string {
  const [start, end] = [text.indexOf(opening), text.indexOf(closing)];
  if (start < 0 || end < start)
    throw new Error(`plugins/protocols/README.md has no place for the matrix: ${opening} … ${closing}`);
  return `${text.slice(0, start)}${opening}\n${formatTable(matrix)}\n${text.slice(end)}`;
}

export function readReadme(): string {
  return readFileSync(readme, 'utf8');
}

export function writeReadme(text: string): void {
  writeFileSync(readme, text);
}
