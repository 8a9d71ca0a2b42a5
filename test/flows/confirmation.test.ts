/** Verbs that cannot be taken back ask on a terminal, and need `--yes` without one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { onLinux } from '../support/available.ts';
import { clone, makeDataFolder, runVerb } from '../support/process.ts';

const folder = makeDataFolder();
const environment = { TOLLGATE_DATA: folder };
const copy = join(folder, 'copy.db');

async function runJson(...words: string[]): Promise<unknown> {
  const { output, errors } = await runVerb([...words, '--json'], environment);
  if (errors !== '') throw new Error(errors);
  return JSON.parse(output);
}

let key: string;
beforeAll(async () => {
  const made = await runJson('keys', 'create', '--account', 'acme', '--credit', '5');
  key = z.object({ id: z.string() }).parse(made).id;
  await runJson('backup', copy);
});

/** What the four would change. */
async function readBooks(): Promise<unknown[]> {
  return [
    await runJson('keys', 'show', key),
    await runJson('accounts', 'list'),
    await runJson('actions', 'list'),
  ];
}

const listDangerous = (): [words: string[], question: RegExp][] => [
  [
    ['keys', 'delete', key],
    /^Delete the key \S+ \(….{4}\) of the account "acme"\? It stops working for good\.$/,
  ],
  [
    ['accounts', 'close', 'acme'],
    /^Close the account "acme", which has 5 USD\? Its keys stop working for good\.$/,
  ],
  [
    ['credit', 'adjust', 'acme', '-2.50', '--reason', 'a slip'],
    /^Take 2\.5 USD from the account "acme", which has 5 USD\?$/,
  ],
  [
    ['restore', copy],
    /^Put \S+copy\.db in the place of the ledger \S+ledger\.db, which is kept beside it\?$/,
  ],
];

it('without a terminal they change nothing, and say what to add', async () => {
  const before = await readBooks();
  for (const [words, question] of listDangerous()) {
    const { code, output, errors } = await runVerb(words, environment);
    expect([code, output]).toEqual([1, '']);
    const [, asked = ''] =
      /^tollgate [a-z ]+: (.*) There is no terminal to ask on: add --yes to do it\.\n$/.exec(errors) ?? [];
    expect(asked).toMatch(question);
  }
  expect(await readBooks()).toEqual(before);
});

it('what can be taken back, or is wrong anyway, is not asked about', async () => {
  const run = async (...words: string[]) => (await runVerb(words, environment)).errors;
  expect(await run('credit', 'adjust', 'acme', '1', '--reason', 'a gift', '--reference', 'gift')).toBe('');
  expect(await run('credit', 'adjust', 'acme', '-1')).toContain('--reason is missing');
  expect(await run('keys', 'delete', 'none')).toContain('there is no key "none"');
  expect(await run('accounts', 'close', 'none')).toContain('none');
  const elsewhere = { TOLLGATE_DATA: makeDataFolder() };
  expect((await runVerb(['restore', copy], elsewhere)).code).toBe(0);
  expect(await run('credit', 'adjust', 'acme', '-1', '--reason', 'the gift', '--yes')).toBe('');
});

/** Runs a verb on a terminal of its own, which `script` makes, and types an answer when it asks. */
async function answer(words: readonly string[], typed: string): Promise<{ code: unknown; printed: string }> {
  const { PATH = '', HOME = '' } = process.env;
  const command = [process.execPath, clone.entry, ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: clone.folder,
    env: { PATH, HOME, ...environment },
  });
  let printed = '';
  let isAnswered = false;
  child.stdout.on('data', (chunk) => {
    printed += chunk;
    if (isAnswered || !printed.includes('[y/N] ')) return;
    isAnswered = true;
    child.stdin.write(typed);
  });
  const [code] = await once(child, 'close');
  return { code, printed };
}

describe.runIf(onLinux)('on a terminal', () => {
  it.each(['\n', 'n\n', 'yesterday\n', '\u0004'])('nothing but yes is taken for it: %j', async (typed) => {
    const before = await readBooks();
    const { code, printed } = await answer(['keys', 'delete', key], typed);
    expect(code).toBe(1);
    expect(printed).toMatch(
      /It stops working for good\. \[y\/N\] [^]*tollgate keys delete: nothing was changed/,
    );
    expect(await readBooks()).toEqual(before);
  });

  it('yes does it, and the log of actions has no answer', async () => {
    const { code, printed } = await answer(['keys', 'delete', key], 'Y\n');
    expect([code, printed]).toEqual([0, expect.stringContaining(`Deleted ${key}.`)]);
    expect(await runJson('actions', 'list', '--limit', '1')).toMatchObject([
      { action: 'keys delete', subject: key, detail: '{}' },
    ]);
  });
});
