/**
 * No regular expression in the sources takes too long, whatever its input: each is tried with inputs that
 * make bad ones backtrack.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
/**
 * Long enough that a pattern with quadratic backtracking needs a tenth of a second, and all others a fraction
 * of a millisecond.
 */
const length = 10_000;
/** Milliseconds of this thread's own work; several times what one pattern takes on a slow machine. */
const longest = 36;
/** Runs that are all too slow before a pattern counts as slow. */
const mostTries = 5;

/** Patterns that only match our own figures and the operator's settings. */
const trusted = new Set(['0+$', '\\/+$']);

const before = /(?<=[(,=:!&|?[{;]\s*|return |=> )/;
const body = /(?![/*])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)/;
const flagsAndAfter = /([dgimsuvy]*)(?=[\s.,;)\]}:?]|$)/;
const literal = new RegExp(`${before.source}/${body.source}/${flagsAndAfter.source}`, 'g');

interface Pattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

function readPatterns(file: string): Pattern[] {
  const code = readFileSync(join(root, file), 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(\/?\*|\/\/)/.test(line))
    .join('\n');
  return Array.from(code.matchAll(literal), ([, source = '', flags = '']) => ({ file, source, flags }));
}

const patterns = globSync(['core/**/*.ts', 'plugins/**/*.ts'], { cwd: root }).flatMap(readPatterns);
const distinct = [
  ...new Map(patterns.map((pattern) => [`/${pattern.source}/${pattern.flags}`, pattern])).entries(),
];

/** The characters a pattern names, and some that its classes match. */
function listCharacters(source: string): string[] {
  return [
    ...new Set([
      ...source.replaceAll(/\\[a-zA-Z]/g, '').replaceAll(/[\\^$()|?*+{}]/g, ''),
      'a',
      '0',
      ' ',
      '-',
      '.',
      '/',
      '_',
      '\n',
    ]),
  ];
}

/** The literal start of a pattern, so that an input reaches the rest of it. */
function findBeginning(source: string): string {
  return (/^\^?((?:[\w:\s-]|\\[./])+)(?![*+?{\w])/.exec(source)?.[1] ?? '').replaceAll('\\', '');
}

function* makeAttacks(source: string): Generator<string> {
  const alphabet = listCharacters(source);
  const beginning = findBeginning(source);
  for (const first of alphabet) {
    for (const second of alphabet) {
      // What may begin anywhere also finds the other order in `first` and `second` repeated.
      if (second < first && beginning === '' && !source.startsWith('^')) continue;
      const repeated = (first + (first === second ? '' : second)).repeat(
        first === second ? length : length / 2,
      );
      yield `${beginning}${repeated}\u0001`;
    }
    yield `${first.repeat(length)}\n\u0001`;
  }
}

/** The milliseconds that this thread worked, whatever else the machine does. */
function measureWork(run: () => void): number {
  const began = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}

function measureSlowest({ source, flags }: Pattern): number {
  const expression = new RegExp(source, `${flags.replaceAll(/[gy]/g, '')}g`);
  let most = 0;
  for (const attack of makeAttacks(source)) {
    const run = (): void => void attack.replaceAll(expression, '');
    let took = measureWork(run);
    // Garbage collection, and a busy machine, make any pattern slow now and then, but not each time.
    for (let tries = 1; took > longest && tries < mostTries; tries += 1)
      took = Math.min(took, measureWork(run));
    most = Math.max(most, took);
    if (most > longest) return most;
  }
  return most;
}

describe('a pattern', () => {
  it('is found wherever the sources have one', () => {
    expect(distinct.length).toBeGreaterThan(60);
  });

  it('that backtracks without bound is recognised', () => {
    expect(measureSlowest({ file: '', source: '=+$', flags: '' })).toBeGreaterThan(longest);
  });

  it.each(distinct.filter(([, { source }]) => !trusted.has(source)))('%s is quick', (_, pattern) => {
    expect(measureSlowest(pattern), pattern.file).toBeLessThan(longest);
  });
});
