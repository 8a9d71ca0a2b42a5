/** Collects the output items of one response, and the stream events that announce them. */
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { makeId } from './response-object.ts';

/** One stream event without its sequence number. */
export interface ItemEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export class ItemWriter {
  readonly output: Fields[] = [];
  readonly responseId: string;
  #events: ItemEvent[] = [];

  constructor(responseId: string) {
    this.responseId = responseId;
  }

  /** Returns the events written since the last call. */
  takeEvents(): ItemEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  emit(type: string, fields: Fields): void {
    this.#events.push({ type, ...fields });
  }

  /** Appends an item and returns its index. `shown` is the item for the event, if `item` changes later. */
  add(item: Fields, shown = item): number {
    const index = this.output.length;
    this.output.push(item);
    this.emit('response.output_item.added', { output_index: index, item: shown });
    return index;
  }

  finish(index: number, item: Fields): void {
    this.output[index] = item;
    this.emit('response.output_item.done', { output_index: index, item });
  }

  makeId(prefix: string): string {
    return makeId(prefix, this.responseId, this.output.length);
  }
}
