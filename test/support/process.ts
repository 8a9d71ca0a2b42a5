/** The gateway as a user runs it: a process of its own, started from the command line. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { closeInTime } from './closing.ts';
import { findFreePort } from './free-port.ts';

export { makeFolder as makeDataFolder } from './folder.ts';

const root = join(import.meta.dirname, '../..');

export interface Finished {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

export interface RunningGateway {
  readonly url: string;
  readonly child: ChildProcess;
  /** What it has printed so far. */
  printed(): string;
  /** Sends a signal, and resolves when the process is gone. */
  stop(signal: NodeJS.Signals): Promise<Finished>;
}

/** Which copy of the program runs, and where. */
export interface Copy {
  readonly entry: string;
  readonly folder: string;
  /** Its limit of open files, if lower than the test's own. */
  readonly openFiles?: number;
  /** The Node that runs it, if not the one that runs the test. */
  readonly node?: string;
}

export const clone: Copy = { entry: join(root, 'core/cli.js'), folder: root };

function launch(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  { entry, folder, openFiles, node = process.execPath }: Copy,
): { child: ChildProcess; finished: Promise<Finished>; printed: () => string } {
  const { PATH = '', HOME = '', NODE_OPTIONS = '' } = process.env;
  const command = [node, entry, ...words];
  const [program = '', ...parts] =
    openFiles === undefined
      ? command
      : ['bash', '-c', 'ulimit -n "$0"; exec "$@"', String(openFiles), ...command];
  const child = spawn(program, parts, { cwd: folder, env: { PATH, HOME, NODE_OPTIONS, ...environment } });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const finished = once(child, 'close').then(([code]: unknown[]) => ({
    code: typeof code === 'number' ? code : null,
    output,
    errors,
  }));
  return { child, finished, printed: () => output + errors };
}

/** Runs a command to its end, in a process of its own. */
export function runAlone(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  copy = clone,
): Promise<Finished> {
  return launch(words, environment, copy).finished;
}

/** By the Node that runs them. */
const shells = new Map<string, ChildProcess>();
let last: Promise<unknown> = Promise.resolve();

/** A process that runs commands for this one, and ends with it. */
function openShell(node: string): ChildProcess {
  const { PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(node, [join(import.meta.dirname, 'command-shell.ts')], {
    cwd: root,
    env: { PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE },
  });
  for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8');
  child.once('close', () => shells.delete(node));
  shells.set(node, child);
  return child;
}

/** While nothing runs in the shell, this process may end. */
function hold(child: ChildProcess, isHeld: boolean): void {
  for (const part of [child, ...child.stdio])
    if (part === child || part instanceof Socket) part[isHeld ? 'ref' : 'unref']();
}

/** Runs a command in the shell, and reads what it prints. It is over when it says so, or ends the shell. */
function order(child: ChildProcess, command: object): Promise<Finished> {
  const { promise, resolve } = Promise.withResolvers<Finished>();
  const { stdin, stdout, stderr } = child;
  let [output, errors] = ['', ''];
  const look = (): void => {
    const [, printed, code] = /^([^\0]*)\0(\d+)\0$/.exec(output) ?? [];
    if (printed !== undefined && errors.endsWith('\0'))
      resolve({ code: Number(code), output: printed, errors: errors.slice(0, -1) });
  };
  const readOutput = (chunk: unknown): void => void ((output += String(chunk)), look());
  const readErrors = (chunk: unknown): void => void ((errors += String(chunk)), look());
  const end = (code: number | null): void => resolve({ code, output, errors });
  stdout?.on('data', readOutput);
  stderr?.on('data', readErrors);
  child.once('close', end);
  hold(child, true);
  stdin?.write(`${JSON.stringify(command)}\n`);
  return promise.finally(() => {
    hold(child, false);
    child.off('close', end);
    stdout?.off('data', readOutput);
    stderr?.off('data', readErrors);
  });
}

/**
 * Runs a command to its end, in a process beside the gateway. The commands of all tests share the process,
 * since a start takes longer than most commands. What depends on the start itself needs `runAlone`.
 */
export function runVerb(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  { folder, node = process.execPath }: Pick<Copy, 'folder' | 'node'> = clone,
): Promise<Finished> {
  const { PATH = '', HOME = '', NODE_OPTIONS = '' } = process.env;
  const command = { words, environment: { PATH, HOME, NODE_OPTIONS, ...environment }, folder };
  const finished = last.then(() => order(shells.get(node) ?? openShell(node), command));
  last = finished.catch(() => undefined);
  return finished;
}

/** Starts `tollgate start` on free ports and waits until it is ready. It ends with its test or file. */
export async function startProcess(
  environment: Readonly<Record<string, string>> = {},
  copy = clone,
): Promise<RunningGateway> {
  const { child, finished, printed } = launch(
    ['start'],
    { PORT: String(await findFreePort()), TOLLGATE_ADMIN_PORT: '0', ...environment },
    copy,
  );
  closeInTime(async () => {
    child.kill('SIGKILL');
    await finished;
  });
  const ready = new Promise<string>((resolve, reject) => {
    const look = (): void => {
      const [, url] = /is ready at (\S+)/.exec(printed()) ?? [];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.on('data', look);
    void finished.then(({ errors }) => reject(new Error(`it ended before it was ready: ${errors}`)));
  });
  return {
    url: await ready,
    child,
    printed,
    stop(signal) {
      child.kill(signal);
      return finished;
    },
  };
}
