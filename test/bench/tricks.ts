/**
 * What a trick for speed saves: main-thread microseconds and allocated kilobytes of a call, of this checkout
 * and of others that lack the trick. Each run starts a process of each, since V8 compiles each process in
 * another way, and its rounds go through all of them in turn. A trick stays if it saves 5 % of a JSON call or
 * of a stream.
 *
 * npm run bench:tricks -- <checkout or git ref>…      TRICKS_RUNS=3 TRICKS_ROUNDS=5 TRICKS_CALLS=600
 */
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { optimizing, startMeasured, type Work } from './measured.ts';
import { calls, stepwise, translations, type Call } from './payload.ts';
import { run } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { openWorld } from './world.ts';

const project = join(import.meta.dirname, '../..');
const runs = Number(process.env.TRICKS_RUNS ?? 3);
const rounds = Number(process.env.TRICKS_ROUNDS ?? 5);
const count = Number(process.env.TRICKS_CALLS ?? 600);
/** Rounds that do not count: V8 compiles what runs often, and again when calls of the next kind come. */
const warmUps = 2;
const kinds: Readonly<Record<string, Call>> = {
  'JSON call': calls.json,
  'JSON call, translated': translations.json,
  'stream of 100 events': calls.stream,
  'stream, translated': translations.stream,
  'stream, event by event': stepwise,
};

interface Version {
  readonly name: string;
  readonly path: string;
}

const folder = mkdtempSync(join(tmpdir(), 'tollgate-tricks-'));
const git = (...args: string[]): Promise<string> => run('git', ['-C', project, ...args]);

/** A checkout as it is, or a git ref in a worktree of its own. */
async function checkOut(given: string): Promise<Version> {
  if (existsSync(join(given, 'core'))) return { name: basename(resolve(given)), path: resolve(given) };
  const path = join(folder, given.replaceAll('/', '-'));
  await git('worktree', 'add', '--detach', path, given);
  symlinkSync(join(project, 'node_modules'), join(path, 'node_modules'));
  return { name: given, path };
}

/** Of the main thread. */
type Figures = Pick<Work, 'time' | 'bytes'>;

/** What each version's calls cost at best, by kind of call. */
async function measureRun(versions: readonly Version[], vendor: string): Promise<Figures[][]> {
  const running = await Promise.all(
    versions.map(({ path }) => startMeasured('rest', vendor, optimizing, path)),
  );
  const best: Figures[][] = [];
  for (const call of Object.values(kinds)) {
    const works = versions.map((): Figures => ({ time: Infinity, bytes: Infinity }));
    for (let round = -warmUps; round < rounds; round += 1)
      for (const [index, measured] of running.entries()) {
        const { time, bytes } = await measured.work(
          call,
          call.accept === 'text/event-stream' ? count / 4 : count,
        );
        const least = works[index];
        if (round >= 0 && least)
          works[index] = { time: Math.min(least.time, time), bytes: Math.min(least.bytes, bytes) };
      }
    best.push(works);
  }
  for (const measured of running) measured.stop();
  return best;
}

/** One row for each kind of call: what it costs here, and how much more without the trick, run by run. */
function formatRows(versions: readonly Version[], measured: readonly Figures[][][]): string[] {
  return Object.keys(kinds).map((kind, place) => {
    const read = (index: number, figure: keyof Figures): number[] =>
      measured.map((best) => best[place]?.[index]?.[figure] ?? NaN);
    const cells = versions.map((_, index) => {
      const [times, own] = [read(index, 'time'), read(0, 'time')];
      const kilobytes = (computeMedian(read(index, 'bytes')) / 1000).toFixed(0);
      const shown = `${computeMedian(times).toFixed(0)} µs, ${kilobytes} kB`;
      if (index === 0) return shown;
      const shares = times.map((time, at) => (time / (own[at] ?? NaN) - 1) * 100);
      return `${shown}: ${formatShare(computeMedian(shares))} (${shares.map(formatShare).join(', ')})`;
    });
    return `| ${[kind, ...cells].join(' | ')} |`;
  });
}

function formatShare(share: number): string {
  return `${share < 0 ? '' : '+'}${share.toFixed(1)} %`;
}

const world = await openWorld();
try {
  const given = process.argv.slice(2);
  if (given.length === 0) throw new Error('usage: npm run bench:tricks -- <checkout or git ref>…');
  const versions = [{ name: 'this checkout', path: project }];
  for (const each of given) versions.push(await checkOut(each));
  const measured: Figures[][][] = [];
  for (let made = 0; made < runs; made += 1) measured.push(await measureRun(versions, world.origin));
  const heading = ['', ...versions.map(({ name }) => name)];
  const lines = [heading, heading.map(() => '---')].map((cells) => `| ${cells.join(' | ')} |`);
  process.stdout.write(`${[...lines, ...formatRows(versions, measured)].join('\n')}\n`);
} finally {
  world.close();
  rmSync(folder, { recursive: true, force: true });
  await git('worktree', 'prune');
}
