/**
 * Builds a gateway from its configuration: applies the plugins, opens it, and releases everything when it
 * closes.
 */
import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { Catalog } from './catalog.ts';
import { ConfigError, type Config } from './config.ts';
import type { Core } from './core.ts';
import { createDispatcher } from './dispatch.ts';
import { createHooks } from './hooks.ts';
import type { Archive } from './host/archive.ts';
import { Commands } from './host/commands.ts';
import type { Control } from './host/configuration.ts';
import type { Examination } from './host/diagnostics.ts';
import type { DocumentStore } from './host/documents.ts';
import { metrics, scrape } from './host/metrics.ts';
import { watchListing } from './host/model-discovery.ts';
import { Registry } from './host/registry.ts';
import { Resources } from './host/resources.ts';
import { freezeTaps, tappable } from './host/taps.ts';
import { configurationOf, noService, toolsOf } from './host/tools.ts';
import { BodyBudget } from './http/bodies.ts';
import { Routes } from './http/routes.ts';
import { RunningCalls } from './http/running-calls.ts';
import { sweepUploads } from './http/uploads.ts';
import {
  namingPlugin,
  reasonOf,
  type ClientAddress,
  type Credential,
  type Guard,
  type Host,
  type Keyring,
  type Plugin,
  type Readiness,
} from './plugin.ts';
import { tightenFolder } from './process/data-folder.ts';
import { workers } from './process/worker-messages.ts';
import type { Protocol } from './protocol.ts';
import type { Provider } from './provider.ts';
import { Retries } from './retries/next-attempt.ts';
import { checkRoutes, openServer, type GatewayServer } from './server.ts';
import { computeTimeouts } from './upstream/attempt-timeouts.ts';
import { ReplyBudget } from './upstream/reply-memory.ts';
import { createTargetFinder } from './upstream/targets.ts';

export interface Gateway extends Core {
  /** Lines that plugins print at the start, and example commands. */
  readonly notes: readonly string[];
  readonly examples: readonly Example[];
  readonly providers: Registry<Provider>;
  readonly keyrings: Registry<Keyring>;
  /** Plugins that are off, each with what switches it on. */
  readonly off: ReadonlyMap<string, string>;
  readonly examinations: Registry<Examination>;
  /** Data files that plugins read. A change reloads the configuration. */
  readonly files: ReadonlySet<string>;
  /** Runs the `ready` hook. Hooks cannot be tapped afterwards. */
  open(): Promise<void>;
  /** Runs the `close` hook and releases every resource. */
  close(): Promise<void>;
}

/** An example command, and what its model returns. */
interface Example {
  readonly line: string;
  readonly output: 'text' | 'image';
}

/** What plugins say about themselves when they are applied. */
interface PluginNotes {
  readonly notes: string[];
  readonly examples: Example[];
  readonly addresses: ClientAddress[];
  readonly off: Map<string, string>;
  readonly files: Set<string>;
  readonly checks: (() => void)[];
}

function noteTakers(
  { notes, examples, addresses, off, files, checks }: PluginNotes,
  plugin: Plugin,
  file: string,
  logger: Logger,
): Pick<Host, 'applied' | 'readsFrom' | 'tell' | 'off' | 'address' | 'example'> {
  return {
    applied: (check) => void checks.push(() => runNamed(plugin, 'applied', file, check)),
    readsFrom: (read) => void files.add(read),
    tell: (line) => void notes.push(line),
    off(remedy) {
      off.set(plugin.name, remedy);
      logger.debug(`off: ${remedy} to switch it on`);
    },
    address: (address) => void addresses.push(address),
    example: (line, output = 'text') => void examples.push({ line, output }),
  };
}

/** A reload finds the listener open and switches its routes once all of the configuration is ready. */
function adminOpener(
  core: Core,
  resources: Resources,
  servers: Set<GatewayServer>,
): Host['openAdminListener'] {
  return async (address) => {
    const server = await resources.open(
      'admin listener',
      address,
      (at) => openServer(core, at, 'operators'),
      (opened) => opened.close(),
    );
    servers.add(server);
    return server.url;
  };
}

type Settings = Pick<
  Core,
  'uploadFolder' | 'keepAliveEvery' | 'longestStall' | 'trustedProxies' | 'rejectsLoss' | 'timeoutsOf'
>;

function settingsOf({ dataFolder, loss, server, timeouts }: Config): Settings {
  return {
    uploadFolder: join(dataFolder, 'uploads'),
    keepAliveEvery: timeouts.keepAlive,
    longestStall: timeouts.write,
    trustedProxies: server.trustedProxies,
    rejectsLoss: loss === 'reject',
    timeoutsOf: (parsed, target) => computeTimeouts(parsed, target, timeouts),
  };
}

/** What plugins add for each other, by name. */
function createRegistries() {
  return {
    protocols: new Registry<Protocol>('protocol'),
    providers: new Registry<Provider>('provider'),
    keyrings: new Registry<Keyring>('keyring'),
    archives: new Registry<Archive>('archive'),
    credentials: new Registry<Credential>('credential'),
    guards: new Registry<Guard>('guard'),
    documents: new Registry<DocumentStore>('document store'),
    examinations: new Registry<Examination>('examination'),
  };
}

/** Applies the plugins in order. Throws a `ConfigError` that names the file and the plugin that failed. */
export function createGateway(config: Config, logger: Logger, control: Control = noService): Gateway {
  const hooks = createHooks();
  const registries = createRegistries();
  const { protocols, providers, keyrings, guards, examinations } = registries;
  const routes = new Routes();
  const commands = new Commands();
  const readiness = new Registry<Readiness>('readiness check');
  const catalog = new Catalog(config.timeouts.call);
  const resources = new Resources();
  const notes: PluginNotes = {
    notes: [],
    examples: [],
    addresses: [],
    off: new Map(),
    files: new Set(),
    checks: [],
  };
  const dispatcher = createDispatcher(config.timeouts);

  const targetsFor = createTargetFinder(catalog, protocols);

  const core: Core = {
    hooks,
    protocols,
    routes,
    commands,
    readiness,
    guards,
    catalog,
    logger,
    targetsFor,
    addresses: notes.addresses,
    callPaths: new Set(),
    calls: new RunningCalls(),
    bodies: new BodyBudget(config.server),
    replies: new ReplyBudget(config.server),
    retries: new Retries(config.retries),
    ...settingsOf(config),
  };

  const adminServers = new Set<GatewayServer>();
  let ending: NodeJS.Timeout | undefined;

  const openAdminListener = adminOpener(core, resources, adminServers);
  const configuration = configurationOf(
    config,
    control,
    { protocols, providers, keyrings, hooks },
    notes.off,
  );

  const plugins = new Set(config.plugins.map(({ name }) => name));
  for (const plugin of config.plugins) {
    const pluginLogger = logger.child({ plugin: plugin.name });
    const host: Host = {
      hooks: tappable(hooks, pluginLogger),
      plugins,
      ...registries,
      routes: routes.seenBy(plugin.name),
      familyOf: (route) => routes.ownerOf(route),
      commands: commands.seenBy(plugin.name),
      readiness: readiness.seenBy(plugin.name),
      catalog,
      metrics,
      scrape,
      workers,
      logger: pluginLogger,
      dataFolder: config.dataFolder,
      resource: resources.open,
      openAdminListener,
      ...toolsOf(core, config.server, configuration),
      ...noteTakers(notes, plugin, config.file, pluginLogger),
      discover: (provider, source) =>
        watchListing({ hooks, catalog, logger: pluginLogger, open: resources.open }, provider, source),
    };
    runNamed(plugin, 'apply', config.file, () => plugin.apply(host));
  }
  checkTogether(core, notes, config.file);
  hooks.dispatch.tapPromise({ name: 'proxy', stage: Number.MAX_SAFE_INTEGER }, dispatcher.dispatch);

  return {
    ...core,
    ...notes,
    providers,
    keyrings,
    examinations,
    async open() {
      await prepareData(config, core);
      await hooks.ready.promise().catch((error: unknown) => Promise.reject(withFile(config.file, error)));
      freezeTaps(hooks);
      for (const server of adminServers) server.serve(core);
      ending = setInterval(() => core.calls.endOlderThan(config.timeouts.call), 1000).unref();
    },
    async close() {
      clearInterval(ending);
      await hooks.close.promise();
      await resources.release();
      await dispatcher.close();
    },
  };
}

async function prepareData({ dataFolder }: Config, { uploadFolder }: Core): Promise<void> {
  tightenFolder(dataFolder);
  await sweepUploads(uploadFolder);
}

/** Names the plugin and the file in an error. */
function runNamed(plugin: Plugin, what: string, file: string, action: () => unknown): void {
  try {
    const result = action();
    if (!(result instanceof Promise)) return;
    // A later rejection would end the process.
    result.catch(() => undefined);
    throw new Error(
      `"${what}" returned a promise, which is not awaited; put slow work into the hook "ready"`,
    );
  } catch (error) {
    throw withFile(file, namingPlugin(plugin.name, error));
  }
}

/** Checks what only all plugins together can get wrong. */
function checkTogether(core: Core, { checks }: PluginNotes, file: string): void {
  for (const check of checks) check();
  try {
    checkFlags(core);
    checkRoutes(core);
  } catch (error) {
    throw withFile(file, error);
  }
}

/** A protocol without a schema allows no flags: what it does not know, it could not honour. */
function checkFlags({ catalog, protocols }: Core): void {
  const none = z.strictObject({});
  catalog.checkFlags(
    new Map([...protocols.all()].map(({ name, capabilities = none }) => [name, capabilities])),
  );
}

function withFile(file: string, error: unknown): ConfigError {
  return new ConfigError(`${file}: ${reasonOf(error)}`, { cause: error });
}
