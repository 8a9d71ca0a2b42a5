/**
 * Child processes and what the kernel says of them. Everything started here is stopped when the run ends,
 * however it ends.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const running = new Set<ChildProcess>();
/** Milliseconds a process is given to end by itself. */
const longestStop = 3000;

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface Started {
  readonly pid: number;
  /** Milliseconds from the start of the process to the first 200 of its `/healthz`. */
  readonly startup: number;
  stop(): Promise<void>;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Where it answers; asked for `/healthz` unless `health` says otherwise. */
  readonly origin: string;
  readonly health?: string;
  /** A file for what it prints. */
  readonly log: string;
}

/** The status of a GET, or undefined if nothing answers. */
function fetchStatus(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 1000 }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', () => resolve(undefined)).on('timeout', () => request.destroy());
  });
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const patience = setTimeout(() => child.kill('SIGKILL'), longestStop);
  await ended;
  clearTimeout(patience);
}

/** Starts a program and waits until it answers. Throws with what it printed where it does not. */
export async function start(program: Program): Promise<Started> {
  const log = openSync(program.log, 'a');
  const began = performance.now();
  const child = spawn(program.command, program.args, {
    stdio: ['ignore', log, log],
    cwd: program.cwd,
    env: { ...process.env, ...program.env },
  });
  closeSync(log);
  running.add(child);
  child.once('exit', () => running.delete(child));
  const failures: string[] = [];
  child
    .once('error', (error) => failures.push(String(error)))
    .once('exit', (code) => failures.push(`exited with code ${code}`));
  const health = program.origin + (program.health ?? '/healthz');
  while (!failures.length && performance.now() - began < 30_000) {
    const answered = (await fetchStatus(health)) === 200;
    if (answered && child.pid !== undefined)
      return { pid: child.pid, startup: performance.now() - began, stop: () => stop(child) };
    await sleep(2);
  }
  await stop(child);
  const printed = readFileSync(program.log, 'utf8').slice(-2000);
  throw new Error(
    `${program.command} ${program.args.join(' ')}: ${failures[0] ?? 'no answer in 30 s'}\n${printed}`,
  );
}

/** Runs a command to its end and gives what it printed. Throws where it fails. */
export async function run(
  command: string,
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<string> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
  });
  running.add(child);
  const parts: { out: string; err: string } = { out: '', err: '' };
  child.stdout.on('data', (text) => (parts.out += String(text)));
  child.stderr.on('data', (text) => (parts.err += String(text)));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  running.delete(child);
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${code}\n${parts.out}${parts.err}`);
  return parts.out;
}

/** Stops whatever still runs. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running].map(stop));
}

export interface Usage {
  /** Seconds of processor time of all threads, in user and kernel mode. */
  readonly cpu: number;
  /** The same of the children it has seen the end of. */
  readonly children: number;
  /** Calls to read and its kin, by which libuv takes bytes from a socket. */
  readonly reads: number;
}

const ticksPerSecond = 100;

export function readUsage(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the name in brackets, which may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const reads = /^syscr: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1];
  const [user, kernel, childUser, childKernel] = fields
    .slice(11, 15)
    .map((ticks) => Number(ticks) / ticksPerSecond);
  return {
    cpu: (user ?? NaN) + (kernel ?? NaN),
    children: (childUser ?? NaN) + (childKernel ?? NaN),
    reads: Number(reads),
  };
}

/**
 * Seconds the machine's processors were busy, with interrupts, and with what the host gave to other machines.
 */
export function readMachineTime(): number {
  const [user, nice, kernel, , , interrupts, softInterrupts, stolen] = readFileSync('/proc/stat', 'utf8')
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  return (
    [user, nice, kernel, interrupts, softInterrupts, stolen].reduce<number>(
      (sum, ticks) => sum + (ticks ?? NaN),
      0,
    ) / ticksPerSecond
  );
}

/** Megabytes of memory a process holds. */
export function readMemory(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}
