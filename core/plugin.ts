/**
 * A plugin is a name and a function that receives the gateway's host once, when the configuration is loaded.
 * It taps hooks and adds protocols, providers, routes and commands. `definePlugin` infers the options from
 * their zod schema and checks them where the configuration is written, so an error names the plugin and the
 * option before anything runs.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { z } from 'zod';
import type { Catalog } from './catalog.ts';
import type { End, Parsed, Planned, Principal, Replayed, Target } from './exchange.ts';
import type { Hooks } from './hooks.ts';
import type { Notices } from './notices.ts';
import type { Operations } from './operations.ts';
import type { ClientAddress, Description, ErrorReply, Protocol } from './protocol.ts';
import type { Provider } from './provider.ts';
import type { Entries, Registry } from './util/registry.ts';
import type { Secret, SecretSchema } from './util/secret-references.ts';

/** Version of the plugin interface. It changes when plugins written for the last one could not run. */
export const pluginInterface = 1;

export interface Plugin {
  readonly name: string;
  /** The interface version the plugin was made for. `definePlugin` writes its own. */
  readonly interface: number;
  /** The options as given, with their schema, for operators to look at. */
  readonly options?: GivenOptions;
  /** Receives the host, once per reading of the configuration. Throwing stops the start. */
  apply(host: Host): void;
  /** Runs in the process that starts several workers, for state kept once. A reload does not run it. */
  supervise?(supervisor: Supervisor): void;
}

/** Falsy entries are skipped, so `process.env.X && plugin()` works in the list. */
export type PluginEntry = Plugin | false | undefined | null | '' | 0;

export interface PluginFactory<Options extends z.ZodType> {
  (options?: z.input<Options>): Plugin;
  /** The schema of its options. */
  readonly options: Options;
}

/** Options as they were given, with the defaults of their schema. */
export interface GivenOptions {
  readonly schema: z.ZodType;
  readonly given: unknown;
}

/** A call that a plugin makes for a client, as if that had posted it. */
export interface PostedCall {
  /** JSON text, with `stream: true`. */
  readonly body: string;
  /** An abort is a client that disconnects. */
  readonly signal: AbortSignal;
  /** Takes the data of one event. What it returns is waited for: the provider goes at this pace. */
  take(data: string): Promise<void> | undefined;
}

export interface PostedReply {
  /** The id of its exchange. */
  readonly id: string;
  /** Resolves once all events are taken. `text` is the body of an error. */
  readonly end: Promise<{
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly text: string;
  }>;
}

/** Everything a plugin can add to, and nothing it could break. */
export interface Host {
  readonly hooks: Hooks;
  /** Names of all plugins in the configuration. */
  readonly plugins: ReadonlySet<string>;
  readonly protocols: Registry<Protocol>;
  readonly providers: Registry<Provider>;
  readonly keyrings: Registry<Keyring>;
  readonly credentials: Registry<Credential>;
  /** The owner of a route is its family for credentials. */
  readonly routes: Entries<Route>;
  readonly upgrades: Registry<Upgrade>;
  readonly commands: Entries<Command>;
  readonly readiness: Entries<Readiness>;
  readonly guards: Registry<Guard>;
  /** Tables that plugins keep in the database of another plugin. */
  readonly tables: Registry<TableStore>;
  /** Checks for `tollgate doctor`. */
  readonly examinations: Registry<Examination>;
  /** Tells operators what they should know. */
  readonly notices: Notices;
  readonly catalog: Catalog;
  /** Finds the targets of a model for a client of this protocol. Empty if the model is unknown. */
  findTargets(model: string, client: Protocol): readonly Target[];
  /**
   * Makes another call for the caller of this one, with the same headers. It is reserved for, charged and
   * logged like any call, and a stop of the gateway waits for it.
   */
  postCall(parsed: Parsed, posted: PostedCall): Promise<PostedReply>;
  /** What plugins for operators use. */
  readonly operations: Operations;
  /** The process's metrics. Use `getSingleMetric` before you register: a reload applies plugins again. */
  readonly metrics: MetricsRegistry;
  readonly workers: Workers;
  readonly logger: Logger;
  /** Folder for files: `dataFolder` of the configuration. */
  readonly dataFolder: string;
  readonly openResource: OpenResource;
  /** Runs once all plugins are applied: look up names in options here. Throwing stops the start. */
  onApplied(look: () => void): void;
  /** Names a data file (full path) that the plugin has read. A change reloads the configuration. */
  watchFile(file: string): void;
  /**
   * Opens a secret that an option or a variable states, or refers to (`allowReference`). `tollgate check` and
   * `tollgate doctor` say if it cannot be read. `schema` checks each value.
   */
  openSecret(text: string, schema?: SecretSchema): Secret;
  /** Adds a line to the output of the start. */
  addNote(line: string): void;
  /** Says that the plugin is off, and what switches it on: `set OPENAI_API_KEY`. */
  noteOff(remedy: string): void;
  /** Names an SDK's base URL, which the start prints. Unknown paths below it get the protocol's errors. */
  addAddress(address: ClientAddress): void;
  /**
   * Offers a command for the output of the first start, which shows the first that a model can answer.
   * `{url}` becomes the gateway's URL, `{model}` the cheapest model with this output (default text).
   */
  addExample(line: string, output?: 'text' | 'image'): void;
}

/**
 * Opens something the process owns: shared by everyone who asks with the same key and options, and closed
 * with its last user. Start a private key with your plugin's name, because all plugins share the keys.
 */
export type OpenResource = <Options extends object, Thing>(
  key: string,
  options: Options,
  open: (options: Options) => Thing | Promise<Thing>,
  close: (thing: Thing) => void | Promise<void>,
) => Promise<Thing>;

/** A request to a plugin's route. */
export interface RouteRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed JSON body of a POST, PUT or PATCH. Undefined without one. */
  readonly body: unknown;
  /** The same body as sent, for signatures. */
  readonly text: string;
  /** The client's IP address, as far as trusted proxies report it. */
  readonly address: string;
  /** On a `personal` route: the user, if a valid key came with the request. */
  readonly principal?: Principal | undefined;
}

export interface RouteReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * A string or bytes is sent as it is, a Node stream as it comes, anything else as JSON. Null or undefined
   * sends no body.
   */
  readonly body: unknown;
}

/**
 * An HTTP endpoint of a plugin. Core authenticates by `access` before `handle` runs. `operator` routes are
 * served on the admin listener only.
 */
export type Route = {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** A path with parameters in @koa/router syntax: `/v1/models/:id`. */
  readonly path: string;
  /**
   * Lets routes share a method and path: the first that returns true answers. If none does, the first without
   * `when` answers, or else the first.
   */
  when?(request: Pick<RouteRequest, 'headers' | 'query'>): boolean;
  /** Writes an error in the body of the route's callers. Receives the error and the request id. */
  encodeError(error: unknown, id?: string): RouteReply;
  /** Serves a public route on the admin listener too, which answers when the public listener is full. */
  readonly everywhere?: true;
  /** Serves a public route on the admin listener only, as the page that operators sign in on. */
  readonly adminOnly?: true;
  /** Passes the user to a public route, if a valid key came with the request. */
  readonly personal?: true;
  /** Takes a form of at most 64 kB instead of JSON: `text` is what was sent. */
  readonly takesForm?: true;
  /** The roles of people who may call an operator route; unless given only `owner`. Keys have no role. */
  readonly roles?: readonly string[];
  /** Reads the body, of at most 8 MB and any type, only to discard it. `handle` receives none. */
  readonly discardsBody?: true;
  /** Lets keys that may only read send a POST: it asks a question. */
  readonly changesNothing?: true;
  /** What keys can be limited to, besides the operations of calls: the listing of models, stored replies. */
  readonly operation?: 'models' | 'stored';
  /** Describes the route for `/openapi.json`, once. `false`: nothing to call. */
  readonly describe?: false | (() => Promise<Description>);
} & (
  | { readonly access: 'public'; handle(request: RouteRequest): Promise<RouteReply> }
  | {
      readonly access: 'user' | 'operator';
      handle(request: RouteRequest, principal: Principal): Promise<RouteReply>;
    }
);

/**
 * A path on which a plugin takes WebSockets. Core runs the operator's middleware, checks `Origin`, the key
 * and the limits, and answers with plain HTTP if one of them refuses. Then the plugin owns the connection.
 */
export interface Upgrade {
  readonly name: string;
  /** Name of its calls' protocol, which decides what credentials count and how a refusal is written. */
  readonly protocol: string;
  /** Receives a path, decoded and without a slash at its end. */
  matches(path: string): boolean;
  /** The values of `Origin` that are let in. Only browsers send one; a page of any other site is refused. */
  readonly origins: readonly string[];
  /** Connections in this process: in all, and of one key. */
  readonly limits: { readonly all: number; readonly perKey: number };
  /** Takes a connection. Returns what a stop calls: finish what runs, then close. */
  take(connection: UpgradedConnection): () => void;
}

export interface UpgradedConnection {
  /** What a WebSocket library needs for the handshake. Do not keep the request. */
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  /** Milliseconds a client may read nothing before it is disconnected. */
  readonly longestStall: number;
  readonly logger: Logger;
  /** Counts bytes that the client makes the gateway hold, within the limits of request bodies. */
  holdBytes(): HeldBytes;
  /**
   * Checks a call without making it: its key, body, model, and whether the key may call that. Nothing is sent
   * or charged. Resolves with the error reply, or undefined if the call may be made.
   */
  check(body: string): Promise<ErrorReply | undefined>;
  /**
   * Makes a call at the same path with the headers of the upgrade: every hook runs, and it is logged, limited
   * and charged as any other.
   */
  post(posted: PostedCall): PostedReply;
}

export interface HeldBytes {
  /** Throws `rate_limited` or `overloaded` if a limit is reached. */
  take(bytes: number): void;
  /** Gives back everything that was taken. */
  release(): void;
}

/** Looks up keys, so that a credential scheme need not know where they are stored. */
export interface Keyring {
  readonly name: string;
  /** Receives a secret. Undefined: not a key of this keyring. Rejects if the store is unavailable. */
  verify(secret: string): Promise<Principal | undefined> | Principal | undefined;
  readonly people?: PeopleKeys;
}

/** What a keyring does for people who sign in. */
export interface PeopleKeys {
  /**
   * Makes a key and discards its secret, unless the holder has one of this name, which must not be disabled.
   * Resolves with its handle, or undefined without an open account.
   */
  lend(order: { account: string; holder: string; name: string }): Promise<string | undefined>;
  /** The principal of a handle, as `verify` finds that of a secret. */
  find(handle: string): Promise<Principal | undefined> | Principal | undefined;
  /** Disables all keys of a holder, and resolves with their ids. Notes who did it, as `resume` does. */
  suspend(holder: string, author: string): Promise<readonly string[]>;
  resume(holder: string, keys: readonly string[], author: string): Promise<void>;
}

/** How clients can send a key, for `/openapi.json`. Taps on `authenticate` decide who is let in. */
export interface Credential {
  readonly name: string;
  /** The families that accept it. Undefined: all. */
  readonly families?: readonly string[] | undefined;
  /** OpenAPI security schemes by name; any one of them is enough. */
  readonly openapi: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** A condition for getting calls: `/readyz` is red while any has a fault. */
export interface Readiness {
  readonly name: string;
  /** Runs at each request of `/readyz`. Undefined: ready. Otherwise the fault, for an operator. */
  findFault(): string | undefined;
}

/** Limits requests to public pages, which need no key. */
export interface Guard {
  readonly name: string;
  /** Receives the client's IP address before its page is served. Reject to refuse the client. */
  admit(address: string): Promise<void> | undefined;
}

export interface Finding {
  /** What was checked, in one or two words. */
  readonly subject: string;
  /** A `note` is worth knowing, but nothing fails because of it. */
  readonly state: 'well' | 'note' | 'fault';
  readonly message: string;
  /** How to fix it. */
  readonly remedy?: string;
}

/** A check that `tollgate doctor` runs, next to a running gateway or without one. */
export interface Examination {
  readonly name: string;
  examine(): Promise<Finding[]>;
}

/** Integers are read as BigInt. */
export type TableValue = string | number | bigint | null;
export type TableRow = Readonly<Record<string, unknown>>;

/** SQL that SQLite and PostgreSQL both know, with `$1` for the first of its values. */
export interface TableStatement {
  readonly sql: string;
  readonly values?: readonly TableValue[];
}

/** The tables of a plugin, which the store that owns the database makes, migrates and backs up. */
export interface TableDeclaration {
  /** Small letters, digits and `_`. Tables and indexes of `visits` begin with `plugin_visits_`. */
  readonly name: string;
  /**
   * One statement each, run once and in this order: `CREATE TABLE`, `CREATE INDEX`, or `ALTER TABLE` with
   * `ADD COLUMN`. New ones go to the end; none is changed once it is released. The previous version of the
   * plugin may use the tables at the same time, so they only expand.
   */
  readonly migrations: readonly string[];
  /** What the plugin writes with the money of calls. */
  readonly calls?: CallStatements;
}

/**
 * Statements that the store runs in its own transaction, when it reserves for a call and when it ends the
 * reservation: they commit with the ledger's entry or not at all.
 */
export interface CallStatements {
  /** With the reservation. If it throws or a statement fails, the call is refused and nothing is written. */
  reserve?(planned: Planned): readonly TableStatement[];
  /**
   * With the entry that ends the reservation. The vendor has done its work by then, so if this throws or a
   * statement fails, the entry is written without the plugin's statements, and the log says so.
   */
  settle?(end: Exclude<End, Replayed>): readonly TableStatement[];
  /**
   * SQL with the entry of a call whose process died before `settle`: `$1` is the call's id, and `$2` what it
   * is charged in nano-USD. If the process was only slow, its `settle` follows.
   */
  readonly recover?: string | undefined;
}

export interface Tables {
  /** Runs a `SELECT`. */
  read(statement: TableStatement): Promise<readonly TableRow[]>;
  /**
   * Runs all statements in one transaction, or none of them. Each is a `SELECT`, or writes a table of the
   * plugin. Resolves with the rows that each returns.
   */
  write(statements: readonly TableStatement[]): Promise<readonly (readonly TableRow[])[]>;
}

/** A plugin with a database keeps the tables of the others. */
export interface TableStore {
  readonly name: string;
  /** Whether gateways on other machines can use the same database. */
  readonly isShared?: boolean;
  /** Brings the tables up to date. Rejects until the store is open. */
  open(declaration: TableDeclaration): Promise<Tables>;
  /** Runs the work with the tables open, in a gateway and on the command line. */
  use?<Result>(declaration: TableDeclaration, work: (tables: Tables) => Promise<Result>): Promise<Result>;
}

/** Answers a question of another process. Questions and answers cross as JSON; undefined is no answer. */
export type AnswerQuestion = (question: unknown) => unknown;

/** The other processes that share the port. Questions and answers cross as JSON. */
export interface Workers {
  readonly several: boolean;
  /** Sends news to all other workers, and waits for nothing. */
  notify(topic: string, news: unknown): void;
  /** Asks all other workers, and resolves with the first answer. Undefined if none answers in time. */
  askForFirstAnswer(topic: string, question: unknown): Promise<unknown>;
  /** Asks all other workers, and resolves with the answers of those that answer in time. */
  askForAllAnswers(topic: string, question: unknown): Promise<readonly unknown[]>;
  /** Asks the plugin's `supervise`. Undefined if it does not answer in time, by default two seconds. */
  askSupervisor(topic: string, question: unknown, milliseconds?: number): Promise<unknown>;
  /** Answers questions of other processes. The result stops answering. */
  answer(topic: string, answer: AnswerQuestion): () => void;
}

/** The process that starts the workers, as a plugin sees it. */
export interface Supervisor {
  /** The metrics of this process. */
  readonly metrics: MetricsRegistry;
  /** The handler also receives the number of the worker that asks. */
  answer(topic: string, answer: (question: unknown, worker: number) => unknown): void;
  /** Runs for each worker that exits, with its number. */
  onGone(listener: (worker: number) => void): void;
}

/** One option in commander syntax: `--credit <usd>`. */
export interface CommandOption {
  readonly flags: string;
  readonly description: string;
}

/** A command of the command line, such as `keys create`. It works while a server runs. */
export interface Command {
  /** The name, with arguments in commander syntax: `keys disable <key>`. */
  readonly name: string;
  readonly description: string;
  /** What all verbs with its first word are for; one of them says it, for `--help`. */
  readonly group?: string | undefined;
  readonly options?: readonly CommandOption[];
  /**
   * Receives text. The result is printed, as JSON with `--json` and as lines otherwise. `print` shows a line
   * before that, and with `--json` the value that the line is about, if it is about one.
   */
  run(
    args: readonly string[],
    options: Readonly<Record<string, string | boolean | undefined>>,
    print: (line: string, value?: unknown) => void,
  ): Promise<CommandResult>;
}

export interface CommandResult {
  /** What `--json` prints; undefined: nothing. */
  readonly json: unknown;
  readonly text: string;
  /** Whether a check found a fault: printed like a success, with exit code 1. */
  readonly failed?: boolean;
}
