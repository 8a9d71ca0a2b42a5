/**
 * Encodes canonical events as a client's stream: unfinished pictures as they arrive, and the finished ones at
 * the end.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type EventEncoder,
  type ReplyContext,
} from '../../../core/index.ts';
import { encodeStreamError } from '../../shared/wire-kit/openai-error.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { encodePicture, Pictures } from './pictures.ts';
import { ImageCall } from './read-request.ts';
import type { QualityOption } from './usage.ts';

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
