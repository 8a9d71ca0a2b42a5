/**
 * A running gateway. A reload opens the new configuration next to the old one, switches the listener to it
 * with the next request, and closes the old one after its last call. A configuration that does not load is
 * refused and changes nothing. Stopping lets running calls finish for a while, then ends them in their own
 * protocol.
 */
import { existsSync, type FSWatcher, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { type Gateway, createGateway } from '../gateway.ts';
import { workers } from '../host/workers.ts';
import type { Control, Reloaded } from '../operations.ts';
import { type GatewayServer, openServer } from '../server.ts';
import { getMessage } from '../util/errors.ts';
import { releaseSoon } from '../util/memory.ts';
import { hideSecrets } from '../util/text.ts';
import { withTimeout } from '../util/timeouts.ts';
import { loadConfig } from './load-config.ts';
import { ownModules } from './self-resolution.ts';

export type Service = Awaited<ReturnType<typeof serve>>;

/** Asks another worker to read the configuration again too. */
const reloading = 'core:reload';

type Outcome = Omit<Reloaded, 'workers'>;

/** Milliseconds in which requests may still arrive on connections that were accepted before a stop. */
const grace = 500;
/** Milliseconds to send and settle the ends of calls that had to be cut. */
const longestEnd = 6000;
/** Milliseconds for plugins to write what waits, and to close. */
const longestClose = 5000;

async function openGateway(config: Config, logger: Logger, control: Control): Promise<Gateway> {
  const gateway = createGateway(config, logger, control);
  try {
    await gateway.open();
    return gateway;
  } catch (error) {
    await gateway.close();
    throw error;
  }
}

/**
 * Closes a replaced configuration after its last call. V8 would keep its 2 MB until it collects much more.
 * Node keeps only the module of each reading, 80 kB.
 */
async function leave(old: Gateway, logger: Logger): Promise<void> {
  try {
    await old.calls.waitForIdle();
    await old.close();
    releaseSoon();
  } catch (error) {
    logger.error({ error }, 'the old configuration could not be closed');
  }
}

function queueRuns<Result>(work: () => Promise<Result>) {
  let running: Promise<unknown> = Promise.resolve();
  let waiting: Promise<Result> | undefined;
  return {
    /** Runs after what runs now. Callers before it begins share the run. */
    run(): Promise<Result> {
      waiting ??= running.then(() => {
        waiting = undefined;
        const current = work();
        running = current;
        return current;
      });
      return waiting;
    },
    waitForIdle: (): Promise<unknown> => running,
  };
}

async function reloadEverywhere(reloads: ReturnType<typeof queueRuns<Outcome>>): Promise<Reloaded> {
  const outcome = await reloads.run();
  const others = outcome.ok ? await workers.askForAllAnswers(reloading, {}) : [];
  return { ...outcome, workers: others.length };
}

/** Lets running calls finish for a while, then ends them, and closes the listener. */
async function endCalls(
  gateways: readonly Gateway[],
  server: GatewayServer,
  patience: number,
): Promise<void> {
  const all = gateways.map(({ calls }) => calls);
  for (const calls of all) calls.stopping = true;
  const closed = server.close(grace);
  await withTimeout(closed, grace);
  await withTimeout(Promise.all(all.map((calls) => calls.waitForIdle())), patience);
  for (const calls of all) calls.stop();
  await withTimeout(closed, longestEnd);
  server.disconnect();
}

async function closeInTime(gateway: Gateway, logger: Logger): Promise<void> {
  const closed = gateway.close().then(() => true);
  if (await withTimeout(closed, longestClose)) return;
  logger.error(`the gateway ends although a plugin did not close within ${longestClose / 1000} s`);
}

function refuseConfig(error: unknown, logger: Logger): Outcome {
  const fault = hideSecrets(getMessage(error));
  logger.error({ fault }, 'the new configuration was refused and the old one stays');
  return { ok: false, fault, waiting: [] };
}

/** Settings of a new configuration that change only with the next start. */
function listUnchangeable(before: Config['server'], after: Config['server']): string[] {
  return (['host', 'port', 'maxConnections', 'workers'] as const)
    .filter((name) => before[name] !== after[name])
    .map((name) => `server.${name}`);
}

/** Reads a configuration file, and says what a gateway would make of it. */
async function tryConfig(first: Config, file: string, logger: Logger): ReturnType<Control['read']> {
  const next = await loadConfig(file);
  const trial = createGateway(next, logger);
  try {
    await trial.check();
    const [facts, faults] = [trial.describe(), await trial.findUnreadable()];
    const warnings = [...facts.warnings, ...faults];
    return { ...facts, warnings, waiting: listUnchangeable(first.server, next.server) };
  } finally {
    await trial.close();
  }
}

/** Without those that are gone: Kubernetes puts each version of a configuration into a folder of its own. */
function listOwnModules(): string[] {
  return [...ownModules].filter((file) => existsSync(file));
}

/** Opens the gateway of a configuration. Throws if it cannot. */
export async function serve(first: Config, logger: Logger) {
  let config = first;
  const control: Control = {
    workers: first.server.workers,
    read: () => tryConfig(first, config.file, logger),
    reload: () => reloadEverywhere(reloads),
  };
  let gateway = await openGateway(config, logger, control);
  const server = await openServer(gateway, config.server);
  /** Replaced configurations that still have calls, each with its end. */
  const leaving = new Map<Gateway, Promise<void>>();
  let stopping = false;
  const listFiles = (): string[] => [config.file, ...listOwnModules(), ...gateway.files];
  const watcher = watchFiles(listFiles(), () => void reload(), logger);

  async function replace(): Promise<Outcome> {
    try {
      watcher.noteReading();
      const next = await loadConfig(config.file);
      const opened = await openGateway(next, logger, control);
      if (stopping) {
        await opened.close();
        return { ok: false, fault: 'The gateway is stopping.', waiting: [] };
      }
      const later = listUnchangeable(first.server, next.server);
      if (later.length > 0) logger.warn(`${later.join(', ')} will change with the next start`);
      const old = gateway;
      gateway = opened;
      config = next;
      server.serve(gateway);
      watcher.watch(listFiles());
      leaving.set(
        old,
        leave(old, logger).then(() => void leaving.delete(old)),
      );
      logger.info('the configuration was read again');
      return { ok: true, fault: undefined, waiting: later };
    } catch (error) {
      return refuseConfig(error, logger);
    }
  }

  const reloads = queueRuns(replace);
  const reload = async (): Promise<boolean> => (await reloads.run()).ok;
  const stopAnswering = workers.answer(reloading, () => {
    void reload();
    return true;
  });

  return {
    url: server.url,
    /** The gateway it started with. */
    first: gateway,
    /** Whether the new configuration is in service. Callers meanwhile share the next run. */
    reload,
    /** Fails readiness at once, lets calls finish, settles the ledger, and closes everything. */
    async stop(): Promise<void> {
      stopping = true;
      stopAnswering();
      watcher.close();
      // Calls of replaced configurations may finish too.
      await endCalls([gateway, ...leaving.keys()], server, config.server.drain);
      await withTimeout(Promise.all([reloads.waitForIdle(), ...leaving.values()]), longestEnd);
      await closeInTime(gateway, logger);
    },
  };
}

/** Milliseconds of quiet after a change: files are often written in several steps. */
const quiet = 100;

/** Identifies a version of a file; undefined while it does not exist. */
function readState(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && `${found.mtimeMs} ${found.ino} ${found.size}`;
}

export function watchFiles(files: readonly string[], onChange: () => void, logger: Logger) {
  const states = new Map<string, string | undefined>();
  const folders = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    let changed = false;
    for (const [file, before] of states) {
      const now = readState(file);
      if (now === before || now === undefined) continue;
      states.set(file, now);
      changed = true;
    }
    if (changed) onChange();
  }

  function lookSoon(): void {
    clearTimeout(timer);
    timer = setTimeout(look, quiet).unref();
  }

  /** A folder that cannot be watched does not stop the gateway. SIGHUP still works. */
  function watchFolder(folder: string): void {
    const logFailure = (error: unknown): void =>
      logger.warn({ error, folder }, 'changes here are not seen; send SIGHUP after one');
    try {
      folders.set(folder, watch(folder, { persistent: false }, lookSoon).on('error', logFailure));
    } catch (error) {
      logFailure(error);
    }
  }

  function follow(next: readonly string[]): void {
    const wanted = new Set(next.map((file) => dirname(file)));
    for (const [folder, watcher] of folders) {
      if (wanted.has(folder)) continue;
      watcher.close();
      folders.delete(folder);
    }
    for (const folder of wanted) if (!folders.has(folder)) watchFolder(folder);
    const before = new Map(states);
    states.clear();
    for (const file of next) states.set(file, before.get(file) ?? readState(file));
  }

  follow(files);
  return {
    /** Watches these files and no others from now on. */
    watch: follow,
    /** The files are about to be read: only later changes count. */
    noteReading(): void {
      for (const file of states.keys()) states.set(file, readState(file));
    },
    close(): void {
      clearTimeout(timer);
      follow([]);
    },
  };
}
