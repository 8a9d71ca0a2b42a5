/**
 * Pairs results with calls. Most of Google's own calls have no id, and a result belongs to the first open
 * call of its name. Other protocols pair by id only, so every call gets an id here.
 */
import { makeCallId } from './tool-names.ts';

interface PendingCall {
  readonly id: string;
  readonly name: string;
  /** True if the gateway made the id. A result can then only match by name. */
  readonly made: boolean;
}

interface Queue {
  readonly calls: PendingCall[];
  /** Index of the first call that may be open. To remove earlier calls would move all later ones. */
  first: number;
}

/** The open calls, in queues by id and by name: a search through one list would take quadratic time. */
export class CallPairs {
  readonly #queues = new Map<string, Queue>();
  readonly #answered = new Set<PendingCall>();
  #count = 0;

  /** Adds a call of the content with this index. Returns its id, or a new one if it has none. */
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

  /** Returns the id of the call that a result belongs to. */
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
