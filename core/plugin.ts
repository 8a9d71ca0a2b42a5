/**
 * A plugin is a name and a function that is given the gateway's host once, when the configuration is loaded:
 * it taps hooks and adds protocols, providers, routes and commands. `definePlugin` infers the options from
 * their zod schema and checks them where the configuration is written, so that a wrong one is told with the
 * plugin's name and the option's, before anything runs.
 */
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { z } from 'zod';
import type { Catalog } from './catalog.ts';
import type { Principal, Target } from './exchange.ts';
import type { Hooks } from './hooks.ts';
import type { Description } from './host/description.ts';
import type { Examination } from './host/diagnostics.ts';
import { faultsOf } from './host/option-errors.ts';
import type { Entries, Registry } from './host/registry.ts';
import type { Protocol } from './protocol.ts';
import type { Provider, ProviderOptions } from './provider.ts';

/** A request to a plugin's own route. */
export interface RouteRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed JSON body of a POST, PUT or PATCH; undefined where there is none. */
  readonly body: unknown;
  /** The same body as it was sent, for what is signed. */
  readonly text: string;
}

export interface RouteReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is when a string or bytes, as JSON otherwise; null or undefined: there is none. */
  readonly body: unknown;
}

/** An HTTP route of a plugin's own. Core authenticates by `access` before `handle` is called; `operator` routes are served at the operators' door alone. */
export type Route = {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** A path with parameters as @koa/router writes them: `/v1/models/:id`. */
  readonly path: string;
  /** Passed what went wrong, and the id of the request; the answer is status and body in the words of the route's callers. */
  errors(error: unknown, id?: string): RouteReply;
  /** Set where a public route is served at the operators' door as well, which answers when the public listener is full. */
  readonly everywhere?: true;
  /** Asked for what it takes and gives, once, by whoever describes the gateway; `false`: there is nothing to call. */
  readonly openapi?: false | (() => Promise<Description>);
} & (
  | { readonly access: 'public'; handle(request: RouteRequest): Promise<RouteReply> }
  | {
      readonly access: 'user' | 'operator';
      handle(request: RouteRequest, principal: Principal): Promise<RouteReply>;
    }
);

/** One option of a command, as commander writes it: `--credit <usd>`. */
export interface CommandOption {
  readonly flags: string;
  readonly description: string;
}

/** A verb of the command line: `keys create`. It works beside a running server. */
export interface Command {
  /** The words of the verb, and its arguments as commander writes them: `keys disable <key>`. */
  readonly name: string;
  readonly description: string;
  readonly options?: readonly CommandOption[];
  /** Passed arguments and options as text; the answer is printed: as JSON with `--json`, as lines otherwise. Throw to fail. */
  run(
    args: readonly string[],
    options: Readonly<Record<string, string | boolean | undefined>>,
  ): Promise<CommandResult>;
}

export interface CommandResult {
  readonly json: unknown;
  readonly text: string;
  /** Whether what was looked at is not as it should be: printed like a success, with an exit code of 1. */
  readonly failed?: boolean;
}

/** Whoever knows keys answers for them here, so that a credential scheme need not know where they are kept. */
export interface Keyring {
  readonly name: string;
  /** Passed a secret as the client sent it; undefined: not a key of mine. Rejects when the store cannot be asked. */
  verify(secret: string): Promise<Principal | undefined>;
}

/** How clients may show who they are, for whoever describes the gateway; who is let in is decided by taps on `authenticate`. */
export interface Credential {
  readonly name: string;
  /** The families that take it; all of them where absent. */
  readonly families?: readonly string[] | undefined;
  /** The places it is looked for in, of which any will do: OpenAPI's security schemes by their names. */
  readonly openapi: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Something without which the gateway should get no calls: `/readyz` is red while any has a fault. */
export interface Readiness {
  readonly name: string;
  /** Asked at each look; undefined: ready; otherwise what is wrong, in words for an operator. */
  fault(): string | undefined;
}

/** Counts the requests for public pages, which need no key, and may turn one away. */
export interface Guard {
  readonly name: string;
  /** Passed the address of each client before its page is answered; a promise is waited for; reject to turn the client away. */
  admit(address: string): Promise<void> | undefined;
}

/** Where clients of a protocol are pointed: the base address they are given, below the gateway's own. */
export interface ClientAddress {
  readonly protocol: string;
  /** The package that is given it: `openai`. */
  readonly client: string;
  readonly path: string;
  /** What is served below it, told where nothing is at an address: `the methods of a model here are …`. */
  readonly serves?: string;
}

/** A process-owned thing: shared by all who ask with the same key and options, closed with its last user. Begin a key that is yours alone with your plugin's name: all plugins ask by it. */
export type OpenResource = <Options extends object, Thing>(
  key: string,
  options: Options,
  open: (options: Options) => Thing | Promise<Thing>,
  close: (thing: Thing) => void | Promise<void>,
) => Promise<Thing>;

/** Passed what a worker asks, as it comes out of JSON; the answer goes the same way, and undefined is none. */
export type AnswerQuestion = (question: unknown) => unknown;

/** The other processes that share the port, where there are several. What is asked and answered crosses as JSON. */
export interface Workers {
  readonly several: boolean;
  /** Resolves with the first answer of any other worker; undefined where none has one, or none soon enough. */
  askOthers(topic: string, question: unknown): Promise<unknown>;
  /** What the plugin's `supervise` has to say; undefined where it says nothing, or not soon enough. */
  askSupervisor(topic: string, question: unknown): Promise<unknown>;
  /** Says what this process answers when another asks; the answer ends it. */
  answer(topic: string, answer: AnswerQuestion): () => void;
}

/** The process that starts the workers, as a plugin sees it there. */
export interface Supervisor {
  /** Passed also which worker asks. */
  answer(topic: string, answer: (question: unknown, worker: number) => unknown): void;
  /** Called for each worker that has ended, with its number. */
  onGone(listener: (worker: number) => void): void;
}

/** What a plugin is given: everything it can add to, and nothing it could break. */
export interface Host {
  readonly hooks: Hooks;
  /** The names of all plugins of the configuration. */
  readonly plugins: ReadonlySet<string>;
  readonly protocols: Registry<Protocol>;
  readonly providers: Registry<Provider>;
  readonly keyrings: Registry<Keyring>;
  readonly credentials: Registry<Credential>;
  readonly routes: Entries<Route>;
  /** What a route is known as to those who authenticate its callers, as calls are by their protocol: the plugin that added it. */
  familyOf(route: Route): string;
  readonly commands: Entries<Command>;
  readonly readiness: Entries<Readiness>;
  readonly guards: Registry<Guard>;
  /** What `tollgate doctor` is to look at. */
  readonly examinations: Registry<Examination>;
  /** How many calls are being answered. */
  readonly running: { readonly count: number };
  readonly catalog: Catalog;
  /** Who serves a model, and how they are to be spoken to for a client of this protocol; empty for an unknown model. */
  targetsFor(model: string, client: Protocol): readonly Target[];
  /** The process's metrics; register with `getSingleMetric` first, since a reload applies plugins again. */
  readonly metrics: MetricsRegistry;
  /** The answer is all metrics as Prometheus reads them, of every worker together. */
  scrape(): Promise<string>;
  readonly workers: Workers;
  readonly logger: Logger;
  /** The folder for what is kept on disk (`TOLLGATE_DATA`). */
  readonly dataFolder: string;
  readonly resource: OpenResource;
  /** Calls back once all plugins are applied, for `tollgate check` too: whether names that options hold are there. Throwing stops the start. */
  applied(look: () => void): void;
  /** Opens a listener, kept by the process, that serves all `operator` routes and what is `everywhere`; answers its address. */
  openOperatorDoor(address: { readonly host: string; readonly port: number }): Promise<string>;
  /** Names a data file (its full path) that the plugin has read: when it changes, the configuration is read again. */
  readsFrom(file: string): void;
  /** Adds a line to what is printed at the start. */
  tell(line: string): void;
  /** Says that the plugin does nothing, and what would switch it on: `set OPENAI_API_KEY`. */
  off(remedy: string): void;
  /** Names the base address of a protocol's clients, which is printed at the start; where nothing is below it, the protocol's errors say so. */
  address(address: ClientAddress): void;
  /**
   * Adds a command to paste, printed after all other lines at the first start. `{url}` in it becomes the gateway's address,
   * and `{model}` the cheapest model with this output, text unless given; without such a model the command is left out.
   */
  example(line: string, output?: 'text' | 'image'): void;
  /** Asks a vendor for its models when ready and from time to time, and offers what it answers. */
  discover(
    provider: Provider,
    source: { url: string; headers: Readonly<Record<string, string>>; options: ProviderOptions },
  ): void;
}

/** The version of what a plugin is given and has to give: another one where plugins written for the last could not run. */
export const pluginInterface = 1;

export interface Plugin {
  readonly name: string;
  /** The version of the plugin interface it was made for: `definePlugin` writes its own. */
  readonly interface: number;
  /** Passed the gateway's host, once for each reading of the configuration. Throwing stops the start. */
  apply(host: Host): void;
  /** Called instead in the process that starts several workers, for what is kept once for all of them; what a reload adds waits for the next start. */
  supervise?(supervisor: Supervisor): void;
}

/** Falsy entries are left out, so that `process.env.X && plugin()` can stand in the list. */
export type PluginEntry = Plugin | false | undefined | null | '' | 0;

export interface PluginFactory<Options extends z.ZodType> {
  (options?: z.input<Options>): Plugin;
  /** What it checks its options by, for whoever describes them. */
  readonly options: Options;
}

/** An error that names the plugin whose options or start it is about. */
export class PluginError extends Error {
  readonly plugin: string;

  constructor(plugin: string, message: string, cause?: unknown) {
    super(`plugin "${plugin}": ${message}`, { cause });
    this.name = 'PluginError';
    this.plugin = plugin;
  }
}

/** Where the gateway's own code is: a slip is never told to be there. */
const core = new URL('.', import.meta.url).href;

/** Why something failed, in one line; a slip in somebody's code is told with where it was made. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isSlip = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  const frame = isSlip
    ? error.stack
        ?.split('\n')
        .find((line) => line.startsWith('    at ') && !line.includes(core))
        ?.trim()
    : undefined;
  return frame === undefined ? error.message : `${error.message}, ${frame}`;
}

/** What a plugin threw, with its name. */
export function namingPlugin(plugin: string, error: unknown): PluginError {
  return error instanceof PluginError ? error : new PluginError(plugin, reasonOf(error), error);
}

/** Makes a plugin of its parts; the factory throws a `PluginError` naming every wrong option. */
export function definePlugin<Options extends z.ZodType>(parts: {
  name: string;
  options: Options;
  apply(host: Host, options: z.output<Options>): void;
  supervise?: Plugin['supervise'];
}): PluginFactory<Options> {
  const factory = (options?: z.input<Options>): Plugin => {
    const checked = parts.options.safeParse(options ?? {});
    if (!checked.success)
      throw new PluginError(parts.name, faultsOf(parts.options, checked.error), checked.error);
    const { name, supervise } = parts;
    return {
      name,
      interface: pluginInterface,
      apply: (host) => parts.apply(host, checked.data),
      ...(supervise ? { supervise } : {}),
    };
  };
  return Object.assign(factory, { options: parts.options });
}
