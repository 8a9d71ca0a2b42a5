/** What plugins for operators need of a gateway: its configuration, rehearsals of calls and its processes. */
import type { Principal, Target } from './exchange.ts';
import type { Erasure } from './hooks.ts';
import type { Loss } from './loss.ts';
import type { GivenOptions } from './plugin.ts';
import type { ClientAddress, ClientHeaders, ErrorReply, Match, Protocol } from './protocol.ts';
import type { UpstreamRequest } from './provider.ts';
import type { Registry } from './util/registry.ts';

/** What a gateway offers to plugins for operators. */
export interface Operations {
  readonly configuration: Configuration;
  /** Host and port of the public listener, as configured. */
  readonly listener: { readonly host: string; readonly port: number };
  /** Base URLs of SDKs that the plugins have named. Complete once all plugins are applied. */
  readonly addresses: readonly ClientAddress[];
  /** The number of running calls. */
  readonly running: { readonly count: number };
  readonly archives: Registry<Archive>;
  /** Where plugins keep what all gateways of a ledger share. */
  readonly documents: Registry<DocumentStore>;
  /** Opens a listener for `operator` routes and routes that are `everywhere`. Resolves with its URL. */
  openAdminListener(address: { readonly host: string; readonly port: number }): Promise<string>;
  /** Serves calls of all protocols on the admin listener too, below this path. */
  serveCalls(path: string): void;
  /** Runs the `erase` hook. Rejects if a tap fails. */
  erase(erasure: Erasure): Promise<void>;
  /** Takes the steps of a call up to the signature. Nothing is sent or charged. */
  rehearse(call: RehearsedCall): Promise<Rehearsal>;
}

/** A configuration as it was read. */
export interface ConfigFacts {
  readonly file: string;
  readonly dataFolder: string;
  /** Everything but the plugins. */
  readonly settings: GivenOptions;
  readonly plugins: readonly {
    readonly name: string;
    /** What switches it on, if it is off. */
    readonly off: string | undefined;
    readonly options: GivenOptions | undefined;
  }[];
  /** What it needs to serve calls, one line each. */
  readonly lacks: readonly string[];
  /** What it asks for and this machine has no room for. */
  readonly warnings: readonly string[];
}

export interface Reloaded {
  readonly ok: boolean;
  readonly fault: string | undefined;
  /** Settings that wait for the next start. */
  readonly waiting: readonly string[];
  /** Other workers that reload now. */
  readonly workers: number;
}

/** What a process that serves can do with its configuration. Commands of the command line cannot. */
export interface Control {
  /** Processes that share the port. */
  readonly workers: number;
  /** Reads the file again and changes nothing. Rejects if the new configuration cannot be used. */
  read(): Promise<ConfigFacts & Pick<Reloaded, 'waiting'>>;
  reload(): Promise<Reloaded>;
}

export interface Configuration extends Control {
  /** The configuration in force. Complete once all plugins are applied. */
  describe(): ConfigFacts;
}

/** A request as a client would send it. */
export interface RehearsedCall {
  readonly protocol: Protocol;
  readonly match: Match;
  readonly path: string;
  /** Without `?`. */
  readonly query: string;
  /** With lower-case names. */
  readonly headers: ClientHeaders;
  /** JSON text. */
  readonly body: string;
  /** Who calls; by default a key that may call every model. */
  readonly principal?: Principal;
}

export type Rehearsal =
  | {
      readonly model: string | undefined;
      /** The reply to the client, because no target gets the call. */
      readonly error: ErrorReply;
    }
  | {
      readonly model: string;
      readonly error: undefined;
      /** The targets that the router lets the call go to, in order, and all that offer the model. */
      readonly chosen: readonly Target[];
      readonly offered: readonly Target[];
      /** `isSpoken`: the provider has an endpoint for the target's protocol. */
      encode(target: Target, isSpoken: boolean): Promise<RehearsedRequest>;
    };

/** What one target would be sent. */
export interface RehearsedRequest {
  /** `estimated`: a count of tokens that the gateway answers itself. */
  readonly lane: 'verbatim' | 'translated' | 'estimated' | undefined;
  /** Without the provider's credential, and without a URL if it has no endpoint. */
  readonly request: (Omit<UpstreamRequest, 'url'> & { readonly url: string | undefined }) | undefined;
  readonly losses: readonly Loss[];
  /** The reply to the client if this target cannot be sent the call. */
  readonly error: ErrorReply | undefined;
}

/** Where ended calls are kept for longer than a process remembers them. */
export interface Archive {
  readonly name: string;
  /** Finds a call by its id: whose it is, and its record as JSON text. */
  find(id: string): Promise<ArchivedCall | undefined>;
}

export interface ArchivedCall {
  /** The key that made it. */
  readonly key: string;
  readonly body: string;
  /** Its account and who holds its key now, if known: other keys of the same holder may read it. */
  readonly account?: string;
  readonly holder?: string | undefined;
}

/**
 * Short texts that all gateways which share a ledger agree on, such as the history of prices. A plugin with
 * a database keeps them for the others. A write names the version that it replaces, so that no change is
 * lost when two processes write at once.
 */
export interface StoredDocument {
  /** From 1, one more with each write. */
  readonly version: number;
  readonly text: string;
}

export interface Documents {
  /** A document by its name; undefined if it was never written. */
  read(name: string): Promise<StoredDocument | undefined>;
  /** Writes version `replaces` + 1; false if the document has another version by now. New ones replace 0. */
  write(name: string, text: string, replaces: number): Promise<boolean>;
}

export interface DocumentStore {
  readonly name: string;
  /** Runs the work with the store open, in a gateway and on the command line. */
  use<Result>(work: (documents: Documents) => Promise<Result>): Promise<Result>;
}
