/** The gateway as a user runs it: a process of its own, started from the command line. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

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

/** Runs a command to its end. */
export function runVerb(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  copy = clone,
): Promise<Finished> {
  return launch(words, environment, copy).finished;
}

/** Starts `tollgate start` on free ports and waits until it is ready. */
export async function startProcess(
  environment: Readonly<Record<string, string>> = {},
  copy = clone,
): Promise<RunningGateway> {
  const { child, finished, printed } = launch(
    ['start'],
    { PORT: String(await freePort()), TOLLGATE_ADMIN_PORT: '0', ...environment },
    copy,
  );
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
