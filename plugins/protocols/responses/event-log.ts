/**
 * The events of a response that runs in the background and is streamed. Clients read them from the start or
 * from where they left off, and follow what comes. Only the process that runs the response has them.
 */
import { sliceMember } from '../../../core/index.ts';
import { terminator } from './reply-out.ts';

/** Characters of one response. A log that would have more, or more than is left for all, ends. */
const largest = 8 * 1024 * 1024;

export class EventLog {
  readonly #events: { readonly number: number; readonly frame: string }[] = [];
  readonly #room: { left: number };
  #length = 0;
  #isOver = false;
  #next = Promise.withResolvers<void>();

  /** `room`: the characters that are left for all logs. */
  constructor(room: { left: number }) {
    this.#room = room;
  }

  get lastNumber(): number {
    return this.#events.at(-1)?.number ?? -1;
  }

  /** Adds an event, as the JSON text of its data. */
  add(data: string): void {
    if (this.#isOver) return;
    const frame = `event: ${JSON.parse(sliceMember(data, 'type') ?? '""')}\ndata: ${data}\n\n`;
    if (frame.length > Math.min(largest - this.#length, this.#room.left)) return this.end();
    this.#length += frame.length;
    this.#room.left -= frame.length;
    this.#events.push({ number: Number(sliceMember(data, 'sequence_number') ?? 0), frame });
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  /** Gives back the room. A client that is still behind gets no more. */
  forget(): void {
    this.#room.left += this.#length;
    this.#events.length = 0;
  }

  #wake(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** The frames of all events after the one of this number, as they come. */
  async *follow(after: number): AsyncGenerator<string> {
    for (let index = 0; ;) {
      const event = this.#events[index];
      if (event) {
        index += 1;
        if (event.number > after) yield event.frame;
      } else if (this.#isOver) return yield terminator;
      else await this.#next.promise;
    }
  }
}
