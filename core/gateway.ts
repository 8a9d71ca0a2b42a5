/**
 * Builds a gateway from its configuration: applies the plugins, opens it, and releases everything when it
 * closes. The HTTP server and the proxy are loaded only to check or open it: they take a fifth of the time of
 * a command.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import { settingsSchema, type Config } from './config.ts';
import { createCore, type Core } from './core.ts';
import type { Dispatcher } from './dispatch.ts';
import { metrics } from './host/metrics.ts';
import {
  createNotes,
  findUnreadable,
  nameFile,
  runNamed,
  takeNotes,
  toConfigError,
  type PluginNotes,
} from './host/plugin-notes.ts';
import { Resources } from './host/resources.ts';
import { freezeTaps, wrapHooks } from './host/taps.ts';
import { workers } from './host/workers.ts';
import { checkConnections } from './http/open-files.ts';
import type { Archive, ConfigFacts, Control, DocumentStore, Operations } from './operations.ts';
import type { Host, Plugin } from './plugin.ts';
import type { GatewayServer } from './server.ts';
import { GatewayError } from './util/errors.ts';
import { tightenFolder } from './util/private-files.ts';
import { Registry } from './util/registry.ts';

async function refuseControl(): Promise<never> {
  throw new GatewayError('not_found', 'This process serves no calls.');
}

/** Without a service, nothing can be reloaded. */
const noService: Control = { workers: 1, read: refuseControl, reload: refuseControl };

export type Gateway = ReturnType<typeof createGateway>;

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

/** What a configuration lacks to serve calls: one line for each problem, with what to add. */
function listShortcomings({ protocols, providers, keyrings, hooks }: Core): string[] {
  const lacks: string[] = [];
  const listed = [...protocols.list()];
  if (listed.length === 0)
    lacks.push('No protocol is listed, so no client can call: add one, such as chatCompletions().');
  // Taps at an earlier stage only reject calls, so they do not count as authentication.
  if (!hooks.authenticate.taps.some(({ stage = 0 }) => stage >= 0))
    lacks.push('No credential plugin is listed, so every call is refused: add one, such as bearer().');
  else if (keyrings.list().next().done)
    lacks.push(
      'No plugin keeps keys, so calls are refused unless a plugin of yours authenticates them: ' +
        'add balance().',
    );
  const spoken = new Set([...providers.list()].flatMap(({ endpoints }) => Object.keys(endpoints)));
  if (spoken.size === 0)
    lacks.push("No provider is on, so there are no models: set a provider's key, or add demo().");
  else if (listed.length > 0 && !listed.some(({ name }) => spoken.has(name)))
    lacks.push(
      'No provider speaks a listed protocol, so no model can be called: ' +
        `add one of those they speak (${[...spoken].join(', ')}).`,
    );
  return lacks;
}

function describeConfig(config: Config, core: Core, { off }: PluginNotes): ConfigFacts {
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

/** What plugins get alike. */
function createSharedHost(
  { plugins, dataFolder, server }: Config,
  core: Core,
  { configuration, openAdminListener }: Pick<Operations, 'configuration' | 'openAdminListener'>,
) {
  const operations: Operations = {
    configuration,
    openAdminListener,
    listener: server,
    addresses: core.addresses,
    running: core.calls,
    archives: new Registry<Archive>('archive'),
    documents: new Registry<DocumentStore>('document store'),
    serveCalls: (path) => void core.callPaths.add(path),
    erase: (erasure) => core.hooks.erase.promise(erasure),
    rehearse: async (call) => (await import('./rehearsal.ts')).rehearseCall(core, call),
  };
  const names = new Set(plugins.map(({ name }) => name));
  const { catalog, findTargets, protocols, providers, keyrings } = core;
  const { credentials, guards, tables, examinations, upgrades, notices } = core;
  const registries = { protocols, providers, keyrings, credentials, guards, tables, examinations, upgrades };
  const postCall: Host['postCall'] = async (parsed, posted) => {
    const { protocol, path, query, address: remoteAddress } = parsed;
    // The address is known. The key's outcome is the reply to the client's own request.
    const { 'x-forwarded-for': _proxies, 'idempotency-key': _key, ...headers } = parsed.headers;
    const module = await import('./take-call.ts');
    return module.postCall(core, { protocol, path, query, headers, remoteAddress }, posted);
  };
  return {
    ...registries,
    notices,
    plugins: names,
    catalog,
    findTargets,
    postCall,
    operations,
    metrics,
    workers,
    dataFolder,
  };
}

/** Applies the plugins in order. Throws a `ConfigError` that names the file and the plugin that failed. */
export function createGateway(config: Config, logger: Logger, control: Control = noService) {
  const { file, timeouts } = config;
  const notes = createNotes();
  const core = createCore(config, notes.addresses, logger);
  const { hooks, routes, commands, readiness } = core;
  const resources = new Resources();
  const adminServers = new Set<GatewayServer>();
  const describe = (): ConfigFacts => describeConfig(config, core, notes);
  const shared = createSharedHost(config, core, {
    configuration: { ...control, describe },
    openAdminListener: createAdminOpener(core, resources, adminServers),
  });
  const createHost = (plugin: Plugin): Host => {
    const own = logger.child({ plugin: plugin.name });
    return {
      ...shared,
      ...takeNotes(notes, plugin, file, own),
      hooks: wrapHooks(hooks, own),
      routes: routes.createView(plugin.name),
      commands: commands.createView(plugin.name),
      readiness: readiness.createView(plugin.name),
      logger: own,
      openResource: resources.open,
    };
  };
  logInternalErrors(core);
  for (const plugin of config.plugins)
    runNamed(plugin, 'apply', file, () => plugin.apply(createHost(plugin)));
  for (const check of notes.checks) check();
  nameFile(file, () => checkFlags(core));
  let dispatcher: Dispatcher | undefined;
  let ending: NodeJS.Timeout | undefined;
  const check = async (): Promise<void> => {
    const { checkRoutes } = await import('./server.ts');
    nameFile(file, () => checkRoutes(core));
  };
  return {
    ...core,
    ...notes,
    describe,
    check,
    /** Reads the secrets that the configuration refers to, and returns why some cannot be read. */
    findUnreadable: () => findUnreadable(notes),
    /** Checks the routes and runs the `ready` hook. Hooks cannot be tapped afterwards. */
    async open(): Promise<void> {
      await check();
      tightenFolder(config.dataFolder);
      // A provider whose key is missing must not keep the others from serving.
      for (const fault of await findUnreadable(notes)) logger.error(fault);
      dispatcher = await tapDispatcher(hooks, timeouts);
      await hooks.ready.promise().catch((error: unknown) => Promise.reject(toConfigError(file, error)));
      freezeTaps(hooks);
      for (const server of adminServers) server.serve(core);
      ending = setInterval(() => core.calls.endOlderThan(timeouts.call), 1000).unref();
    },
    async close(): Promise<void> {
      clearInterval(ending);
      await hooks.close.promise();
      await resources.release();
      dispatcher?.close();
    },
  };
}

/** Core's own transport is the last tap of `dispatch`. */
async function tapDispatcher({ dispatch }: Core['hooks'], timeouts: Config['timeouts']): Promise<Dispatcher> {
  const { createDispatcher } = await import('./dispatch.ts');
  const dispatcher = createDispatcher(timeouts);
  dispatch.tapPromise({ name: 'proxy', stage: Number.MAX_SAFE_INTEGER }, dispatcher.dispatch);
  return dispatcher;
}

/** Logs their causes: the client reads only that the error is internal. */
function logInternalErrors({ hooks, logger }: Core): void {
  hooks.observe.tap('gateway', (end) => {
    if (end.type !== 'replayed' && end.error?.code === 'internal')
      logger.error({ call: end.exchange.id, error: end.error }, 'a call failed within the gateway');
  });
}

/**
 * Checks models' flags once all protocols are known. A protocol without a schema allows none: what it does
 * not know, it could not honour.
 */
function checkFlags({ catalog, protocols }: Core): void {
  const none = z.strictObject({});
  catalog.checkFlags(
    new Map([...protocols.list()].map(({ name, capabilities = none }) => [name, capabilities])),
  );
}
