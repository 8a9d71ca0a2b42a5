/**
 * Short texts that all gateways which share a ledger agree on, such as the history of prices. A plugin with a
 * database keeps them for the others. A write names the version that it replaces, so that no change is lost
 * when two processes write at once.
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
