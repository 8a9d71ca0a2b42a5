/**
 * Several processes on one file, and one that is killed: acknowledged writes are there, and the ledger is
 * sound.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { expectSound } from '../contract/books.ts';
import { makeFolder } from '../support/folder.ts';
import { quote, settlement } from './calls.ts';
import { readBooks } from './ledger-file.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = makeFolder();
  file = join(folder, 'ledger.db');
});
const spender = join(import.meta.dirname, 'spender.ts');

interface Spender {
  /** The answers it received, as it printed them. */
  readonly printed: readonly string[];
  /** Resolves once it has printed so many. */
  reached(count: number): Promise<void>;
  kill(): void;
  /** Its exit code; null if it was killed. */
  readonly exited: Promise<number | null>;
}

function spend(account: string, name: string, pairs: number): Spender {
  const child = spawn(process.execPath, [spender, file, account, name, `${pairs}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const messages: string[] = [];
  let check = (): void => undefined;
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    messages.push(line);
    check();
  });
  return {
    printed: messages,
    reached: (count) =>
      new Promise((resolve) => {
        check = () => void (messages.length >= count && resolve());
        check();
      }),
    kill: () => void child.kill('SIGKILL'),
    exited: Promise.all([once(child, 'exit'), once(lines, 'close')]).then(([[code]]) => code),
  };
}

/** The outcome of each call, by its id. */
function readStates(): Map<string, string> {
  const ends = new Map([
    ['reserve', 'pending'],
    ['post', 'posted'],
    ['void', 'voided'],
  ]);
  return new Map(
    readBooks(file).entries.flatMap(({ call, kind }) =>
      call === undefined ? [] : [[call, ends.get(kind) ?? kind]],
    ),
  );
}

it('several processes on one file create it together and spend from one account to the nano', async () => {
  const pairs = 150;
  const children = [spend('shared', 'first', pairs), spend('shared', 'second', pairs)];
  const store = await openSqlite({ file });
  await store.createAccount({ name: 'shared', at: 1 });
  await store.addCredit({
    account: 'shared',
    amount: 1_000_000_000n,
    kind: 'bonus',
    reference: 'for shared',
    at: 1,
  });
  await Promise.all(children.map(({ reached }) => reached(1)));
  for (let index = 0; index < pairs; index += 1) {
    await store.reserve({
      id: `own-${index}`,
      account: 'shared',
      key: 'own',
      quotes: [quote(100n)],
      at: 1,
    });
    await store.settle(settlement(`own-${index}`, 60n));
  }
  expect(await Promise.all(children.map(({ exited }) => exited))).toEqual([0, 0]);
  const posts = pairs + 2 * pairs * (4 / 5);
  expect(await store.readBalance('shared')).toEqual({
    total: 1_000_000_000n,
    used: 60n * BigInt(posts),
    pending: 0n,
  });
  await store.close();
  expectSound(readBooks(file));
});

it('a full disk refuses writes without room, and keeps what was acknowledged before', async () => {
  const filler = [process.execPath, join(import.meta.dirname, 'fill-disk.ts'), file];
  const child = spawn('sh', ['-c', 'ulimit -f 1000; exec "$0" "$@"', ...filler], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [code]] = await Promise.all([Array.fromAsync(child.stdout), once(child, 'exit')]);
  expect(code).toBe(0);
  const { reserved, refusals } = JSON.parse(Buffer.concat(output).toString());
  expect(refusals).toEqual(['ledger_unavailable']);
  expect(reserved).toBeGreaterThan(0);
  expect(readStates().size).toBe(reserved);
  expectSound(readBooks(file));
});

describe('a process that is killed', () => {
  it.each([40, 333, 900])('loses nothing acknowledged when killed after %i answers', async (answers) => {
    const child = spend('a', 'victim', 1_000_000);
    await child.reached(answers);
    child.kill();
    await child.exited;
    const store = await openSqlite({ file });
    const found = readStates();
    const [, ...messages] = child.printed;
    expect(messages.length).toBeGreaterThanOrEqual(answers - 1);
    const lost = messages.filter((line) => {
      const [answer, id = ''] = line.split(' ');
      return answer === 'reserved' ? !found.has(id) : found.get(id) !== answer;
    });
    expect(lost).toEqual([]);
    const pending = [...found].filter(([, state]) => state === 'pending');
    expect((await store.readBalance('a'))?.pending).toBe(100n * BigInt(pending.length));
    for (const [id] of pending)
      expect(await store.settle(settlement(id, undefined))).toEqual({ status: 'voided' });
    await store.close();
    expectSound(readBooks(file));
  });
});
