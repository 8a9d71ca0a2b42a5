/**
 * `npm run patterns`: has recheck judge every pattern that `test/hostile/linear-patterns.txt` does not list,
 * and writes the list again. It exits with 1 if a pattern takes more than linear time. With `--check` it also
 * does so if the list is not up to date, and writes nothing. To judge all of them takes two minutes.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from 'recheck';
import { findPatterns, type Pattern } from './patterns.ts';

const list = join(import.meta.dirname, '../hostile/linear-patterns.txt');
/** Counted steps are the only limits: with timeouts the verdict would depend on the machine. */
const limits = { timeout: null, attackTimeout: null, incubationTimeout: null, seedingTimeout: null };

const formatPattern = ({ source, flags }: Pattern): string => `/${source}/${flags}`;

/** What is wrong with a pattern; undefined if it is linear. */
async function findFault(pattern: Pattern): Promise<string | undefined> {
  const verdict = await check(pattern.source, pattern.flags, limits);
  if (verdict.status === 'safe') return undefined;
  const why =
    verdict.status === 'vulnerable'
      ? `${verdict.complexity.summary}, such as for ${verdict.attack.pattern}`
      : `not judged: ${JSON.stringify(verdict.error)}`;
  return `${pattern.file}: ${formatPattern(pattern)} is not linear (${why})`;
}

const listed = readFileSync(list, 'utf8');
const known = new Set(listed.split('\n'));
const patterns = findPatterns();
const judged = await Promise.all(
  patterns.map(async (pattern) => ({
    line: formatPattern(pattern),
    fault: known.has(formatPattern(pattern)) ? undefined : await findFault(pattern),
  })),
);
const faults = judged.flatMap(({ fault }) => fault ?? []);
const lines = judged.flatMap(({ line, fault }) => (fault ? [] : [line]));
const current = `${lines.toSorted().join('\n')}\n`;
if (process.argv.includes('--check')) {
  if (current !== listed) faults.push('the list of linear patterns is old: npm run patterns');
} else writeFileSync(list, current);
process.stderr.write(faults.map((fault) => `${fault}\n`).join(''));
// recheck keeps a process of its own running.
process.exit(faults.length > 0 ? 1 : 0);
