/**
 * Pairs results with calls. Most of Google's own calls have no id, and a result answers the first open call
 * of its name. Other protocols know ids only, so every call gets one here.
 */
import { makeCallId } from './tool-names.ts';

interface PendingCall {
  readonly id: string;
  readonly name: string;
  /** True if we made the id: then a result can match only by name. */
  readonly made: boolean;
}

interface Queue {
  readonly calls: PendingCall[];
  /** The first call that may be open. Removing earlier ones would move all later ones each time. */
  first: number;
}

/** The open calls, in queues by id and by name: a search through one list would take quadratic time. */
export class CallPairs {
  readonly #queues = new Map<string, Queue>();
  readonly #answered = new Set<PendingCall>();
  #count = 0;

  /** Records a call of the content with this index, and returns its id: the given one, or a new one. */
  addCall(name: string, id: string | undefined, content: number): string {
    const pending = { id: id ?? makeCallId(content, this.#count, name), name, made: id === undefined };
    this.#count += 1;
    for (const key of [`id ${pending.id}`, `name ${name}`, ...(pending.made ? [`made ${name}`] : [])]) {
      const queue = this.#queues.get(key);
      if (queue) queue.calls.push(pending);
      else this.#queues.set(key, { calls: [pending], first: 0 });
    }
    return pending.id;
  }

  /** Returns the id of the call that a result answers. */
  matchResult(name: string, id: string | undefined): string {
    const found =
      id === undefined
        ? this.#findOpenCall(`name ${name}`)
        : (this.#findOpenCall(`id ${id}`) ?? this.#findOpenCall(`made ${name}`));
    if (!found) return id ?? makeCallId(name);
    this.#answered.add(found);
    return found.id;
  }

  #findOpenCall(key: string): PendingCall | undefined {
    const queue = this.#queues.get(key);
    if (!queue) return undefined;
    while (queue.first < queue.calls.length) {
      const call = queue.calls[queue.first];
      if (call && !this.#answered.has(call)) return call;
      queue.first += 1;
    }
    return undefined;
  }
}
