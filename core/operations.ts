/** What plugins for operators need of a gateway: its configuration, its previews and its processes. */
import type { Loss } from './loss.ts';
import type { GivenOptions } from './plugin.ts';
import type { ClientAddress, ClientHeaders, ErrorReply } from './protocol.ts';
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
  /** Shows what would be sent for a call, to each target of its model. Nothing is sent or charged. */
  preview(request: PreviewRequest): Promise<Preview>;
  /** All metrics of all workers, in Prometheus text format. */
  scrape(): Promise<string>;
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
export interface PreviewRequest {
  readonly path: string;
  /** Without `?`. */
  readonly query?: string;
  /** With lower-case names. */
  readonly headers?: ClientHeaders;
  /** JSON text. */
  readonly body: string;
  /** Whether to show wires too that the provider does not speak: the request then has no URL. */
  readonly everyWire?: boolean;
}

/** The request of one target by one wire. */
export interface CrossingPreview {
  readonly provider: string;
  readonly model: string;
  readonly wire: string;
  /** Whether the router lets the call go to this target by this wire. */
  readonly isChosen: boolean;
  /** Whether the provider has an endpoint for the wire. */
  readonly isSpoken: boolean;
  /** `estimated`: a count of tokens that the gateway answers itself. */
  readonly lane: 'verbatim' | 'translated' | 'estimated' | undefined;
  /** Without the provider's credential. Undefined if nothing is sent. */
  readonly request:
    | {
        readonly method: string;
        readonly url: string | undefined;
        readonly headers: Readonly<Record<string, string>>;
        readonly body: string;
      }
    | undefined;
  readonly losses: readonly Loss[];
  /** The reply to the client if this target cannot be sent the call. */
  readonly error: ErrorReply | undefined;
}

export interface Preview {
  readonly protocol: string;
  readonly model: string | undefined;
  /** The reply to the client if no target gets the call. */
  readonly error: ErrorReply | undefined;
  readonly crossings: readonly CrossingPreview[];
  /** Crossings that were left out because there are too many. */
  readonly omitted: number;
}

/** Where ended calls are kept for longer than a process remembers them. */
export interface Archive {
  readonly name: string;
  /** Finds a call by its id: the key that made it, and its record as JSON text. */
  find(id: string): Promise<ArchivedCall | undefined>;
}

export interface ArchivedCall {
  readonly key: string;
  readonly body: string;
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
