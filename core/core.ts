/**
 * What one request needs of the gateway. The pipeline, the listener and the reply all take it; `gateway.ts`
 * builds it.
 */
import type { Logger } from 'pino';
import type { Catalog } from './catalog.ts';
import type { Config } from './config.ts';
import type { Parsed, Target } from './exchange.ts';
import type { CoreHooks } from './hooks.ts';
import type { BodyBudget } from './http/bodies.ts';
import type { ReplyBudget } from './http/reply-memory.ts';
import type { Routes } from './http/routes.ts';
import type { RunningCalls } from './http/running-calls.ts';
import type { Command, Guard, Readiness } from './plugin.ts';
import type { ClientAddress, Protocol } from './protocol.ts';
import type { AttemptTimeouts } from './upstream/attempt-timeouts.ts';
import type { Retries } from './upstream/retries.ts';
import type { FindTargets } from './upstream/targets.ts';
import type { Registry } from './util/registry.ts';

export interface Core {
  readonly hooks: CoreHooks;
  readonly protocols: Registry<Protocol>;
  readonly routes: Routes;
  /** The operator's own Koa middleware, which every request of the public listener passes first. */
  readonly middleware: Config['middleware'];
  /** Base URLs of the protocols' SDKs. */
  readonly addresses: readonly ClientAddress[];
  readonly commands: Registry<Command>;
  readonly readiness: Registry<Readiness>;
  readonly guards: Registry<Guard>;
  readonly catalog: Catalog;
  /** Paths of the admin listener below which calls are served. */
  readonly callPaths: Set<string>;
  /** The calls that run now. */
  readonly calls: RunningCalls;
  readonly logger: Logger;
  /** Memory for request bodies. */
  readonly bodies: BodyBudget;
  /** Memory for replies. */
  readonly replies: ReplyBudget;
  /** Milliseconds of provider silence after which a stream gets a keep-alive. */
  readonly keepAliveEvery: number;
  /** Milliseconds a client may read nothing before it is disconnected. */
  readonly longestStall: number;
  /** Number of our own proxies that append to `x-forwarded-for`. */
  readonly trustedProxies: number;
  /** Whether a call is refused if its target would lose a field. */
  readonly rejectsLoss: boolean;
  readonly getTimeouts: (parsed: Parsed, target: Target) => AttemptTimeouts;
  readonly retries: Retries;
  /** Finds the targets of a model, each with the client's own protocol if the provider speaks it. */
  readonly findTargets: FindTargets;
}
