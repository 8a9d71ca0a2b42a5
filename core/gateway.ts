/**
 * Builds a gateway from its configuration: applies the plugins, opens it, and releases everything when it
 * closes. The HTTP server and the proxy are loaded only to check or open it: they take a fifth of the time of
 * a command.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import { Catalog } from './catalog.ts';
import type { Config } from './config.ts';
import type { Core } from './core.ts';
import type { Dispatcher } from './dispatch.ts';
import { createHooks } from './hooks.ts';
import type { Archive } from './host/archive.ts';
import { Commands } from './host/commands.ts';
import type { Control } from './host/configuration.ts';
import type { Examination } from './host/diagnostics.ts';
import type { DocumentStore } from './host/documents.ts';
import { metrics, scrape } from './host/metrics.ts';
import { watchListing } from './host/model-discovery.ts';
import {
  createNotes,
  runNamed,
  takeNotes,
  toConfigError,
  type Example,
  type PluginNotes,
} from './host/plugin-notes.ts';
import { Registry } from './host/registry.ts';
import { Resources } from './host/resources.ts';
import { freezeTaps, wrapHooks } from './host/taps.ts';
import { createConfiguration, noService, createTools } from './host/tools.ts';
import { BodyBudget } from './http/bodies.ts';
import { Routes } from './http/routes.ts';
import { RunningCalls } from './http/running-calls.ts';
import {
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
import type { GatewayServer } from './server.ts';
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
  /** Rejects with a `ConfigError` if a route cannot be served. */
  check(): Promise<void>;
  /** Checks the routes and runs the `ready` hook. Hooks cannot be tapped afterwards. */
  open(): Promise<void>;
  /** Runs the `close` hook and releases every resource. */
  close(): Promise<void>;
}

/** A reload finds the listener open and switches its routes once all of the configuration is ready. */
function createAdminOpener(
  core: Core,
  resources: Resources,
  servers: Set<GatewayServer>,
): Host['openAdminListener'] {
  return async (address) => {
    const { openServer } = await import('./server.ts');
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
  'keepAliveEvery' | 'longestStall' | 'trustedProxies' | 'rejectsLoss' | 'getTimeouts'
>;

function buildSettings({ loss, server, timeouts }: Config): Settings {
  return {
    keepAliveEvery: timeouts.keepAlive,
    longestStall: timeouts.write,
    trustedProxies: server.trustedProxies,
    rejectsLoss: loss === 'reject',
    getTimeouts: (parsed, target) => computeTimeouts(parsed, target, timeouts),
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

/** What the gateway holds besides what its calls need. */
interface Parts {
  readonly config: Config;
  readonly registries: ReturnType<typeof createRegistries>;
  readonly commands: Commands;
  readonly readiness: Registry<Readiness>;
  readonly catalog: Catalog;
  readonly resources: Resources;
  readonly notes: PluginNotes;
  readonly adminServers: Set<GatewayServer>;
}

function createParts(config: Config): Parts {
  return {
    config,
    registries: createRegistries(),
    commands: new Commands(),
    readiness: new Registry<Readiness>('readiness check'),
    catalog: new Catalog(config.timeouts.call),
    resources: new Resources(),
    notes: createNotes(),
    adminServers: new Set(),
  };
}

function createCore(
  { config, registries, commands, readiness, catalog, notes }: Parts,
  logger: Logger,
): Core {
  const { protocols, guards } = registries;
  return {
    hooks: createHooks(),
    protocols,
    routes: new Routes(),
    commands,
    readiness,
    guards,
    catalog,
    logger,
    findTargets: createTargetFinder(catalog, protocols),
    addresses: notes.addresses,
    callPaths: new Set(),
    calls: new RunningCalls(),
    bodies: new BodyBudget(config.server),
    replies: new ReplyBudget(config.server),
    retries: new Retries(config.retries),
    ...buildSettings(config),
  };
}

/** Returns what makes the host of a plugin: its view of the gateway, with its own name on what it adds. */
function createHosts(core: Core, parts: Parts, control: Control): (plugin: Plugin) => Host {
  const { config, registries, commands, readiness, catalog, resources, notes, adminServers } = parts;
  const { hooks, routes } = core;
  const plugins = new Set(config.plugins.map(({ name }) => name));
  const openAdminListener = createAdminOpener(core, resources, adminServers);
  const configuration = createConfiguration(config, control, { ...registries, hooks }, notes.off);
  return (plugin) => {
    const logger = core.logger.child({ plugin: plugin.name });
    return {
      hooks: wrapHooks(hooks, logger),
      plugins,
      ...registries,
      routes: routes.createView(plugin.name),
      getFamily: (route) => routes.getOwner(route),
      commands: commands.createView(plugin.name),
      readiness: readiness.createView(plugin.name),
      catalog,
      metrics,
      scrape,
      workers,
      logger,
      dataFolder: config.dataFolder,
      openResource: resources.open,
      openAdminListener,
      ...createTools(core, config.server, configuration),
      ...takeNotes(notes, plugin, config.file, logger),
      discoverModels: (provider, source) =>
        watchListing({ hooks, catalog, logger, open: resources.open }, provider, source),
    };
  };
}

/** Applies the plugins in order. Throws a `ConfigError` that names the file and the plugin that failed. */
export function createGateway(config: Config, logger: Logger, control: Control = noService): Gateway {
  const parts = createParts(config);
  const { registries, resources, notes, adminServers } = parts;
  const core = createCore(parts, logger);
  const { hooks } = core;
  const createHost = createHosts(core, parts, control);
  logInternalErrors(core);
  for (const plugin of config.plugins)
    runNamed(plugin, 'apply', config.file, () => plugin.apply(createHost(plugin)));
  checkTogether(core, notes, config.file);
  let dispatcher: Dispatcher | undefined;
  let ending: NodeJS.Timeout | undefined;
  return {
    ...core,
    ...notes,
    providers: registries.providers,
    keyrings: registries.keyrings,
    examinations: registries.examinations,
    check: () => checkServed(core, config.file),
    async open() {
      await checkServed(core, config.file);
      tightenFolder(config.dataFolder);
      const { createDispatcher } = await import('./dispatch.ts');
      dispatcher = createDispatcher(config.timeouts);
      hooks.dispatch.tapPromise({ name: 'proxy', stage: Number.MAX_SAFE_INTEGER }, dispatcher.dispatch);
      await hooks.ready
        .promise()
        .catch((error: unknown) => Promise.reject(toConfigError(config.file, error)));
      freezeTaps(hooks);
      for (const server of adminServers) server.serve(core);
      ending = setInterval(() => core.calls.endOlderThan(config.timeouts.call), 1000).unref();
    },
    async close() {
      clearInterval(ending);
      await hooks.close.promise();
      await resources.release();
      await dispatcher?.close();
    },
  };
}

/** Logs their causes: the client reads only that the error is internal. */
function logInternalErrors({ hooks, logger }: Core): void {
  hooks.observe.tap('gateway', (end) => {
    if (end.type !== 'replayed' && end.error?.code === 'internal')
      logger.error({ call: end.exchange.id, error: end.error }, 'a call failed within the gateway');
  });
}

/** Checks what only all plugins together can get wrong. */
function checkTogether(core: Core, { checks }: PluginNotes, file: string): void {
  for (const check of checks) check();
  try {
    checkFlags(core);
  } catch (error) {
    throw toConfigError(file, error);
  }
}

async function checkServed(core: Core, file: string): Promise<void> {
  const { checkRoutes } = await import('./server.ts');
  try {
    checkRoutes(core);
  } catch (error) {
    throw toConfigError(file, error);
  }
}

/** A protocol without a schema allows no flags: what it does not know, it could not honour. */
function checkFlags({ catalog, protocols }: Core): void {
  const none = z.strictObject({});
  catalog.checkFlags(
    new Map([...protocols.list()].map(({ name, capabilities = none }) => [name, capabilities])),
  );
}
