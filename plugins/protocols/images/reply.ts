/**
 * Replies in both directions: streams, with unfinished pictures as they arrive, and JSON. As canonical
 * events, each image is a separate candidate with one block, whose bag holds the settings that the provider
 * reports (size, quality).
 */
import {
  GatewayError,
  toCount,
  type CanonicalEvent,
  type ClientCall,
  type EventDecoder,
  type WireEvent,
  type EventEncoder,
  type ReplyContext,
  type Usage,
  type EventOf,
} from '../../../core/index.ts';
import { buildErrorEvent, encodeStreamError } from '../../shared/openai/errors.ts';
import { isError, readVendorError } from '../../shared/vendors/errors.ts';
import { unreadableEvent, parseJson } from '../../shared/wire-kit/event-data.ts';
import { resolveSetting } from '../../shared/wire-kit/image-settings.ts';
import { detectBase64PictureType } from '../../shared/wire-kit/media.ts';
import { ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { readObjects, readString, readObject, keepKnown } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { ImageCall } from './call.ts';
import { bag } from './wire.ts';

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

  constructor(call: ClientCall) {
    this.#call = call;
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (!this.#log.isOver && wire.data !== '[DONE]') this.#read(parseJson(wire.data), wire);
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
    if (!this.#log.isOver && images.length === 0)
      throw new GatewayError('upstream_failed', 'The provider sent a reply without an image.');
    if (!this.#log.isOver) this.#start(body);
    for (const image of images) if (!this.#log.isOver) this.#addPicture(image, readPictureFacts(body, image));
    if (!this.#log.isOver) this.#finish(body.usage);
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
    if (!this.#log.isOver && this.#log.blocks >= this.#call.candidates) this.#finish(wire.usage);
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
    this.#log.end(true);
  }

  #fail(wire: Fields): void {
    this.#log.fail(buildErrorEvent(readVendorError(wire)));
  }
}

export class PictureEncoder implements EventEncoder {
  readonly #pictures: Pictures;
  readonly #context: ReplyContext;
  readonly #family: string;

  constructor(context: ReplyContext, quality: QualityOption) {
    this.#context = context;
    this.#pictures = new Pictures(context, quality);
    this.#family =
      context.call instanceof ImageCall && context.call.operation === 'edit'
        ? 'image_edit'
        : 'image_generation';
  }

  /** At the end of the reply, throws if there is no picture. */
  push(event: CanonicalEvent): string {
    this.#pictures.push(event);
    if (event.type === 'partial-image') {
      const { data, index } = event;
      const facts = bag.getFields(event);
      const format = facts.output_format;
      const settings = this.#pictures.encodeSettings({
        facts,
        mediaType: `image/${typeof format === 'string' ? format : 'png'}`,
      });
      return this.#encodeFrame('partial_image', { b64_json: data, partial_image_index: index, ...settings });
    }
    if (event.type === 'error') return encodeStreamError(new GatewayError('upstream_failed', event.message));
    return event.type === 'response-end' ? this.#encodeCompleted() : '';
  }

  #encodeCompleted(): string {
    this.#pictures.check();
    const { all, usage } = this.#pictures;
    const { model } = this.#context;
    return all
      .map((picture, index) =>
        this.#encodeFrame('completed', {
          ...encodePicture(picture),
          index,
          model,
          ...this.#pictures.encodeSettings(picture),
          usage,
        }),
      )
      .join('');
  }

  #encodeFrame(name: string, fields: Fields): string {
    const type = `${this.#family}.${name}`;
    const data = { type, created_at: this.#pictures.created, ...fields };
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  }
}

/** Throws if the reply holds no picture. */
export function encodeReply(
  events: readonly CanonicalEvent[],
  context: ReplyContext,
  quality: QualityOption,
): unknown {
  const pictures = new Pictures(context, quality);
  for (const event of events) pictures.push(event);
  pictures.check();
  const [first] = pictures.all;
  return {
    created: pictures.created,
    data: pictures.all.map((picture, index) => ({ ...encodePicture(picture), index })),
    model: context.model,
    ...(first ? pictures.encodeSettings(first) : {}),
    usage: pictures.usage,
  };
}

interface Picture {
  readonly mediaType: string;
  readonly url: string | undefined;
  readonly facts: Fields;
  data: string;
}

const longestQuote = 300;

/**
 * Collects the pictures of a reply from its events, for streams and JSON replies. A reply without pictures
 * becomes an error that explains why: an empty list does not help the client of an image model.
 */
class Pictures {
  readonly #context: ReplyContext;
  readonly #quality: QualityOption;
  readonly #open = new Map<number, Picture>();
  readonly #texts = new Set<number>();
  #text = '';
  #filtered = false;
  #reason = '';
  #created: number | undefined;
  #usage: Usage | undefined;
  readonly all: Picture[] = [];

  constructor(context: ReplyContext, quality: QualityOption) {
    this.#context = context;
    this.#quality = quality;
  }

  push(event: CanonicalEvent): void {
    switch (event.type) {
      case 'response-start':
        this.#created = event.created;
        break;
      case 'block-start':
        if (event.kind === 'image')
          this.#open.set(event.block, {
            mediaType: event.mediaType ?? 'image/png',
            url: event.url,
            facts: bag.getFields(event),
            data: '',
          });
        else this.#skip(event);
        break;
      case 'block-delta': {
        const picture = this.#open.get(event.block);
        if (picture) picture.data += event.text;
        else if (this.#texts.has(event.block) && this.#text.length < longestQuote) this.#text += event.text;
        break;
      }
      case 'block-end': {
        const picture = this.#open.get(event.block);
        if (picture) this.all.push(picture);
        break;
      }
      case 'finish':
        this.#filtered ||= event.reason.unified === 'content-filter' || event.reason.unified === 'refusal';
        this.#reason = event.reason.raw;
        break;
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        break;
      default:
        break;
    }
  }

  #skip({ kind, block }: EventOf<'block-start'>): void {
    if (kind === 'text' || kind === 'refusal') this.#texts.add(block);
    this.#context.reportLoss?.(kind, 'images returns only pictures');
  }

  get created(): number {
    return this.#created ?? this.#context.created;
  }

  get usage(): Fields | undefined {
    const { call } = this.#context;
    const edits = call instanceof ImageCall && call.operation === 'edit';
    return this.#usage && encodeUsage(this.#usage, edits ? call.inputImages : undefined, this.#quality);
  }

  /** Returns the settings of a picture as the provider reports them, or else as requested. */
  encodeSettings({ facts, mediaType }: Pick<Picture, 'facts' | 'mediaType'>): Fields {
    const { call, capabilities } = this.#context;
    const requested = call.decode().image ?? {};
    const findSetting = (name: 'size' | 'quality' | 'background'): unknown =>
      facts[name] ?? resolveSetting(name, requested, capabilities?.image);
    return {
      size: findSetting('size'),
      quality: findSetting('quality'),
      background: findSetting('background'),
      output_format: mediaType.replace(/^image\/|\+xml$/g, ''),
    };
  }

  /** Throws if there is no picture. The error quotes the provider's text. */
  check(): void {
    if (this.all.length > 0) return;
    const reason = this.#reason === '' ? '' : ` (${this.#reason})`;
    if (this.#filtered)
      throw new GatewayError(
        'content_policy_violation',
        `The provider refused to create the image because of its safety rules${reason}.`,
      );
    const quote = this.#text.slice(0, longestQuote).trim();
    throw new GatewayError(
      'upstream_failed',
      `The provider sent a reply without an image${reason}${quote === '' ? '.' : `; it wrote: ${quote}`}`,
    );
  }
}

function encodePicture({ data, url, facts }: Picture): Fields {
  const { revised_prompt } = facts;
  return {
    ...(data === '' && url !== undefined ? { url } : { b64_json: data }),
    ...(revised_prompt === undefined ? {} : { revised_prompt }),
  };
}

/** Output tokens without a breakdown are image tokens. Returns undefined if `wire` holds no counts. */
function decodeUsage(wire: Fields): Usage | undefined {
  const input = readObject(wire.input_tokens_details);
  const output = readObject(wire.output_tokens_details);
  return keepKnown({
    input: toCount(wire.input_tokens),
    cacheRead: toCount(input.cached_tokens),
    inputImage: toCount(input.image_tokens),
    output: toCount(wire.output_tokens),
    outputImage: toCount(output.image_tokens) ?? toCount(wire.output_tokens),
  });
}

function subtract(whole: number | undefined, part: number | undefined): number | undefined {
  return whole === undefined ? undefined : Math.max(0, whole - (part ?? 0));
}

/** What the operator chooses: the interface to the letter (`required`), or what today's clients need. */
export type QualityOption = 'required' | 'optional';

/**
 * `inputImages` is the number of pictures in an edit. By the letter of the interface only edits report
 * `image_tokens` of the input. LiteLLM's client cannot read a reply without it.
 */
function encodeUsage(usage: Usage, inputImages: number | undefined, quality: QualityOption): Fields {
  const { input, inputImage, cacheRead, output, outputImage } = usage;
  const edit = inputImages !== undefined;
  return {
    input_tokens: input,
    input_tokens_details: {
      text_tokens: subtract(input, inputImage),
      ...(edit || quality === 'optional' ? { image_tokens: inputImage ?? 0 } : {}),
      ...(cacheRead ? { cached_tokens: cacheRead } : {}),
    },
    output_tokens: output,
    ...(outputImage === undefined
      ? {}
      : { output_tokens_details: { image_tokens: outputImage, text_tokens: subtract(output, outputImage) } }),
    total_tokens: input === undefined || output === undefined ? undefined : input + output,
    ...(edit ? { num_input_images: inputImages } : {}),
  };
}
