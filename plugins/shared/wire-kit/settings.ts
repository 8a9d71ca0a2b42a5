/**
 * The settings of a request in both directions. A protocol has a table with a row for each of them, so that
 * none is forgotten. From the rows follow what is decoded, sent and lost, and the names of fields.
 */
import type { CanonicalRequest, LossCode } from '../../../core/index.ts';
import { fitModalities } from './fit-to-model.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** The value to send, or undefined for none, and what was lost of it. */
export type Fit = readonly [value: unknown, reason?: string | undefined, code?: LossCode];

export const refusal = 'the model does not accept it';

/** A setting that the model does not take. */
export const refused: Fit = [undefined, refusal, 'model'];

interface Setting<Value, Wire, Context> {
  /** The field that holds it, or the path of one in another; absent if the protocol has none. */
  readonly field?: string;
  /** Where the value is merged into other fields, if it is several: '' for the body. Default: `field`. */
  readonly place?: string;
  /** The names of its parts, by their canonical paths. */
  readonly parts?: Readonly<Record<string, string>>;
  /** Absent: it is decoded together with other settings. */
  readonly decode?: (wire: Wire) => Value | null | undefined;
  /** Absent: it is encoded together with other settings. `sent`: what the rows before this one send. */
  readonly fit?: (value: Value & {}, context: Context, sent: Fields) => Fit;
}

type SettingName = Exclude<
  keyof CanonicalRequest,
  'model' | 'stream' | 'turns' | 'task' | 'names' | 'vendor'
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

/** The row of the modalities in a protocol that only outputs text. */
export const textOnly: Setting<CanonicalRequest['modalities'], unknown, { readonly lose: Lose }> = {
  fit: (modalities, { lose }) => [void fitModalities({ modalities }, { output: ['text'] }, { lose })],
};

/** Sends the value as it is. A model that refuses its field does not get it. */
export function sendUnchanged(value: unknown): Fit {
  return [value];
}

/** Losses are reported in the order of rows. */
export class Settings<Wire, Context extends { readonly lose: Lose }> {
  /** The protocol's names of canonical settings and their parts. */
  readonly fieldNames: Readonly<Record<string, string>>;
  readonly #rows: SettingRows<Wire, Context>;
  readonly #names: readonly SettingName[];
  readonly #fitField: (field: string, context: Context) => string | undefined;

  /** `fitField`: returns the name under which the model takes a field; undefined if it refuses the field. */
  constructor(
    rows: SettingRows<Wire, Context>,
    fitField: (field: string, context: Context) => string | undefined = (field) => field,
  ) {
    const isName = (name: string): name is SettingName => Object.hasOwn(rows, name);
    this.#rows = rows;
    this.#names = Object.keys(rows).filter(isName);
    this.#fitField = fitField;
    const names: Record<string, string> = {};
    for (const name of this.#names)
      Object.assign(names, { [name]: rows[name].field ?? name }, rows[name].parts);
    this.fieldNames = names;
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

  /** The fields that `encode` may write. */
  get written(): ReadonlySet<string> {
    const rows = this.#names.map((name) => this.#rows[name]);
    return new Set(rows.flatMap(({ field, fit }) => (field && fit ? field.replace(/\..*/, '') : [])));
  }

  encode(request: CanonicalRequest, context: Context): Fields {
    const sent: Record<string, unknown> = {};
    const encode = <Name extends SettingName>(name: Name): void => {
      const { field, place = field, parts = {}, fit } = this.#rows[name];
      const value = request[name];
      if (!fit || value === undefined || value === null) return;
      const [fitted, reason, code] = fit(value, context, sent);
      if (reason !== undefined) context.lose(name, reason, code);
      if (place === undefined || fitted === undefined) return;
      const members = place === '' && isObject(fitted) ? fitted : { [place]: fitted };
      for (const path in members) {
        if (members[path] === undefined || this.#put(sent, path, members[path], context)) continue;
        const part = Object.keys(parts).find((each) => parts[each] === path) ?? name;
        context.lose(part, refusal, 'model');
      }
    };
    for (const name of this.#names) encode(name);
    return sent;
  }

  /** Returns false if the model refuses the field. */
  #put(sent: Record<string, unknown>, path: string, value: unknown, context: Context): boolean {
    const [name = '', inner] = path.split('.');
    const field = this.#fitField(name, context);
    if (field === undefined) return false;
    const added = inner === undefined ? value : { [inner]: value };
    const whole = sent[field];
    sent[field] = isObject(whole) && isObject(added) ? { ...whole, ...added } : added;
    return true;
  }
}
