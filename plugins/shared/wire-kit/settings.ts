/**
 * The settings of a request in both directions. A protocol has a table with a row for each of them, so that
 * none is forgotten. From the rows follow what is decoded, sent and lost, and the names of fields.
 */
import type { CanonicalRequest, LossCode } from '../../../core/index.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** The value to send, or undefined for none, and what was lost of it. */
export type Fit = readonly [value: unknown, reason?: string | undefined, code?: LossCode];

interface Setting<Value, Wire, Context> {
  /** The field that holds it, or the path of one in another; absent if the protocol has none. */
  readonly field?: string;
  /** Where the value is merged into other fields, if it is several. Default: `field`. */
  readonly place?: string;
  /** Absent: it is decoded together with other settings. */
  readonly decode?: (wire: Wire) => Value | null | undefined;
  /** Absent: it is encoded together with other settings. */
  readonly fit?: (value: Value & {}, context: Context) => Fit;
}

type SettingName = Exclude<
  keyof CanonicalRequest,
  'model' | 'stream' | 'turns' | 'tools' | 'names' | 'vendor'
>;

export type SettingRows<Wire, Context> = {
  readonly [Name in SettingName]: Setting<CanonicalRequest[Name], Wire, Context>;
};

/** The row of a setting that a protocol lacks. `isStated`: whether the value asks for anything. */
export function buildLost<Value>(
  protocol: string,
  isStated: (value: Value & {}) => boolean = Boolean,
): Setting<Value, unknown, unknown> {
  return { fit: (value) => [undefined, isStated(value) ? `${protocol} has no such field` : undefined] };
}

/** Losses are reported in the order of rows. A row may look at what the rows before it send. */
export class Settings<Wire, Context extends { readonly lose: Lose }> {
  readonly #rows: SettingRows<Wire, Context & { readonly sent: Fields }>;
  readonly #names: readonly SettingName[];

  constructor(rows: SettingRows<Wire, Context & { readonly sent: Fields }>) {
    const isName = (name: string): name is SettingName => Object.hasOwn(rows, name);
    this.#rows = rows;
    this.#names = Object.keys(rows).filter(isName);
  }

  /** The protocol's names of canonical settings. */
  get fieldNames(): Record<string, string> {
    return Object.fromEntries(this.#names.map((name) => [name, this.#rows[name].field ?? name]));
  }

  /** The fields that `encode` may write. */
  get written(): ReadonlySet<string> {
    const rows = this.#names.map((name) => this.#rows[name]);
    return new Set(rows.flatMap(({ field, fit }) => (field && fit ? field.replace(/\..*/, '') : [])));
  }

  decode(wire: Wire): Partial<CanonicalRequest> {
    const request: Partial<CanonicalRequest> = {};
    const decode = <Name extends SettingName>(name: Name): void => {
      const value = this.#rows[name].decode?.(wire);
      if (value !== undefined && value !== null) request[name] = value;
    };
    for (const name of this.#names) decode(name);
    return request;
  }

  encode(request: CanonicalRequest, context: Context): Fields {
    const sent: Record<string, unknown> = {};
    const circumstances = { ...context, sent };
    const encode = <Name extends SettingName>(name: Name): void => {
      const { field, place = field, fit } = this.#rows[name];
      const value = request[name];
      if (!fit || value === undefined || value === null) return;
      const [fitted, reason, code] = fit(value, circumstances);
      if (reason !== undefined) context.lose(name, reason, code);
      if (place !== undefined && fitted !== undefined) put(sent, place, fitted);
    };
    for (const name of this.#names) encode(name);
    return sent;
  }
}

function put(fields: Record<string, unknown>, path: string, value: unknown): void {
  const [name = '', inner] = path.split('.');
  const whole = fields[name];
  const added = inner === undefined ? value : { [inner]: value };
  fields[name] = isObject(whole) && isObject(added) ? { ...whole, ...added } : added;
}
