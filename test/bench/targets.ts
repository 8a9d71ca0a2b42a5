/**
 * What is measured side by side: the vendor itself, the bare proxy and Tollgate as it is delivered. Each is a
 * process of its own in front of the same vendor.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../support/free-port.ts';
import { calls, type Call } from './payload.ts';
import { run, start, type Program, type Started } from './processes.ts';

export interface Target {
  readonly name: string;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The process whose time, memory and reads are counted. */
  readonly pid: number;
  /** Milliseconds each of several starts took; empty for the vendor. */
  readonly startups: readonly number[];
  /** Whether it takes calls in another protocol than its vendor's. */
  readonly translates?: boolean;
  /** The model it serves streams as, if not the one of the call. */
  readonly streamedModel?: string;
  /** Where its metrics are. */
  readonly metrics?: string;
  /** The folder its ledger is in. */
  readonly data?: string;
}

/** Where things are: the vendor, the run's own folder, the project. */
export interface Place {
  readonly vendor: string;
  readonly folder: string;
  readonly project: string;
  /** The configuration to run, if not the delivered one. */
  readonly config?: string;
  /** How often it is started, if not as often as `BENCH_STARTS` says. */
  readonly starts?: number;
  /** The machine's address, and the program that runs Node there, unless it is this one. */
  readonly address?: string;
  readonly node?: string;
  /** Further variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

const usualStarts = Number(process.env.BENCH_STARTS ?? 5);
export const vendorKey = 'sk-vendor';

/** Starts a program a few times for the time it takes, and leaves the last one running. */
async function startRepeatedly(
  program: (attempt: number) => Program,
  starts = usualStarts,
): Promise<Started & { startups: number[] }> {
  const startups: number[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const started = await start(program(attempt));
    startups.push(started.startup);
    if (attempt === starts) return { ...started, startups };
    await started.stop();
  }
}

/** The call as a target takes it. */
export function adaptCall(call: Call, { streamedModel }: Target): Call {
  if (call !== calls.stream || streamedModel === undefined) return call;
  return { ...call, body: JSON.stringify({ ...JSON.parse(call.body), model: streamedModel }) };
}

export function toDirectTarget(vendor: Started & { origin: string }): Target {
  return {
    name: 'direct',
    origin: vendor.origin,
    headers: { authorization: `Bearer ${vendorKey}` },
    pid: vendor.pid,
    startups: [],
  };
}

export async function startBare({ vendor, folder, project }: Place): Promise<Target> {
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const args = [join(project, 'test/bench/bare.ts'), String(port), vendor];
  const started = await startRepeatedly(() => ({
    command: process.execPath,
    args,
    origin,
    log: join(folder, 'bare.log'),
  }));
  return {
    name: 'bare',
    origin,
    headers: { authorization: `Bearer ${vendorKey}` },
    pid: started.pid,
    startups: started.startups,
  };
}

/** As it is delivered: default configuration, keys checked, ledger on disk, metrics on. */
export async function startTollgate({
  vendor,
  folder,
  project,
  config,
  starts = usualStarts,
  address = '127.0.0.1',
  node: command = process.execPath,
  env,
}: Place): Promise<Target> {
  const port = await findFreePort();
  const origin = `http://${address}:${port}`;
  const cli = join(project, 'core/cli.js');
  const toDataFolder = (attempt: number): string => join(folder, `data-${attempt}`);
  const buildEnvironment = (attempt: number): Record<string, string> => ({
    PORT: String(port),
    HOST: address,
    TOLLGATE_DATA: toDataFolder(attempt),
    TOLLGATE_CONFIG: config ?? join(project, 'gateway.config.ts'),
    OPENAI_API_KEY: vendorKey,
    OPENAI_BASE_URL: `${vendor}/v1`,
    DEEPSEEK_API_KEY: vendorKey,
    DEEPSEEK_BASE_URL: `${vendor}/v1`,
    ...env,
  });
  for (let attempt = 1; attempt <= starts; attempt += 1) mkdirSync(toDataFolder(attempt));
  const printed = await run(command, [cli, 'keys', 'create', '--credit', '1000000', '--json'], {
    env: buildEnvironment(starts),
    cwd: project,
  });
  const created: unknown = JSON.parse(printed);
  if (typeof created !== 'object' || created === null || !('key' in created))
    throw new Error(`keys create printed no key: ${printed}`);
  const log = join(folder, 'tollgate.log');
  const started = await startRepeatedly(
    (attempt) => ({
      command,
      args: [cli, 'start'],
      env: buildEnvironment(attempt),
      cwd: project,
      origin,
      log,
    }),
    starts,
  );
  return {
    name: 'tollgate',
    origin,
    headers: { authorization: `Bearer ${String(created.key)}` },
    pid: started.pid,
    startups: started.startups,
    translates: true,
    metrics: `${origin}/metrics`,
    data: toDataFolder(starts),
  };
}
