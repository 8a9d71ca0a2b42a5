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

interface Queue {
  readonly calls: Pending[];
  /** The first that may not be answered. To take those before it out of a long list would move all the others each time. */
  first: number;
}

/** The calls that are not answered yet, in queues by whatever a result may name them by: a search through all of them would take quadratic time. */
export class Calls {
  readonly #queues = new Map<string, Queue>();
  readonly #answered = new Set<Pending>();
  #count = 0;

  /** Passed a call's name, its id if it has one, and its content; the answer is the id it goes by. */
  called(name: string, id: string | undefined, content: number): string {
    const pending = { id: id ?? makeCallId(content, this.#count, name), name, made: id === undefined };
    this.#count += 1;
    for (const key of [`id ${pending.id}`, `name ${name}`, ...(pending.made ? [`made ${name}`] : [])]) {
      const queue = this.#queues.get(key);
      if (queue) queue.calls.push(pending);
      else this.#queues.set(key, { calls: [pending], first: 0 });
    }
    return pending.id;
  }

  /** Passed a result's name, and its id if it has one; the answer is the id of the call it belongs to. */
  answered(name: string, id: string | undefined): string {
    const found =
      id === undefined
        ? this.#first(`name ${name}`)
        : (this.#first(`id ${id}`) ?? this.#first(`made ${name}`));
    if (!found) return id ?? makeCallId(name);
    this.#answered.add(found);
    return found.id;
  }

  #first(key: string): Pending | undefined {
    const queue = this.#queues.get(key);
    if (!queue) return undefined;
    for (
      let call = queue.calls[queue.first];
      call && this.#answered.has(call);
      call = queue.calls[queue.first]
    )
      queue.first += 1;
    return queue.calls[queue.first];
  }
}
