/**
 * Decodes a provider's reply to canonical events. Each image is a separate candidate with one block. The
 * block's bag holds the settings that the provider reports (size, quality).
 */
import {
  GatewayError,
  toCount,
  type CanonicalEvent,
  type ClientCall,
  type EventDecoder,
  type WireEvent,
} from '../../../core/index.ts';
import { unreadableEvent, parseJson } from '../../shared/wire-kit/event-data.ts';
import { detectBase64PictureType } from '../../shared/wire-kit/media.ts';
import { buildErrorEvent } from '../../shared/wire-kit/openai-error.ts';
import { ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { readObjects, readString } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { isError, readVendorError } from '../../shared/wire-kit/vendor-error.ts';
import { bag } from './bag.ts';
import { ImageCall } from './read-request.ts';
import { decodeUsage } from './usage.ts';

const replyFields = splitNames(`
  created created_at data usage model type b64_json url revised_prompt size quality background
  output_format partial_image_index sequence_number
`);

function readPictureFacts(...sources: readonly Fields[]): Fields {
  const names = ['size', 'quality', 'background', 'output_format', 'revised_prompt'];
  const stated = Object.assign({}, ...sources);
  return Object.fromEntries(
    names.flatMap((name) => (typeof stated[name] === 'string' ? [[name, stated[name]]] : [])),
  );
}

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #log = new ReplyLog();
  #started = false;
  #over = false;

  constructor(call: ClientCall) {
    this.#call = call;
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (!this.#over && wire.data !== '[DONE]') this.#read(parseJson(wire.data), wire);
    return this.#log.take();
  }

  /** A stream is complete only with its `.completed` events. */
  end(): CanonicalEvent[] {
    return [];
  }

  /** Decodes a reply that is not streamed. Throws if it holds no image. */
  decodeWhole(body: unknown): CanonicalEvent[] {
    if (!isObject(body))
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is not an image result.');
    if (isError(body)) this.#fail(body);
    const images = readObjects(body.data);
    if (!this.#over && images.length === 0)
      throw new GatewayError('upstream_failed', 'The provider sent a reply without an image.');
    if (!this.#over) this.#start(body);
    for (const image of images) if (!this.#over) this.#addPicture(image, readPictureFacts(body, image));
    if (!this.#over) this.#finish(body.usage);
    return this.#log.take();
  }

  #read(wire: unknown, from: WireEvent): void {
    if (!isObject(wire)) {
      if (!this.#log.skip(from)) this.#fail({ error: unreadableEvent });
      return;
    }
    const { event } = from;
    const type = typeof wire.type === 'string' ? wire.type : (event ?? '');
    if (isError(wire, type)) return this.#fail(wire);
    if (!this.#started) this.#start(wire);
    if (type.endsWith('.partial_image')) this.#addPartial(wire);
    if (!type.endsWith('.completed')) return;
    this.#addPicture(wire, readPictureFacts(wire));
    if (!this.#over && this.#log.blocks >= this.#call.candidates) this.#finish(wire.usage);
  }

  #start(wire: Fields): void {
    this.#started = true;
    const created = toCount(wire.created ?? wire.created_at);
    this.#log.begin(undefined, undefined, created, bag.keep(pickUnread(wire, replyFields)));
  }

  #addPartial(wire: Fields): void {
    const { b64_json: data, partial_image_index: index } = wire;
    if (typeof data === 'string') {
      this.#log.emit({
        type: 'partial-image',
        candidate: this.#log.blocks,
        index: toCount(index) ?? 0,
        data,
        ...bag.keep(readPictureFacts(wire)),
      });
    }
  }

  #addPicture(image: Fields, facts: Fields): void {
    const { b64_json: data } = image;
    const url = readString(image.url);
    // Of other clients, few can use a picture's URL.
    if (typeof data !== 'string' && !(url && this.#call instanceof ImageCall))
      return this.#fail({ error: 'it sent no image.' });
    const stated = typeof facts.output_format === 'string' ? facts.output_format : 'png';
    const mediaType =
      (typeof data === 'string' ? detectBase64PictureType(data) : undefined) ??
      `image/${stated === 'svg' ? 'svg+xml' : stated}`;
    // Each picture is the only block of its candidate.
    const candidate = this.#log.blocks;
    const place = typeof data === 'string' || url === undefined ? {} : { url };
    const block = this.#log.startBlock(candidate, 'image', { mediaType, ...place, ...bag.keep(facts) });
    if (typeof data === 'string') this.#log.emit({ type: 'block-delta', candidate, block, text: data });
    this.#log.endBlock(candidate, block);
    this.#log.emit({ type: 'finish', candidate, reason: { unified: 'stop', raw: 'completed' } });
  }

  #finish(usage: unknown): void {
    const counted = isObject(usage) ? decodeUsage(usage) : undefined;
    if (counted) this.#log.emit({ type: 'usage', usage: counted });
    this.#over = true;
    this.#log.emit({ type: 'response-end' });
  }

  #fail(wire: Fields): void {
    this.#over = true;
    this.#log.emit(buildErrorEvent(readVendorError(wire)));
  }
}
