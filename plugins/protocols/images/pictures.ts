/**
 * Collects the pictures of a reply from its events, for streams and JSON replies. A reply without pictures
 * becomes an error that explains why: an empty list does not help the client of an image model.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type ReplyContext,
  type Usage,
  type EventOf,
} from '../../../core/index.ts';
import { resolveSetting } from '../../shared/wire-kit/image-settings.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { ImageCall } from './read-request.ts';
import { encodeUsage, type QualityOption } from './usage.ts';

interface Picture {
  readonly mediaType: string;
  readonly url: string | undefined;
  readonly facts: Fields;
  data: string;
}

const longestQuote = 300;

export class Pictures {
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

export function encodePicture({ data, url, facts }: Picture): Fields {
  const { revised_prompt } = facts;
  return {
    ...(data === '' && url !== undefined ? { url } : { b64_json: data }),
    ...(revised_prompt === undefined ? {} : { revised_prompt }),
  };
}
