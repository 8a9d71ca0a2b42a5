/**
 * What is measured side by side: the vendor itself, the bare proxy, Tollgate as it is delivered, and, when
 * asked for, another gateway written for Node. Each is a process of its own in front of the same vendor.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../support/free-port.ts';
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
}

const usualStarts = Number(process.env.BENCH_STARTS ?? 5);
const vendorKey = 'sk-vendor';

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
}: Place): Promise<Target> {
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const command = process.execPath;
  const cli = join(project, 'core/cli.js');
  const toDataFolder = (attempt: number): string => join(folder, `data-${attempt}`);
  const buildEnvironment = (attempt: number): Record<string, string> => ({
    PORT: String(port),
    HOST: '127.0.0.1',
    TOLLGATE_DATA: toDataFolder(attempt),
    TOLLGATE_CONFIG: config ?? join(project, 'gateway.config.ts'),
    OPENAI_API_KEY: vendorKey,
    OPENAI_BASE_URL: `${vendor}/v1`,
    DEEPSEEK_API_KEY: vendorKey,
    DEEPSEEK_BASE_URL: `${vendor}/v1`,
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

/**
 * With the newest of what it depends on its streams fail (Portkey-AI/gateway issue 1389); with these they
 * work.
 */
const portkeyPackage = {
  private: true,
  dependencies: { '@portkey-ai/gateway': '1.15.2' },
  overrides: { '@hono/node-server': '1.3.3', hono: '4.9.7' },
};

/** The other gateway for Node that is widely used, fetched from npm into the run's folder. */
export async function startPortkey({ vendor, folder }: Place): Promise<Target> {
  const home = join(folder, 'portkey');
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), JSON.stringify(portkeyPackage));
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: home });
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const args = [
    join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
    `--port=${port}`,
    '--headless',
  ];
  const env = { TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost', NODE_ENV: 'production' };
  const log = join(folder, 'portkey.log');
  const started = await startRepeatedly(() => ({
    command: process.execPath,
    args,
    env,
    cwd: home,
    origin,
    health: '/',
    log,
  }));
  // The vendor tells streams by `accept`, which is forwarded only when asked for.
  const headers = {
    authorization: `Bearer ${vendorKey}`,
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${vendor}/v1`,
    'x-portkey-forward-headers': 'accept',
  };
  return { name: 'portkey', origin, headers, pid: started.pid, startups: started.startups };
}
