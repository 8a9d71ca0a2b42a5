/** A call of a protocol, from which the console makes a form. */
export interface CallForm {
  readonly protocol: string;
  /** What its models make. */
  readonly makes: string;
  /** The path, with the model in braces if it names one. */
  readonly path: string;
  /** A body whose members are the fields. */
  readonly example: Readonly<Record<string, unknown>>;
  readonly streams: boolean;
}
