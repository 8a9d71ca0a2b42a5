/**
 * What a plugin receives, without a gateway: real hooks and registries, and a record of what it asked for.
 */
import { pino } from 'pino';
import { Registry as MetricsRegistry } from 'prom-client';
import { z } from 'zod';
import { Catalog } from '../../core/catalog.ts';
import { createHooks, type CoreHooks } from '../../core/hooks.ts';
import { wrapHooks } from '../../core/host/taps.ts';
import { workers as alone } from '../../core/host/workers.ts';
import type {
  Archive,
  Command,
  Credential,
  DocumentStore,
  Examination,
  Guard,
  Host,
  Keyring,
  Plugin,
  Readiness,
  Route,
  RouteReply,
  RouteRequest,
  TableStore,
  Upgrade,
} from '../../core/index.ts';
import { Notices } from '../../core/notices.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { Provider } from '../../core/provider.ts';
import { Registry } from '../../core/util/registry.ts';
import { openSecret } from '../../core/util/secret-references.ts';

const emptyConfig = {
  file: 'test',
  dataFolder: '/nowhere',
  settings: { schema: z.strictObject({}), given: {} },
  plugins: [],
};

/** Calls a route as an operator may; what it throws becomes its error reply. */
export function callRoute(route: Route, request: Partial<RouteRequest> = {}): Promise<RouteReply> {
  const whole: RouteRequest = {
    params: {},
    query: new URLSearchParams(),
    headers: {},
    body: undefined,
    text: '',
    address: '::1',
    ...request,
  };
  const reply =
    route.access === 'public'
      ? route.handle(whole)
      : route.handle(whole, { kind: 'operator', account: '', key: '' });
  return reply.catch((error: unknown) => route.encodeError(error));
}

export interface TestHost extends Host {
  /** The hooks with their calling side, for the test to call. */
  readonly calls: CoreHooks;
}

/**
 * A host with these plugins applied, in their order; pass `metrics` if two hosts share them, as before and
 * after a reload.
 */
export function createHost(
  plugins: readonly Plugin[],
  metrics = new MetricsRegistry(),
  workers = alone,
  dataFolder = emptyConfig.dataFolder,
): TestHost {
  const calls = createHooks();
  const logger = pino({ level: 'silent' });
  const resources = new Map<string, unknown>();
  const registries = {
    protocols: new Registry<Protocol>('protocol'),
    providers: new Registry<Provider>('provider'),
    keyrings: new Registry<Keyring>('keyring'),
  };
  const host: TestHost = {
    calls,
    logger,
    metrics,
    hooks: wrapHooks(calls, logger),
    plugins: new Set(plugins.map(({ name }) => name)),
    ...registries,
    credentials: new Registry<Credential>('credential'),
    routes: new Registry<Route>('route'),
    upgrades: new Registry<Upgrade>('upgrade'),
    commands: new Registry<Command>('command'),
    readiness: new Registry<Readiness>('readiness check'),
    guards: new Registry<Guard>('guard'),
    tables: new Registry<TableStore>('table store'),
    examinations: new Registry<Examination>('examination'),
    notices: new Notices(),
    workers,
    catalog: new Catalog(),
    dataFolder,
    findTargets: () => [],
    postCall: () => Promise.reject(new Error('not in this host')),
    operations: {
      configuration: {
        workers: 1,
        describe: () => ({ ...emptyConfig, lacks: [], warnings: [] }),
        read: async () => Promise.reject(new Error('a host for tests reads no configuration')),
        reload: async () => Promise.reject(new Error('a host for tests reads no configuration')),
      },
      listener: { host: '127.0.0.1', port: 8787 },
      addresses: [],
      running: { count: 0 },
      archives: new Registry<Archive>('archive'),
      documents: new Registry<DocumentStore>('document store'),
      openAdminListener: async () => 'http://nowhere',
      serveCalls: () => undefined,
      erase: (erasure) => calls.erase.promise(erasure),
      rehearse: async () => Promise.reject(new Error('a host for tests rehearses no call')),
    },
    onApplied: () => undefined,
    async openResource<Options extends object, Thing>(
      key: string,
      options: Options,
      open: (options: Options) => Thing | Promise<Thing>,
    ): Promise<Thing> {
      if (!resources.has(key)) resources.set(key, open(options));
      return resources.get(key) as Thing | Promise<Thing>;
    },
    watchFile: () => undefined,
    openSecret,
    addNote: () => undefined,
    noteOff: () => undefined,
    addAddress: () => undefined,
    addExample: () => undefined,
  };
  // What a test adds beside its plugins is there when it calls `ready`.
  for (const plugin of plugins)
    plugin.apply({
      ...host,
      onApplied: (look) => host.hooks.ready.tapPromise(plugin.name, async () => look()),
    });
  return host;
}
