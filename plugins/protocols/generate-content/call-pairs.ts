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

export class Calls {
  #pending: Pending[] = [];
  #count = 0;

  /** Passed a call's name, its id if it has one, and its content; the answer is the id it goes by. */
  called(name: string, id: string | undefined, content: number): string {
    const pending = { id: id ?? makeCallId(content, this.#count, name), name, made: id === undefined };
    this.#count += 1;
    this.#pending.push(pending);
    return pending.id;
  }

  /** Passed a result's name, and its id if it has one; the answer is the id of the call it belongs to. */
  answered(name: string, id: string | undefined): string {
    const byId = id === undefined ? -1 : this.#pending.findIndex((call) => call.id === id);
    const byName = this.#pending.findIndex((call) => call.name === name && (call.made || id === undefined));
    const place = byId >= 0 ? byId : byName;
    const found = this.#pending[place];
    if (!found) return id ?? makeCallId(name);
    this.#pending.splice(place, 1);
    return found.id;
  }
}
