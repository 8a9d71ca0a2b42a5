/**
 * What the listings of all families say about a model, and how a listing is sent. It is rendered once for each state of
 * the catalogue and kept as text, and a client that already has it gets no second copy.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  formatUsd,
  type Catalog,
  type Model,
  type Nano,
  type Price,
  type RouteReply,
  type RouteRequest,
} from '../../../core/index.ts';

const digits = 15;

/** Nano-USD per million tokens as USD per token, exact: 1250000000n → `"0.00000125"`. */
export function usdPerToken(price: Nano): string {
  const text = price.toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return `${text.slice(0, -digits)}${fraction && `.${fraction}`}`;
}

/** A listing's `pricing`: each rate a model has, by the name the listing has for it. */
export function pricesOf(
  rates: readonly (readonly [name: string, rate: Nano | undefined])[],
): Record<string, string> {
  return Object.fromEntries(
    rates.flatMap(([name, rate]) => (rate === undefined ? [] : [[name, usdPerToken(rate)]])),
  );
}

/** Fees that are charged apart from tokens, each time. */
export function feesOf(price: Price | undefined): Record<string, string> {
  const fees = [
    ['request', price?.request],
    ['image', price?.image],
    ['web_search', price?.webSearch],
  ] as const;
  return Object.fromEntries(
    fees.flatMap(([name, fee]) => (fee === undefined ? [] : [[name, formatUsd(fee)]])),
  );
}

export function ownerOf({ id }: Model): string {
  return id.slice(0, id.indexOf('/'));
}

export function architectureOf({ input, output, tokenizer, instructType }: Model): Record<string, unknown> {
  return {
    modality: `${input.join('+')}->${output.join('+')}`,
    input_modalities: input,
    output_modalities: output,
    tokenizer,
    instruct_type: instructType,
  };
}

export function topProviderOf({ contextLength, outputLimit, moderated }: Model): Record<string, unknown> {
  return { context_length: contextLength, max_completion_tokens: outputLimit, is_moderated: moderated };
}

/** The model with this id, or all models of this owner. Throws where none of those listed fits. */
export function modelsNamed(
  catalog: Catalog,
  listed: readonly Model[],
  name: string,
): Model | readonly Model[] {
  const [offer] = catalog.find(name);
  if (offer && listed.some(({ id }) => id === offer.model.id)) return offer.model;
  const owned = name.includes('/') ? [] : listed.filter((model) => ownerOf(model) === name);
  if (owned.length > 0) return owned;
  throw catalog.missing(name);
}

interface Rendered {
  readonly tag: string;
  readonly reply: RouteReply;
  readonly unchanged: RouteReply;
}

const mostRendered = 1000;
const longText = 16_384;

/** Whether the client already has this text: `if-none-match` holds tags, weak or strong, or a star for any. */
function hasIt(told: string | string[] | undefined, tag: string): boolean {
  if (told === undefined) return false;
  const tags = String(told)
    .split(',')
    .map((part) => part.trim().replace(/^W\//, ''));
  return tags.includes(tag) || tags.includes('*');
}

export class Listings {
  readonly #catalog: Catalog;
  readonly #rendered = new LRUCache<string, Rendered>({ max: mostRendered });
  #version = 0;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** A listing by its name, made with `render` where it is not kept yet. If `render` throws, nothing is kept. */
  reply(name: string, headers: RouteRequest['headers'], render: () => unknown): RouteReply {
    const { version } = this.#catalog;
    if (version !== this.#version) this.#rendered.clear();
    this.#version = version;
    const rendered = this.#rendered.get(name) ?? this.#render(name, render());
    return hasIt(headers['if-none-match'], rendered.tag) ? rendered.unchanged : rendered.reply;
  }

  #render(name: string, value: unknown): Rendered {
    const text = JSON.stringify(value);
    // A long listing is encoded only once. A short one stays text, since it goes out quicker in one piece with its head.
    const body = text.length > longText ? Buffer.from(text) : text;
    const tag = `"${createHash('sha256').update(text).digest('base64url')}"`;
    const rendered = {
      tag,
      reply: { status: 200, headers: { 'content-type': 'application/json; charset=utf-8', etag: tag }, body },
      unchanged: { status: 304, headers: { etag: tag }, body: '' },
    };
    this.#rendered.set(name, rendered);
    return rendered;
  }
}
