/**
 * Items of tools that the provider ran (code, images, searches and others), in both directions. An item of
 * this protocol is returned unchanged. The protocol announces each item in steps. The gateway sends all steps
 * together, when the item is complete; only partial images are sent before.
 */
import {
  type BlockKind,
  type CanonicalEvent,
  type EventOf,
  type Opaque,
  toCount,
} from '../../../core/index.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import type { BlockFacts } from '../../shared/wire-kit/reply-log.ts';
import { readList, readText } from '../../shared/wire-kit/values.ts';
import { type Fields, isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { isOpenItem } from './compaction.ts';
import { bag } from './encoding.ts';
import type { ItemEvent, OpenHosted, ItemWriter } from './items-out.ts';

interface HostedBlock {
  readonly kind: BlockKind;
  readonly facts: BlockFacts;
  readonly text: string;
}

export function decodeHostedItem(type: string, wire: Fields): HostedBlock[] {
  const id = readText(wire.id) || undefined;
  if (type === 'image_generation_call') {
    const mediaType = `image/${readText(wire.output_format) || 'png'}`;
    const { result, ...item } = wire;
    return [{ kind: 'image', facts: { id, mediaType, ...bag.keep({ item }) }, text: readText(result) }];
  }
  if (type === 'code_interpreter_call') return decodeCode(id, wire);
  const { action } = wire;
  const facts = { id, name: type.replace(/_call$/, ''), ...bag.keep({ item: wire }) };
  return [{ kind: 'server-tool', facts, text: isObject(action) ? JSON.stringify(action) : '' }];
}

/** Returns a block with the code, followed by a block with its output. */
function decodeCode(id: string | undefined, wire: Fields): HostedBlock[] {
  const code: HostedBlock = {
    kind: 'code',
    facts: { id, ...bag.keep({ item: wire }) },
    text: readText(wire.code),
  };
  const logs = readList(wire.outputs).flatMap((output) =>
    isObject(output) && output.type === 'logs' ? [readText(output.logs)] : [],
  );
  if (logs.length === 0) return [code];
  // The item above holds the logs too, so the encoder of this protocol skips this block.
  const facts = { name: codeResult, ...bag.keep({ repeated: true }) };
  return [code, { kind: 'server-tool', facts, text: logs.join('\n') }];
}

/** Decodes a preview of an image that the provider is still generating. */
export function decodePartialImage(event: Fields): CanonicalEvent[] {
  const {
    type: _type,
    sequence_number: _number,
    output_index: _index,
    partial_image_index: index,
    partial_image_b64: data,
    ...facts
  } = event;
  if (typeof data !== 'string') return [];
  return [{ type: 'partial-image', candidate: 0, index: toCount(index) ?? 0, data, ...bag.keep(facts) }];
}

type PartialImage = EventOf<'partial-image'>;

type ImagePlace = { readonly item_id: unknown; readonly output_index: number };

const image = { type: 'image_generation_call', event: 'response.image_generation_call' } as const;

export class HostedEncoder {
  readonly #writer: ItemWriter;
  /** Code from another protocol: its output comes in the next block, but belongs to the same item here. */
  #code: { readonly block: OpenHosted; readonly opaque: readonly Opaque[] } | undefined;
  /** The image that the client has received a partial version of. */
  #image: ImagePlace | undefined;
  #compaction: { readonly block: number; readonly item: Fields; readonly index: number } | undefined;

  constructor(writer: ItemWriter) {
    this.#writer = writer;
  }

  /** A compaction is announced as it begins: the client waits for it as long as for an answer. */
  start({ block, vendor }: OpenHosted['start']): void {
    const { item } = bag.getFields({ vendor });
    if (!isObject(item) || !isOpenItem(item)) return;
    this.#writer.makeRoom();
    const begun = { id: this.#writer.makeId('cmp'), ...item, encrypted_content: '' };
    this.#compaction = { block, item: begun, index: this.#writer.add(begun) };
    const place = { item_id: begun.id, output_index: this.#compaction.index };
    this.#writer.emit('response.compaction.compacting', place);
  }

  end(block: OpenHosted, opaque: readonly Opaque[]): void {
    if (this.#compaction?.block === block.start.block) {
      const { index, item } = this.#compaction;
      return this.#writer.finish(index, { ...item, encrypted_content: block.text });
    }
    const { start, text } = block;
    const { item, repeated: isRepeated } = bag.getFields(start);
    if (start.kind === 'code' && item === undefined) this.#code = { block, opaque };
    else if (start.name === codeResult && this.#code) this.flushCode(text);
    else if (isRepeated !== true) this.#writeItem(block, opaque);
  }

  flushCode(logs?: string): void {
    const code = this.#code;
    this.#code = undefined;
    if (code) this.#writeItem(code.block, code.opaque, logs);
  }

  /** Ends the reply: writes waiting code, and marks an unfinished image as failed. */
  close(): void {
    this.flushCode();
    if (this.#image) this.#endImage(this.#image, { type: image.type, status: 'failed', result: null });
  }

  #writeItem({ start, text }: OpenHosted, opaque: readonly Opaque[], logs?: string): void {
    const item = encodeHostedItem(start, text, (prefix) => this.#writer.makeId(prefix), logs);
    if (!item) return this.#writer.context.reportLoss?.(start.kind, 'responses has no item for it');
    if (start.kind === 'image' && this.#image) this.#endImage(this.#image, item);
    else this.#writeSteps(item);
    this.#writer.addState(opaque, 'block');
  }

  #writeSteps(item: Fields): void {
    this.#writer.makeRoom();
    const { begun, steps } = planProgress(item);
    const place = { output_index: this.#writer.add(item, begun), item_id: item.id };
    for (const { type, ...fields } of steps) this.#writer.emit(type, { ...place, ...fields });
    this.#writer.finish(place.output_index, item);
  }

  addPartialImage({ index, data, vendor }: PartialImage): void {
    const fields = bag.getFields({ vendor });
    this.#image ??= this.#startImage(fields.item_id);
    this.#writer.emit(`${image.event}.partial_image`, {
      ...fields,
      ...this.#image,
      partial_image_index: index,
      partial_image_b64: data,
    });
  }

  #startImage(id: unknown = this.#writer.makeId('ig')): ImagePlace {
    this.#writer.makeRoom();
    const item = { id, type: image.type, status: 'in_progress', result: null };
    const place = { item_id: id, output_index: this.#writer.add(item) };
    for (const step of ['in_progress', 'generating']) this.#writer.emit(`${image.event}.${step}`, place);
    return place;
  }

  #endImage(place: ImagePlace, item: Fields): void {
    this.#image = undefined;
    if (item.status === 'completed') this.#writer.emit(`${image.event}.completed`, place);
    this.#writer.finish(place.output_index, { ...item, id: place.item_id });
  }
}

/** Returns undefined if this protocol has no such item: audio, and other vendors' tools. */
function encodeHostedItem(
  start: OpenHosted['start'],
  text: string,
  makeId: (prefix: string) => string,
  logs?: string,
): Fields | undefined {
  const { item } = bag.getFields(start);
  if (isObject(item)) return start.kind === 'image' ? { ...item, result: text } : item;
  const status = 'completed';
  if (start.kind === 'image' && text !== '') {
    const format = start.mediaType?.replace(/^image\//, '') ?? 'png';
    return { id: makeId('ig'), type: image.type, status, output_format: format, result: text };
  }
  if (start.kind === 'code') {
    const outputs = logs === undefined ? [] : [{ type: 'logs', logs }];
    return {
      id: makeId('ci'),
      type: 'code_interpreter_call',
      status,
      code: text,
      container_id: '',
      outputs,
    };
  }
  if (start.kind === 'server-tool' && start.name?.includes('search'))
    return { id: makeId('ws'), type: 'web_search_call', status, action: readSearchAction(text) };
  return undefined;
}

function readSearchAction(text: string): Fields {
  const action = parseJson(text);
  // Text that is not a JSON object is the query itself.
  return { type: 'search', ...(isObject(action) ? action : { query: text }) };
}

const progressSteps: ReadonlyMap<string, string> = new Map([
  ['web_search_call', 'searching'],
  ['file_search_call', 'searching'],
  ['image_generation_call', 'generating'],
  ['code_interpreter_call', 'interpreting'],
]);

/** Returns the item as its first event shows it, and the events between its first and its last. */
function planProgress(item: Fields): { readonly begun: Fields; readonly steps: readonly ItemEvent[] } {
  const { code } = item;
  const type = String(item.type);
  const step = progressSteps.get(type);
  const emptied = {
    ...('result' in item ? { result: null } : {}),
    ...('code' in item ? { code: '', outputs: [] } : {}),
  };
  const begun = { ...item, ...emptied, status: 'in_progress' };
  if (step === undefined) return { begun, steps: [] };
  const codeEvents: ItemEvent[] =
    type === 'code_interpreter_call' && typeof code === 'string'
      ? [
          { type: 'response.code_interpreter_call_code.delta', delta: code },
          { type: 'response.code_interpreter_call_code.done', code },
        ]
      : [];
  return {
    begun,
    steps: [
      { type: `response.${type}.in_progress` },
      ...codeEvents,
      { type: `response.${type}.${step}` },
      { type: `response.${type}.completed` },
    ],
  };
}
