/**
 * A gateway in service. Its configuration can be replaced while it runs: the new one is made ready beside the
 * old, the door turns to it with the next request, and the old one goes with its last call. One that does not
 * load is refused and changes nothing. Stopping lets running calls finish for a while, then ends them in
 * their own protocol.
 */
import type { Logger } from 'pino';
import { loadConfig, type Config } from '../config.ts';
import { createGateway, type Gateway } from '../gateway.ts';
import { openServer } from '../server.ts';
import { withTimeout } from '../util/timeouts.ts';
import { watchFiles } from './watch.ts';

export interface Service {
  readonly url: string;
  /** The gateway it began with: what there is to tell whoever started it. */
  readonly first: Gateway;
  /**
   * Reads the configuration again; answers whether the new one is in service. Calls that come while it works
   * share its next run.
   */
  reload(): Promise<boolean>;
  /** Red at once, calls finish, the ledger is settled; resolves when all is let go of. */
  stop(): Promise<void>;
}

/** Milliseconds the ends of calls that had to be broken off may take to be sent and settled. */
const longestEnd = 6000;

async function openGateway(config: Config, logger: Logger): Promise<Gateway> {
  const gateway = createGateway(config, logger);
  try {
    await gateway.open();
    return gateway;
  } catch (error) {
    await gateway.close();
    throw error;
  }
}

/** What of a new configuration has to wait for the next start, as it is called there. */
function unchangeable(before: Config['server'], after: Config['server']): string[] {
  return (['host', 'port', 'maxConnections', 'workers'] as const)
    .filter((name) => before[name] !== after[name])
    .map((name) => `server.${name}`);
}

/** A configuration that was replaced goes with its last call. */
async function leave(old: Gateway, logger: Logger): Promise<void> {
  try {
    await old.calls.whenIdle();
    await old.close();
  } catch (error) {
    logger.error({ error }, 'the old configuration could not be let go of');
  }
}

/** Opens the gateway of a configuration. Throws where it cannot be. */
export async function serve(first: Config, logger: Logger): Promise<Service> {
  let config = first;
  let gateway = await openGateway(config, logger);
  const server = await openServer(gateway, config.server);
  /** Configurations that were replaced and still have calls, each with its end. */
  const leaving = new Map<Gateway, Promise<void>>();
  let stopping = false;
  const filesOf = (): string[] => [config.file, ...gateway.files];
  const watcher = watchFiles(filesOf(), () => void reload(), logger);

  async function replace(): Promise<boolean> {
    try {
      watcher.reading();
      const next = await loadConfig(config.file);
      const opened = await openGateway(next, logger);
      if (stopping) {
        await opened.close();
        return false;
      }
      const staying = unchangeable(first.server, next.server);
      if (staying.length > 0) logger.warn(`${staying.join(', ')} will change with the next start`);
      const old = gateway;
      gateway = opened;
      config = next;
      server.serve(gateway);
      watcher.watch(filesOf());
      leaving.set(
        old,
        leave(old, logger).then(() => void leaving.delete(old)),
      );
      logger.info('the configuration was read again');
      return true;
    } catch (error) {
      logger.error({ error }, 'the new configuration is refused and the old one stays');
      return false;
    }
  }

  let running = Promise.resolve(true);
  let waiting: Promise<boolean> | undefined;

  function reload(): Promise<boolean> {
    waiting ??= running.then(() => {
      waiting = undefined;
      running = replace();
      return running;
    });
    return waiting;
  }

  return {
    url: server.url,
    first: gateway,
    reload,
    async stop() {
      stopping = true;
      watcher.close();
      // Calls of configurations that were replaced have the same right to their end.
      const all = [gateway, ...leaving.keys()].map(({ calls }) => calls);
      for (const calls of all) calls.draining = true;
      const closed = server.close();
      await withTimeout(Promise.all(all.map((calls) => calls.whenIdle())), config.server.drain);
      for (const calls of all) calls.stop();
      await withTimeout(closed, longestEnd);
      server.disconnect();
      await withTimeout(Promise.all([running, ...leaving.values()]), longestEnd);
      await gateway.close();
    },
  };
}
