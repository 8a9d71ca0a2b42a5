/**
 * Which result answers which call. Google's own calls mostly have no ids and are matched by name and order; here
 * every call has one, so that the other protocols, which know nothing but ids, can pair them.
 */
import { makeCallId } from './call-id.ts';

interface Pending {
  readonly id: string;
  readonly name: string;
  /** Whether the id is ours: then a result can only be matched by name. */
  readonly made: boolean;
}

/** The calls that are not answered, in lines by all that a result may find them by: a search through all takes time by the square. */
export class Calls {
  readonly #lines = new Map<string, Pending[]>();
  readonly #answered = new Set<Pending>();
  #count = 0;

  /** Passed a call's name, its id if it has one, and its content; the answer is the id it goes by. */
  called(name: string, id: string | undefined, content: number): string {
    const pending = { id: id ?? makeCallId(content, this.#count, name), name, made: id === undefined };
    this.#count += 1;
    for (const key of [`id ${pending.id}`, `name ${name}`, ...(pending.made ? [`made ${name}`] : [])]) {
      const line = this.#lines.get(key) ?? [];
      line.push(pending);
      this.#lines.set(key, line);
    }
    return pending.id;
  }

  /** Passed a result's name, and its id if it has one; the answer is the id of the call it belongs to. */
  answered(name: string, id: string | undefined): string {
    const found = id === undefined ? this.#first(`name ${name}`) : this.#first(`id ${id}`) ?? this.#first(`made ${name}`);
    if (!found) return id ?? makeCallId(name);
    this.#answered.add(found);
    return found.id;
  }

  #first(key: string): Pending | undefined {
    const line = this.#lines.get(key) ?? [];
    for (let [first] = line; first && this.#answered.has(first); [first] = line) line.shift();
    return line[0];
  }
}
