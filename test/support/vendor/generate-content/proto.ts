/**
 * Reads JSON as Google's servers do, by the message that it represents: either spelling of a field,
 * enumerations by name, long numbers as text, bytes in either base64. Any other field is refused.
 */
import { isObject } from '../../json.ts';

/**
 * A field's kind by name: `string`, `bool`, `int32`, `int64`, `float`, `bytes`, `struct`, `any`, an
 * enumeration, a message; `[kind]` repeats, `{kind}` maps.
 */
type Fields = Readonly<Record<string, string>>;

export interface Messages {
  readonly messages: Readonly<Record<string, Fields>>;
  readonly enums: Readonly<Record<string, readonly string[]>>;
  /** Fields of which a message may hold one. */
  readonly choices: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

export interface Violation {
  readonly field: string;
  readonly description: string;
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text) || /^[A-Za-z0-9_-]*={0,2}$/.test(text);
}

function isWhole(value: unknown): boolean {
  return typeof value === 'number'
    ? Number.isInteger(value)
    : typeof value === 'string' && /^-?\d+$/.test(value);
}

/** Whether a value is of a scalar kind; undefined if the kind is not a scalar. */
const scalars: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  bool: (value) => typeof value === 'boolean',
  int32: (value) => isWhole(value) && Math.abs(Number(value)) < 2 ** 31,
  int64: isWhole,
  float: (value) => typeof value === 'number',
  bytes: (value) => typeof value === 'string' && isBase64(value),
  struct: isObject,
  any: () => true,
};

export class ProtoReader {
  readonly violations: Violation[] = [];
  readonly #types: Messages;

  constructor(types: Messages) {
    this.#types = types;
  }

  #complain(field: string, description: string): undefined {
    this.violations.push({ field, description });
    return undefined;
  }

  /** The value with its fields in one spelling, without nulls. */
  read(value: unknown, kind: string, at: string): unknown {
    if (kind.startsWith('[')) return this.#readList(value, kind.slice(1, -1), at);
    if (kind.startsWith('{')) return this.#readMap(value, kind.slice(1, -1), at);
    const scalar = scalars[kind];
    if (scalar) return scalar(value) ? value : this.#rejectScalar(value, kind, at);
    const names = this.#types.enums[kind];
    if (names)
      return typeof value === 'string' && names.includes(value.toUpperCase())
        ? value.toUpperCase()
        : this.#rejectScalar(value, `type.googleapis.com/google.ai.generativelanguage.v1beta.${kind}`, at);
    return this.#readMessage(value, kind, at);
  }

  #rejectScalar(value: unknown, kind: string, at: string): undefined {
    const shown = JSON.stringify(value) ?? 'nothing';
    if (kind === 'bytes' && typeof value === 'string')
      return this.#complain(
        at,
        `Invalid value at '${at}' (TYPE_BYTES), Base64 decoding failed for ${shown.slice(0, 60)}`,
      );
    if (Array.isArray(value))
      return this.#complain(
        at,
        'Invalid JSON payload received. ' +
          `Unknown name "${at.split('.').at(-1)}" at '${at.split('.').slice(0, -1).join('.')}': ` +
          'Proto field is not repeating, cannot start list.',
      );
    const named = kind.startsWith('type.') ? kind : `TYPE_${kind.toUpperCase()}`;
    return this.#complain(at, `Invalid value at '${at}' (${named}), ${shown.slice(0, 60)}`);
  }

  #readList(value: unknown, kind: string, at: string): unknown {
    // A single item may be written without its list.
    const items = Array.isArray(value) ? value : [value];
    return items.map((item, index) => this.read(item, kind, `${at}[${index}]`));
  }

  #readMap(value: unknown, kind: string, at: string): unknown {
    if (!isObject(value)) return this.#rejectScalar(value, 'map', at);
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, this.read(inner, kind, `${at}[${name}]`)]),
    );
  }

  #readMessage(value: unknown, kind: string, at: string): unknown {
    const fields = this.#types.messages[kind] ?? {};
    if (!isObject(value)) return this.#rejectScalar(value, kind, at);
    const read: Record<string, unknown> = {};
    for (const [name, inner] of Object.entries(value)) {
      const field = Object.hasOwn(fields, name) ? name : toCamelCase(name);
      const known = fields[field];
      // The reader takes the name of the message or its own, nothing between.
      if (known === undefined || (field !== name && toSnakeCase(field) !== name)) {
        this.#complain(
          at,
          `Invalid JSON payload received. Unknown name "${name}"${at ? ` at '${at}'` : ''}: ` +
            'Cannot find field.',
        );
      } else if (Object.hasOwn(read, field)) {
        this.#complain(at, `Invalid JSON payload received. Field "${name}" at '${at}' is set twice.`);
      } else if (inner !== null) {
        read[field] = this.read(inner, known, at ? `${at}.${toSnakeCase(field)}` : toSnakeCase(field));
      }
    }
    for (const [choice, names] of Object.entries(this.#types.choices[kind] ?? {})) {
      const [, second] = names.filter((name) => read[name] !== undefined);
      if (second)
        this.#complain(
          at,
          `Invalid value at '${at}' (oneof), oneof field '${choice}' is already set. Cannot set '${second}'`,
        );
    }
    return read;
  }
}
