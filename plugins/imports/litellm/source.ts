/**
 * A configuration of LiteLLM: its values, the lines they are on, and which of them were read. What was not
 * read is named with its line, so that nothing is dropped in silence.
 */
import { isNode, LineCounter, parseDocument, type Document } from 'yaml';
import { z } from 'zod';

export type Path = readonly string[];

export const text = z.union([z.string(), z.number().transform(String)]);
export const number = z
  .union([z.number(), z.string().trim().min(1).transform(Number)])
  .pipe(z.number().positive());

/** Bytes of a file at most; those that people publish have a hundredth of it. */
const longest = 1024 * 1024;

function formatPath(path: Path): string {
  const parts = path.map((each) => (/^\d+$/.test(each) ? `[${each}]` : `.${each}`));
  return parts.join('').replace(/^\./, '');
}

export class Source {
  readonly #document: Document;
  readonly #lines = new LineCounter();
  readonly #value: unknown;
  readonly #taken = new Set<string>();
  readonly #remarks: { line: number; setting: string; text: string }[] = [];

  /** Throws an Error that says where the text is no YAML. */
  constructor(written: string) {
    if (written.length > longest) throw new Error('it is larger than 1 MB');
    this.#document = parseDocument(written, { lineCounter: this.#lines, merge: true });
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

  /** The paths of what a list or an object holds. */
  list(path: Path): Path[] {
    const value = this.#get(path);
    return typeof value === 'object' ? Object.keys(Object(value)).map((name) => [...path, name]) : [];
  }

  note(path: Path, said: string): void {
    // What comes by an alias of YAML has no place of its own.
    const nodes = path.map((_, at) => this.#document.getIn(path.slice(0, at + 1), true));
    const { line } = this.#lines.linePos(nodes.findLast(isNode)?.range?.[0] ?? 0);
    this.#remarks.push({ line, setting: formatPath(path), text: said });
  }

  /** All remarks by line, with one for each value that was not read. */
  listRemarks(reasons: readonly string[][], path: Path = []) {
    const setting = formatPath(path);
    if (this.#taken.has(setting) || this.#get(path) === undefined) return [];
    const parts = this.list(path);
    for (const part of parts) this.listRemarks(reasons, part);
    if (parts.length === 0 && path.length > 0)
      this.note(path, reasons.find(([place = '']) => new RegExp(place).test(setting))?.[1] ?? '');
    return this.#remarks.toSorted((one, other) => one.line - other.line);
  }
}
