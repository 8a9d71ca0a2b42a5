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
