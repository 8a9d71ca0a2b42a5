/**
 * What one request needs of the gateway. The pipeline, the listener and the reply all take it; `gateway.ts`
 * adds what plugins and the command line need.
 */
import type { Logger } from 'pino';
import { Catalog } from './catalog.ts';
import type { Config } from './config.ts';
import type { Parsed, Target } from './exchange.ts';
import { createHooks } from './hooks.ts';
import { Commands } from './host/commands.ts';
import { BodyBudget } from './http/bodies.ts';
import { ReplyBudget } from './http/reply-memory.ts';
import { Routes } from './http/routes.ts';
import { RunningCalls } from './http/running-calls.ts';
import { Notices } from './notices.ts';
import type { Credential, Examination, Guard, Keyring, Readiness, TableStore, Upgrade } from './plugin.ts';
import type { ClientAddress, Protocol } from './protocol.ts';
import type { Provider } from './provider.ts';
import { computeTimeouts } from './upstream/attempt-timeouts.ts';
import { Retries } from './upstream/retries.ts';
import { createTargetFinder } from './upstream/targets.ts';
import { Registry } from './util/registry.ts';

export type Core = ReturnType<typeof createCore>;

/** `addresses` are the base URLs of the protocols' SDKs. */
export function createCore(
  { loss, server, timeouts, retries, middleware }: Config,
  addresses: readonly ClientAddress[],
  logger: Logger,
) {
  const catalog = new Catalog(timeouts.call);
  const protocols = new Registry<Protocol>('protocol');
  return {
    protocols,
    providers: new Registry<Provider>('provider'),
    keyrings: new Registry<Keyring>('keyring'),
    credentials: new Registry<Credential>('credential'),
    guards: new Registry<Guard>('guard'),
    tables: new Registry<TableStore>('table store'),
    examinations: new Registry<Examination>('examination'),
    notices: new Notices(),
    hooks: createHooks(),
    routes: new Routes(),
    upgrades: new Registry<Upgrade>('upgrade'),
    /** The operator's own Koa middleware, which every request of the public listener passes first. */
    middleware,
    commands: new Commands(),
    readiness: new Registry<Readiness>('readiness check'),
    catalog,
    logger,
    /** Finds the targets of a model, each with the client's own protocol if the provider speaks it. */
    findTargets: createTargetFinder(catalog, protocols),
    addresses,
    /** Paths of the admin listener below which calls are served. */
    callPaths: new Set<string>(),
    calls: new RunningCalls(),
    bodies: new BodyBudget(server),
    replies: new ReplyBudget(server),
    retries: new Retries(retries),
    /** Milliseconds of provider silence after which a stream gets a keep-alive. */
    keepAliveEvery: timeouts.keepAlive,
    /** Milliseconds a client may read nothing before it is disconnected. */
    longestStall: timeouts.write,
    /** Number of our own proxies that append to `x-forwarded-for`. */
    trustedProxies: server.trustedProxies,
    /** Whether a call is refused if its target would lose a field. */
    rejectsLoss: loss === 'reject',
    getTimeouts: (parsed: Parsed, target: Target) => computeTimeouts(parsed, target, timeouts),
  };
}
