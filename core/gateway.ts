/**
 * Builds a gateway from its configuration: applies the plugins, opens it, and releases everything when it
 * closes. The HTTP server and the proxy are loaded only to check or open it: they take a fifth of the time of
 * a command.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import { Catalog } from './catalog.ts';
import { settingsSchema, type Config } from './config.ts';
import type { Core } from './core.ts';
import type { Dispatcher } from './dispatch.ts';
import { createHooks } from './hooks.ts';
import { Commands } from './host/commands.ts';
import { metrics, scrape } from './host/metrics.ts';
import {
  createNotes,
  runNamed,
  takeNotes,
  toConfigError,
  type Example,
  type PluginNotes,
} from './host/plugin-notes.ts';
import { Resources } from './host/resources.ts';
import { listShortcomings } from './host/shortcomings.ts';
import { freezeTaps, wrapHooks } from './host/taps.ts';
import { workers } from './host/workers.ts';
import { BodyBudget } from './http/bodies.ts';
import { checkConnections } from './http/open-files.ts';
import { ReplyBudget } from './http/reply-memory.ts';
import { Routes } from './http/routes.ts';
import { RunningCalls } from './http/running-calls.ts';
import type {
  Archive,
  ConfigFacts,
  Configuration,
  Control,
  DocumentStore,
  Operations,
} from './operations.ts';
import type {
  Credential,
  Guard,
  Host,
  Keyring,
  Plugin,
  Readiness,
  Examination,
  TableStore,
} from './plugin.ts';
import type { Protocol } from './protocol.ts';
import type { Provider } from './provider.ts';
import type { GatewayServer } from './server.ts';
import { computeTimeouts } from './upstream/attempt-timeouts.ts';
import { Retries } from './upstream/retries.ts';
import { createTargetFinder } from './upstream/targets.ts';
import { GatewayError } from './util/errors.ts';
import { tightenFolder } from './util/private-files.ts';
import { Registry } from './util/registry.ts';

async function refuseControl(): Promise<never> {
  throw new GatewayError('not_found', 'This process serves no calls.');
}

/** Without a service, nothing can be reloaded. */
const noService: Control = { workers: 1, read: refuseControl, reload: refuseControl };

export interface Gateway extends Core {
  /** Lines that plugins print at the start, and example commands. */
  readonly notes: readonly string[];
  readonly examples: readonly Example[];
  readonly providers: Registry<Provider>;
  readonly keyrings: Registry<Keyring>;
  /** Its configuration, with what is missing or wrong. */
  describe(): ConfigFacts;
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

/** What plugins add for each other, by name. */
function createRegistries() {
  return {
    protocols: new Registry<Protocol>('protocol'),
    providers: new Registry<Provider>('provider'),
    keyrings: new Registry<Keyring>('keyring'),
    credentials: new Registry<Credential>('credential'),
    guards: new Registry<Guard>('guard'),
    tables: new Registry<TableStore>('table store'),
    examinations: new Registry<Examination>('examination'),
  };
}

type Registries = ReturnType<typeof createRegistries>;

function createCore(
  config: Config,
  registries: Registries,
  { addresses }: PluginNotes,
  logger: Logger,
): Core & Registries {
  const { loss, server, timeouts } = config;
  const catalog = new Catalog(timeouts.call);
  return {
    ...registries,
    hooks: createHooks(),
    routes: new Routes(),
    middleware: config.middleware,
    commands: new Commands(),
    readiness: new Registry<Readiness>('readiness check'),
    catalog,
    logger,
    findTargets: createTargetFinder(catalog, registries.protocols),
    addresses,
    callPaths: new Set(),
    calls: new RunningCalls(),
    bodies: new BodyBudget(server),
    replies: new ReplyBudget(server),
    retries: new Retries(config.retries),
    keepAliveEvery: timeouts.keepAlive,
    longestStall: timeouts.write,
    trustedProxies: server.trustedProxies,
    rejectsLoss: loss === 'reject',
    getTimeouts: (parsed, target) => computeTimeouts(parsed, target, timeouts),
  };
}

/** A reload finds the listener open and switches its routes once all of the configuration is ready. */
function createAdminOpener(
  core: Core,
  resources: Resources,
  servers: Set<GatewayServer>,
): Operations['openAdminListener'] {
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

function describeConfig(config: Config, core: Core & Registries, { off }: PluginNotes): ConfigFacts {
  const { file, dataFolder, plugins, given, server } = config;
  const tooMany = checkConnections(server.maxConnections);
  return {
    file,
    dataFolder,
    settings: { schema: settingsSchema.omit({ plugins: true }), given },
    plugins: plugins.map(({ name, options }) => ({ name, off: off.get(name), options })),
    lacks: listShortcomings(core),
    warnings: tooMany === undefined ? [] : [`Warning: ${tooMany}`],
  };
}

function createOperations(
  { server }: Config,
  core: Core,
  configuration: Configuration,
): Omit<Operations, 'openAdminListener'> {
  return {
    configuration,
    listener: server,
    addresses: core.addresses,
    running: core.calls,
    archives: new Registry<Archive>('archive'),
    documents: new Registry<DocumentStore>('document store'),
    serveCalls: (path) => void core.callPaths.add(path),
    rehearse: async (call) => (await import('./rehearsal.ts')).rehearseCall(core, call),
    scrape,
  };
}

/** What all plugins get alike. */
function createSharedHost(
  { plugins, dataFolder }: Config,
  registries: Registries,
  { catalog, findTargets }: Core,
  operations: Operations,
) {
  const names = new Set(plugins.map(({ name }) => name));
  return { ...registries, plugins: names, catalog, findTargets, operations, metrics, workers, dataFolder };
}

/** Applies the plugins in order. Throws a `ConfigError` that names the file and the plugin that failed. */
export function createGateway(config: Config, logger: Logger, control: Control = noService): Gateway {
  const { file, timeouts } = config;
  const notes = createNotes();
  const registries = createRegistries();
  const core = createCore(config, registries, notes, logger);
  const { hooks, routes, commands, readiness } = core;
  const resources = new Resources();
  const adminServers = new Set<GatewayServer>();
  const describe = (): ConfigFacts => describeConfig(config, core, notes);
  const shared = createSharedHost(config, registries, core, {
    ...createOperations(config, core, { ...control, describe }),
    openAdminListener: createAdminOpener(core, resources, adminServers),
  });
  const createHost = (plugin: Plugin): Host => {
    const ownLogger = logger.child({ plugin: plugin.name });
    return {
      ...shared,
      ...takeNotes(notes, plugin, file, ownLogger),
      hooks: wrapHooks(hooks, ownLogger),
      routes: routes.createView(plugin.name),
      commands: commands.createView(plugin.name),
      readiness: readiness.createView(plugin.name),
      logger: ownLogger,
      openResource: resources.open,
    };
  };
  logInternalErrors(core);
  for (const plugin of config.plugins)
    runNamed(plugin, 'apply', file, () => plugin.apply(createHost(plugin)));
  for (const check of notes.checks) check();
  checkFlags(core, file);
  let dispatcher: Dispatcher | undefined;
  let ending: NodeJS.Timeout | undefined;
  return {
    ...core,
    ...notes,
    describe,
    check: () => checkServed(core, file),
    async open() {
      await checkServed(core, file);
      tightenFolder(config.dataFolder);
      const { createDispatcher } = await import('./dispatch.ts');
      dispatcher = createDispatcher(timeouts);
      hooks.dispatch.tapPromise({ name: 'proxy', stage: Number.MAX_SAFE_INTEGER }, dispatcher.dispatch);
      await hooks.ready.promise().catch((error: unknown) => Promise.reject(toConfigError(file, error)));
      freezeTaps(hooks);
      for (const server of adminServers) server.serve(core);
      ending = setInterval(() => core.calls.endOlderThan(timeouts.call), 1000).unref();
    },
    async close() {
      clearInterval(ending);
      await hooks.close.promise();
      await resources.release();
      dispatcher?.close();
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

async function checkServed(core: Core, file: string): Promise<void> {
  const { checkRoutes } = await import('./server.ts');
  try {
    checkRoutes(core);
  } catch (error) {
    throw toConfigError(file, error);
  }
}

/**
 * Checks models' flags once all protocols are known. A protocol without a schema allows none: what it does
 * not know, it could not honour.
 */
function checkFlags({ catalog, protocols }: Core, file: string): void {
  const none = z.strictObject({});
  try {
    catalog.checkFlags(
      new Map([...protocols.list()].map(({ name, capabilities = none }) => [name, capabilities])),
    );
  } catch (error) {
    throw toConfigError(file, error);
  }
}
