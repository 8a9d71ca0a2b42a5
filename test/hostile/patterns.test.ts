/** No pattern in the sources takes more than its share of time, whatever it is asked about: each is tried with what makes bad ones run away. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
/** Long enough for a pattern that goes over its text again and again to need a second, and for all others a fraction of a millisecond. */
const length = 40_000;
/** Milliseconds; ten times what one may take. */
const longest = 50;

/** What is asked of our own figures and the operator's own settings alone. */
const trusted = new Set(['0+$', '\\/+$']);

const literal = /(?<=[(,=:!&|?[{;]\s*|return |=> )\/(?![/*])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)(?=[\s.,;)\]}:?]|$)/g;

interface Pattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

function patternsIn(file: string): Pattern[] {
  const code = readFileSync(join(root, file), 'utf8').split('\n').filter((line) => !/^\s*(\/?\*|\/\/)/.test(line)).join('\n');
  return Array.from(code.matchAll(literal), ([, source = '', flags = '']) => ({ file, source, flags }));
}

const patterns = globSync(['core/**/*.ts', 'plugins/**/*.ts'], { cwd: root }).flatMap(patternsIn);
const distinct = [...new Map(patterns.map((pattern) => [`/${pattern.source}/${pattern.flags}`, pattern])).entries()];

/** Characters a pattern speaks of, and some of those its classes stand for. */
function alphabetOf(source: string): string[] {
  return [...new Set([...source.replaceAll(/\\[a-zA-Z]/g, '').replaceAll(/[\\^$()|?*+{}]/g, ''), 'a', '0', ' ', '-', '.', '/', '_', '\n'])];
}

/** What stands at its beginning as it is, so that the rest of it is reached. */
function beginningOf(source: string): string {
  return (/^\^?((?:[\w:\s-]|\\[./])+)(?![*+?{\w])/.exec(source)?.[1] ?? '').replaceAll('\\', '');
}

function* attacks({ source }: Pattern): Generator<string> {
  const alphabet = alphabetOf(source);
  const beginning = beginningOf(source);
  for (const first of alphabet) {
    for (const second of alphabet) {
      const repeated = (first + (first === second ? '' : second)).repeat(first === second ? length : length / 2);
      yield `${beginning}${repeated}\u0001`;
    }
    yield `${first.repeat(length)}\n\u0001`;
  }
}

function slowest(pattern: Pattern): number {
  const expression = new RegExp(pattern.source, pattern.flags.replace('y', 'g'));
  let most = 0;
  for (const attack of attacks(pattern)) {
    const began = performance.now();
    attack.replaceAll(new RegExp(expression, expression.global ? expression.flags : `${expression.flags}g`), '');
    let took = performance.now() - began;
    // A machine with other things to do makes anything slow once.
    for (let again = 0; took > longest && again < 3; again += 1) {
      const restarted = performance.now();
      expression.lastIndex = 0;
      expression.test(attack);
      took = Math.min(took, performance.now() - restarted);
    }
    most = Math.max(most, took);
    if (most > longest) return most;
  }
  return most;
}

describe('a pattern', () => {
  it('is found where there is one', () => {
    expect(distinct.length).toBeGreaterThan(60);
  });

  it('that runs away is known as such', { timeout: 60_000 }, () => {
    expect(slowest({ file: '', source: '=+$', flags: '' })).toBeGreaterThan(longest);
  });

  it.each(distinct.filter(([, { source }]) => !trusted.has(source)))('%s is quick', (_, pattern) => {
    expect(slowest(pattern), pattern.file).toBeLessThan(longest);
  });
});
