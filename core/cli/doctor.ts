/**
 * `tollgate doctor` checks whether this machine, the configuration, the ledger and the providers are fit to
 * serve. It changes nothing, works next to a running gateway, and says how to fix each fault.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { createGateway, type Gateway } from '../gateway.ts';
import { checkConnections, readOpenFilesLimit } from '../http/open-files.ts';
import type { Finding } from '../plugin.ts';
import { ConfigError, getMessage, readSystemCode } from '../util/errors.ts';
import { foreign, isOwn, isShared, listContents, readStats } from '../util/private-files.ts';
import { toOneLine } from '../util/text.ts';
import { loadConfig, nameOption } from './load-config.ts';

function buildFinding(subject: string, state: Finding['state'], message: string, remedy?: string): Finding {
  return { subject, state, message, ...(remedy === undefined ? {} : { remedy }) };
}

type Diagnosis = Awaited<ReturnType<typeof diagnose>>;

/** With fewer files than this, hardly anything works. */
const leastDescriptors = 1024;

function examineDescriptors(maxConnections: number): Finding {
  const files = readOpenFilesLimit();
  if (files === undefined)
    return buildFinding('descriptors', 'note', 'this system does not say how many files may be open');
  const limit = files === Infinity ? 'any number of' : files;
  const message = `${limit} files and connections may be open, for ${maxConnections} clients at once`;
  const fault = checkConnections(maxConnections, files);
  if (files >= leastDescriptors)
    return buildFinding('descriptors', fault === undefined ? 'well' : 'note', message, fault);
  const remedy = `raise the limit to ${leastDescriptors} or more (ulimit -n, or LimitNOFILE of the service)`;
  return buildFinding('descriptors', 'fault', message, fault ?? remedy);
}

/**
 * The data folder holds the ledger and the operators' secret, so only the gateway's own user may read it. A
 * start tightens the rights of existing files that this user owns. A folder that belongs to others, or that
 * serves other purposes too, stays as it is.
 */
export function examineRights({ dataFolder, file }: Pick<Config, 'dataFolder' | 'file'>): Finding[] {
  const folder = resolve(dataFolder);
  const facts = readStats(folder);
  if (!facts?.isDirectory() || !process.getuid) return [];
  const [first, ...others] = [folder, ...listContents(folder)].filter(
    (each) => ((readStats(each)?.mode ?? 0) & foreign) !== 0,
  );
  if (first === undefined)
    return [buildFinding('rights', 'well', `only their owner can read ${folder} and its files`)];
  const more = others.length > 0 ? ` and ${others.length} more of the data folder` : '';
  const note = (remedy: string): Finding[] => [
    buildFinding('rights', 'note', `other users of this machine may open ${first}${more}`, remedy),
  ];
  if (isShared(folder, facts))
    return note(`it serves other purposes too: set ${nameOption(file, 'dataFolder')} to a folder of its own`);
  return note(
    isOwn(facts)
      ? 'the next start removes these rights'
      : `give the folder to the user who runs the gateway, and run chmod -R go= ${folder}`,
  );
}

/** Milliseconds that a disk may take to sync a few bytes. A call waits for it twice. */
const slowSync = 20;
const uselessSync = 200;
const rounds = 15;

async function measureSyncTimes(file: string): Promise<number[]> {
  const handle = await open(file, 'w');
  try {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const began = performance.now();
      await handle.write(Buffer.alloc(4096, round));
      await handle.datasync();
      times.push(performance.now() - began);
    }
    return times.toSorted((first, second) => first - second);
  } finally {
    await handle.close();
    await rm(file, { force: true });
  }
}

/** Remedies for an unwritable folder whose rights are fine. */
const diskRemedies = new Map([
  ['ENOSPC', 'make room on its disk'],
  ['EDQUOT', 'free space, or raise the quota of the user who runs the gateway'],
  ['EROFS', 'mount its disk writable'],
  ['ENOTDIR', "a file has the folder's path: move it"],
  ['EEXIST', "a file has the folder's path: move it"],
]);

/** The folder, or the one in which a start will make it. */
function findExisting(folder: string): string {
  return existsSync(folder) ? folder : findExisting(dirname(folder));
}

async function examineDisk({ dataFolder, file }: Config): Promise<Finding> {
  const folder = findExisting(resolve(dataFolder));
  const option = nameOption(file, 'dataFolder');
  try {
    const median =
      (await measureSyncTimes(join(folder, `.doctor-${process.pid}`)))[Math.floor(rounds / 2)] ?? 0;
    const message = `${folder} syncs writes in ${median.toFixed(1)} ms`;
    if (median <= slowSync) return buildFinding('disk', 'well', message);
    const remedy = `with a SQLite ledger each call waits for two syncs: put ${option} on a local disk`;
    return buildFinding('disk', median > uselessSync ? 'fault' : 'note', message, remedy);
  } catch (error) {
    const message = `${dataFolder} cannot be written: ${getMessage(error)}`;
    const remedy =
      diskRemedies.get(readSystemCode(error) ?? '') ?? 'give the folder to the user who runs the gateway';
    return buildFinding('disk', 'fault', message, `${remedy}, or set ${option} to another`);
  }
}

/** A process that answers like a gateway at the taken port is most likely this gateway. */
async function isGateway(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, {
      signal: AbortSignal.timeout(10_000),
      redirect: 'error',
    });
    return JSON.stringify(await response.json()) === '{"status":"ok"}';
  } catch {
    return false;
  }
}

async function examinePort({ server: { host, port }, file }: Config): Promise<Finding> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return buildFinding('port', 'well', `${host}:${port} is free`);
  } catch (error) {
    if (await isGateway(url))
      return buildFinding('port', 'well', `a gateway answers at ${host}:${port} already`);
    const reason = readSystemCode(error) ?? String(error);
    const portOption = nameOption(file, 'server.port');
    const remedy =
      reason === 'EADDRINUSE'
        ? `set ${portOption} to another, or stop the process that uses it`
        : `set ${nameOption(file, 'server.host')} and ${portOption} to an address of this machine`;
    return buildFinding('port', 'fault', `${host}:${port} cannot be listened on: ${reason}`, remedy);
  } finally {
    server.close();
  }
}

function examineProviders({ providers, off }: Gateway): Finding {
  const on = [...providers.list()].map(({ name }) => name);
  if (on.length > 0) return buildFinding('providers', 'well', `on: ${on.join(', ')}`);
  const remedy = [...off.values()].join('; ') || 'list one in the configuration';
  return buildFinding('providers', 'fault', 'none is on, so there are no models', remedy);
}

async function examinePlugins(config: Config, logger: Logger): Promise<Finding[]> {
  const gateway = createGateway(config, logger);
  try {
    await gateway.check();
    const examined = await Promise.all([...gateway.examinations.list()].map(({ examine }) => examine()));
    const unreadable = (await gateway.findUnreadable()).map((fault) =>
      buildFinding('secrets', 'fault', fault, 'the gateway has to be able to read it as its own user'),
    );
    return [examineProviders(gateway), ...unreadable, ...examined.flat()];
  } finally {
    await gateway.close();
  }
}

const severity = { well: 0, note: 1, fault: 2 };
/** Every provider compares its clock with ours. */
const clock = 'clock';

/** Keeps only the worst finding about our clock, or a note if no provider sent its time. */
function keepWorstClock(findings: readonly Finding[]): Finding[] {
  const [unknown, ...compared] = [
    buildFinding(clock, 'note', 'no provider answered to compare it with', "set a provider's key"),
    ...findings.filter(({ subject }) => subject === clock),
  ];
  const [worst = unknown] = compared.toSorted(
    (first, second) => severity[second.state] - severity[first.state],
  );
  return [...findings.filter(({ subject }) => subject !== clock), worst];
}

async function examineConfig(file: string, logger: Logger): Promise<Finding[]> {
  try {
    const config = await loadConfig(file);
    // First, because opening a ledger tightens its files.
    const rights = examineRights(config);
    const examined = await examinePlugins(config, logger);
    return [
      buildFinding('configuration', 'well', `${file}, ${config.plugins.length} plugins`),
      examineDescriptors(config.server.maxConnections),
      await examinePort(config),
      await examineDisk(config),
      ...rights,
      ...keepWorstClock(examined),
    ];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = 'fix it; nothing else can be checked before';
    return [buildFinding('configuration', 'fault', error.message, remedy)];
  }
}

export async function diagnose(file: string, logger: Logger) {
  // Node versions that are too old do not get this far.
  const node = buildFinding('node', 'well', process.version);
  const findings = [node, ...(await examineConfig(file, logger))];
  return { ok: findings.every(({ state }) => state !== 'fault'), findings };
}

const marks = { well: 'ok   ', note: 'note ', fault: 'FAULT' };

/** One line for each finding, and its remedy below it. */
export function formatDiagnosis({ ok, findings }: Diagnosis): string {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const lines = findings.flatMap(({ subject, state, message, remedy }) => {
    const line = `${marks[state]}  ${subject.padEnd(width)}  ${message}`;
    const lines = remedy === undefined ? [line] : [line, `${' '.repeat(width + 9)}→ ${remedy}`];
    return lines.map(toOneLine);
  });
  const faults = findings.filter(({ state }) => state === 'fault').length;
  return [
    ...lines,
    ok ? 'The gateway can serve.' : `${faults} of ${findings.length} findings are faults.`,
  ].join('\n');
}
