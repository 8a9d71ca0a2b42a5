/**
 * What the listings of all families say of a model, and how a listing is sent: rendered once for each state of the
 * catalogue, kept as text, and not sent again to a client that has it.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { formatUsd, type Catalog, type Model, type Nano, type Price, type RouteReply, type RouteRequest } from '../../core/index.ts';

const digits = 15;

/** Nano-USD per million tokens as USD per token, exact: 1250000000n → `"0.00000125"`. */
export function usdPerToken(price: Nano): string {
  const text = price.toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return `${text.slice(0, -digits)}${fraction && `.${fraction}`}`;
}

/** A listing's `pricing`: each rate a model has, by the name the listing has for it. */
export function pricesOf(rates: readonly (readonly [name: string, rate: Nano | undefined])[]): Record<string, string> {
  return Object.fromEntries(rates.flatMap(([name, rate]) => (rate === undefined ? [] : [[name, usdPerToken(rate)]])));
}

/** What is charged apart from tokens, each time. */
export function feesOf(price: Price | undefined): Record<string, string> {
  const fees = [['request', price?.request], ['image', price?.image], ['web_search', price?.webSearch]] as const;
  return Object.fromEntries(fees.flatMap(([name, fee]) => (fee === undefined ? [] : [[name, formatUsd(fee)]])));
}

export function ownerOf({ id }: Model): string {
  return id.slice(0, id.indexOf('/'));
}

export function architectureOf({ input, output, tokenizer, instructType }: Model): Record<string, unknown> {
  return { modality: `${input.join('+')}->${output.join('+')}`, input_modalities: input, output_modalities: output, tokenizer, instruct_type: instructType };
}

export function topProviderOf({ contextLength, outputLimit, moderated }: Model): Record<string, unknown> {
  return { context_length: contextLength, max_completion_tokens: outputLimit, is_moderated: moderated };
}

/** The model of this id, or all that are of this owner. Throws where there are none among those listed. */
export function modelsNamed(catalog: Catalog, listed: readonly Model[], name: string): Model | readonly Model[] {
  const [offer] = catalog.find(name);
  if (offer && listed.some(({ id }) => id === offer.model.id)) return offer.model;
  const owned = name.includes('/') ? [] : listed.filter((model) => ownerOf(model) === name);
  if (owned.length > 0) return owned;
  throw catalog.missing(name);
}

interface Rendered {
  readonly body: string | Buffer;
  readonly tag: string;
}

const mostRendered = 1000;
const longText = 16_384;

/** Whether the client says it has this very text: `if-none-match` holds tags, weak or strong, or a star for any. */
function hasIt(headers: RouteRequest['headers'], tag: string): boolean {
  const told = String(headers['if-none-match'] ?? '').split(',').map((part) => part.trim().replace(/^W\//, ''));
  return told.includes(tag) || told.includes('*');
}

export class Listings {
  readonly #catalog: Catalog;
  readonly #rendered = new LRUCache<string, Rendered>({ max: mostRendered });

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Passed a name for the listing and what makes it; where that throws, nothing is kept. */
  reply(name: string, headers: RouteRequest['headers'], render: () => unknown): RouteReply {
    const key = `${this.#catalog.version} ${name}`;
    const { body, tag } = this.#rendered.get(key) ?? this.#render(key, render());
    if (hasIt(headers, tag)) return { status: 304, headers: { etag: tag }, body: '' };
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8', etag: tag }, body };
  }

  #render(key: string, value: unknown): Rendered {
    const text = JSON.stringify(value);
    // A long listing is not to be encoded each time; a short one goes out quicker together with its head, as text.
    const body = text.length > longText ? Buffer.from(text) : text;
    const rendered = { body, tag: `"${createHash('sha256').update(body).digest('base64url')}"` };
    this.#rendered.set(key, rendered);
    return rendered;
  }
}
