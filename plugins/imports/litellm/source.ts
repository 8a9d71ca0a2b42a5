/**
 * A configuration of LiteLLM: its values, the lines they are on, and which of them were read. What was not
 * read is named with its line, so that nothing is dropped in silence.
 */
import { isNode, LineCounter, parseDocument, type Document } from 'yaml';
import { z } from 'zod';

export type Path = readonly (string | number)[];

/** Bytes of a file at most; those that people publish have a hundredth of it. */
const longest = 1024 * 1024;

function formatPath(path: Path): string {
  return path
    .map((each) => (typeof each === 'number' ? `[${each}]` : `.${each}`))
    .join('')
    .slice(1);
}

export class Source {
  readonly #document: Document;
  readonly #lines = new LineCounter();
  readonly #value: unknown;
  readonly #taken = new Set<string>();
  readonly #remarks: { line: number; setting: string; text: string }[] = [];

  /** Throws an Error that says where the text is no YAML. */
  constructor(text: string) {
    if (text.length > longest) throw new Error('it is larger than 1 MB');
    this.#document = parseDocument(text, { lineCounter: this.#lines, merge: true });
    for (const { message } of this.#document.errors) throw new Error(message.split('\n')[0]);
    this.#value = this.#document.toJS({ maxAliasCount: 100 });
  }

  #get(path: Path): unknown {
    let value = this.#value;
    for (const name of path) value = Object.hasOwn(Object(value), name) ? Object(value)[name] : undefined;
    return value ?? undefined;
  }

  /** The value at a path, if it is there and fits. One that does not fit stays unread, and is named. */
  read<Schema extends z.ZodType>(path: Path, schema: Schema): z.output<Schema> | undefined {
    const { success, data } = schema.safeParse(this.#get(path));
    if (success) this.#taken.add(formatPath(path));
    return data;
  }

  readText(path: Path): string | undefined {
    return this.read(path, z.union([z.string(), z.number().transform(String)]));
  }

  readNumber(path: Path): number | undefined {
    return this.read(
      path,
      z.union([z.number(), z.string().trim().min(1).transform(Number)]).pipe(z.number().positive()),
    );
  }

  /** A value as code: the wanted one, or any number if that is empty. */
  readEdit(path: Path, wanted: string): string | undefined {
    if (wanted === '') return this.readNumber(path)?.toString();
    return this.read(path, z.union([z.string(), z.boolean().transform(String)]).pipe(z.literal(wanted)));
  }

  /** The paths of what a list or an object holds. */
  list(path: Path): Path[] {
    const value = this.#get(path);
    if (typeof value !== 'object' || value === null) return [];
    return Object.keys(value).map((name) => [...path, Array.isArray(value) ? Number(name) : name]);
  }

  note(path: Path, text: string): void {
    // What comes by an alias of YAML has no place of its own.
    const nodes = path.map((_, at) => this.#document.getIn(path.slice(0, at + 1), true));
    const { line } = this.#lines.linePos(nodes.findLast(isNode)?.range?.[0] ?? 0);
    this.#remarks.push({ line, setting: formatPath(path), text });
  }

  /** All remarks by line, with one for each value that was not read. */
  listRemarks(reasons: readonly string[][], path: Path = []) {
    const setting = formatPath(path);
    if (this.#taken.has(setting) || this.#get(path) === undefined) return [];
    const parts = this.list(path);
    for (const part of parts) this.listRemarks(reasons, part);
    if (parts.length === 0 && path.length > 0) {
      const [, reason = ''] = reasons.find(([place = '']) => new RegExp(place).test(setting)) ?? [];
      this.note(path, reason);
    }
    return this.#remarks.toSorted((one, other) => one.line - other.line);
  }
}
