/**
 * Runs commands of the command line one after the other in this process: a process for each takes ten times
 * as long. A line of JSON on stdin is a command. What it prints ends with a zero byte on both outputs, with
 * its exit code on stdout.
 */
import { setMaxListeners } from 'node:events';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { resolveQuickly } from '../../core/cli/quick-resolution.ts';

const root = join(import.meta.dirname, '../..');

interface Order {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
}

const { directory } = enableCompileCache();
resolveQuickly();
// Each command listens to these.
setMaxListeners(0, process, process.stdout, process.stderr);
let ran = 0;

/** A command that exits throws instead, and prints nothing more, because this process goes on. */
let exited = false;
const exit = process.exit.bind(process);
const writeError = process.stderr.write.bind(process.stderr);
process.exit = (code) => {
  if (!exited && code !== undefined) process.exitCode = code;
  exited = true;
  throw new Error('the command exits');
};
process.stderr.write = new Proxy(writeError, {
  apply: (write, _, words: Parameters<typeof writeError>) => exited || write(...words),
});

for await (const line of createInterface({ input: process.stdin })) {
  const { words, environment, folder }: Order = JSON.parse(line);
  ran += 1;
  for (const name of Object.keys(process.env))
    if (!Object.hasOwn(environment, name)) delete process.env[name];
  // Threads read the cache's folder from the environment.
  Object.assign(process.env, directory && { NODE_COMPILE_CACHE: directory }, environment);
  process.chdir(folder);
  process.argv = [process.execPath, join(root, 'core/cli.js'), ...words];
  process.exitCode = 0;
  exited = false;
  // It runs when it is loaded, so each run loads it under a name of its own.
  await import(`../../core/cli/command-line.ts?run=${ran}`).catch((error: unknown) => {
    if (!exited) throw error;
  });
  writeError('\0');
  process.stdout.write(`\0${process.exitCode}\0`);
}
// What commands left open may not keep the process.
exit(0);
