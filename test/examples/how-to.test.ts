/**
 * Each page of `examples/how-to` is pasted into a shell beside a running gateway: the files that it shows are
 * written, its commands run in order, and what it says they print is printed.
 */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { errorCodes, errorTable } from '../../core/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { listBlocks, pages, pagesFolder, readPage } from '../support/pages.ts';
import { openPasting, type Pasting } from '../support/paste.ts';
import { makeDataFolder, runVerb, startProcess, type RunningGateway } from '../support/process.ts';

const root = join(import.meta.dirname, '../..');
const tools = makeDataFolder();
const shared = makeDataFolder();

/** Programs of others: each says what it was asked, and fails if it is to read a file that is not there. */
const others = ['kubectl', 'helm', 'docker', 'pg_dump', 'pg_restore', 'pg_basebackup'];
const stand = `#!/bin/bash
echo "$(basename "$0") $*"
for word in "$@"; do
  case "$word" in examples/deploy/helm) ;; examples/*) [ -e "${root}/$word" ] || exit 9 ;; esac
done
`;

let gateway: RunningGateway;
let pasting: Pasting;
beforeAll(async () => {
  for (const name of others) writeFileSync(join(tools, name), stand, { mode: 0o755 });
  gateway = await startProcess({ TOLLGATE_DATA: join(shared, 'data') });
  pasting = await openPasting(gateway, { TOLLGATE_LEDGER_URL: '', TOLLGATE_LOG: 'warn' }, tools);
});

/** A folder like a project: the delivered configuration, its packages, and the data of the gateway. */
function openFolder(data: string): string {
  const folder = makeDataFolder();
  mkdirSync(data, { recursive: true });
  for (const [name, to] of [
    ['gateway.config.ts', join(root, 'gateway.config.ts')],
    ['node_modules', join(root, 'node_modules')],
    ['data', data],
  ] as const)
    symlinkSync(to, join(folder, name));
  return folder;
}

const mark = '@@@';

/** Pastes blocks into one shell. Returns what each of them printed. */
async function paste(blocks: readonly string[], folder: string): Promise<string[]> {
  const lines = blocks.map((block) => `${block}\necho '${mark}'`).join('\n');
  const printed = await pasting.paste(`exec 2>&1\n${lines}`, folder).catch((error: { stdout: string }) => {
    throw new Error(`the commands failed:\n${error.stdout}`, { cause: error });
  });
  return printed.split(mark);
}

/** Restoring refuses beside a running gateway, so that page has a ledger of its own. */
async function prepareData(page: string): Promise<string> {
  if (page !== 'backup.md') return join(shared, 'data');
  const data = makeDataFolder();
  await runVerb(['keys', 'create', '--credit', '1'], { TOLLGATE_DATA: data });
  return data;
}

const asked = pages.filter((page) => page !== 'README.md');

it.each(asked)('the commands of %s work as pasted, and print what it says', async (page) => {
  const blocks = listBlocks(readPage(page));
  const folder = openFolder(await prepareData(page));
  for (const { file, text } of blocks)
    if (file !== undefined) writeFileSync(join(folder, file), pasting.readdress(text));
  const commands = blocks.filter(({ language }) => language === 'sh');
  expect(commands.length).toBeGreaterThan(0);
  const printed = await paste(
    commands.map(({ text }) => text),
    folder,
  );
  let at = -1;
  for (const { language, text } of blocks) {
    if (language === 'sh') at += 1;
    if (language !== 'text') continue;
    for (const line of text.trim().split('\n')) expect(printed[at]).toContain(line);
  }
});

it('the option that a page shows is one that the provider takes', () => {
  const [shown] = listBlocks(readPage('raise-price.md')).filter(({ language }) => language === 'ts');
  // The block is one call of `openai`, as a configuration has it.
  const call = new Function('openai', `return ${shown?.text.trim().replace(/;$/, '')}`);
  expect(call(openai)).toMatchObject({ name: 'openai' });
});

it('every error that a page explains is one of the gateway, with its status', () => {
  const rows = [...readPage('failed-call.md').matchAll(/^\| (\d{3}) (`.*?) \|/gm)];
  const codes = rows.flatMap(([, status = '', named = '']) =>
    [...named.matchAll(/`(\w+)`/g)].map(([, code = '']) => [code, Number(status)]),
  );
  expect(codes.length).toBeGreaterThan(3);
  const known = new Map<string, number>(errorCodes.map((code) => [code, errorTable[code].status]));
  expect(codes.filter(([code, status]) => known.get(String(code)) !== status)).toEqual([]);
});

it('the programs of others are asked for what exists', async () => {
  const [block] = listBlocks(readPage('kubernetes.md')).filter(({ text }) => text.startsWith('docker build'));
  const [printed] = await paste([block?.text ?? ''], openFolder(join(shared, 'data')));
  expect(printed).toContain('docker build --file examples/deploy/Dockerfile');
  const wrong = paste(['docker build --file examples/deploy/Nofile'], openFolder(join(shared, 'data')));
  await expect(wrong).rejects.toThrow('the commands failed');
});

it('every address that a page gives to a client answers with its models', async () => {
  const all = asked.flatMap((page) => readPage(page).match(/http:\/\/127\.0\.0\.1:8787[\w./]*/g) ?? []);
  const bases = new Set(
    all.filter((url) => /:8787(\/v1|\/alpha|\/alpha\/v1|\/beta|\/beta\/v1beta)$/.test(url)),
  );
  expect(bases.size).toBeGreaterThan(3);
  for (const base of bases) {
    const here = base.replace('http://127.0.0.1:8787', gateway.url);
    const replies = await Promise.all(
      ['/models', '/v1/models', '/v1beta/models'].map((path) => fetch(here + path)),
    );
    expect(
      replies.some(({ ok }) => ok),
      base,
    ).toBe(true);
  }
});

it('every page is short and in the index, and its links lead somewhere', () => {
  const index = readPage('README.md');
  for (const page of pages) {
    const text = readPage(page);
    if (page !== 'README.md') expect(index).toContain(`](${page})`);
    expect([page, text.split('\n').length]).toEqual([
      page,
      expect.toSatisfy((lines: number) => lines >= 15 && lines <= 61),
    ]);
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)/g))
      expect(existsSync(join(pagesFolder, link)), `${page} links to ${link}`).toBe(true);
  }
});
