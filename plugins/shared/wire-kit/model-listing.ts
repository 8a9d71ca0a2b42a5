/**
 * The model fields that the listings of all protocols share, and a cache of rendered listings. Each listing
 * is rendered once for each version of the catalogue, and a client with a current ETag gets a 304.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  formatUsd,
  mayCall,
  type Catalog,
  type GatewayError,
  type Model,
  type Nano,
  type Price,
  type Principal,
  type RouteReply,
  type RouteRequest,
  type Route,
  type Description,
} from '../../../core/index.ts';
import { readOwner } from './fit-to-model.ts';

const digits = 15;

/** Nano-USD per million tokens as USD per token, exact: 1250000000n → `"0.00000125"`. */
export function formatUsdPerToken(price: Nano): string {
  const text = price.toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return `${text.slice(0, -digits)}${fraction && `.${fraction}`}`;
}

type Rates = readonly (readonly [name: string, rate: Nano | undefined])[];

/** A listing's `pricing`: each rate that the model has, by its name in the listing. */
export function formatPrices(rates: Rates, format = formatUsdPerToken): Record<string, string> {
  return Object.fromEntries(
    rates.flatMap(([name, rate]) => (rate === undefined ? [] : [[name, format(rate)]])),
  );
}

/** The fees that are charged apart from tokens, in USD. */
export function formatFees(price: Price | undefined): Record<string, string> {
  const fees = [
    ['request', price?.request],
    ['image', price?.image],
    ['web_search', price?.webSearch],
  ] as const;
  return formatPrices(fees, formatUsd);
}

/** The parameters that a model takes, as its vendor lists them, or else as its capabilities tell. */
function listParameters({ supportedParameters, capabilities, output }: Model): readonly string[] {
  if (supportedParameters.length > 0 || !output.includes('text')) return supportedParameters;
  const { tools, structuredOutput, sampling, reasoning } = capabilities;
  return [
    'max_tokens',
    'stop',
    ...(reasoning.style === 'none' ? [] : ['include_reasoning', 'reasoning']),
    ...(structuredOutput ? ['response_format', 'structured_outputs'] : []),
    ...(sampling ? ['temperature', 'top_p'] : []),
    ...(tools ? ['tool_choice', 'tools'] : []),
  ].toSorted();
}

/** What all listings say of a model, as chat-completions and messages name it. */
export function describeListed(model: Model): Record<string, unknown> {
  const { input, output } = model;
  return {
    owned_by: readOwner(model),
    description: model.description,
    canonical_slug: model.canonicalSlug ?? model.id,
    context_length: model.contextLength,
    architecture: {
      modality: `${input.join('+')}->${output.join('+')}`,
      input_modalities: input,
      output_modalities: output,
      tokenizer: model.tokenizer,
      instruct_type: model.instructType,
    },
    top_provider: {
      context_length: model.contextLength,
      max_completion_tokens: model.outputLimit,
      is_moderated: model.moderated,
    },
    supported_parameters: listParameters(model),
    expiration_date: model.expires,
  };
}

function findById(catalog: Catalog, listed: readonly Model[], name: string): Model | undefined {
  const [offer] = catalog.find(name);
  return offer && listed.some(({ id }) => id === offer.model.id) ? offer.model : undefined;
}

interface Listing<Described> {
  readonly names: readonly [all: string, one: string];
  readonly path: string;
  readonly parameter: 'id' | 'name';
  readonly encodeError: Route['encodeError'];
  /** The models on offer that the protocol can reach. */
  readonly listModels: () => readonly Model[];
  readonly describeModel: (model: Model) => Described;
  /** The body of a list of described models. */
  readonly wrap: (described: readonly Described[]) => unknown;
  /** Whether a name without a slash is an owner, whose models are listed. */
  readonly byOwner: boolean;
  /** The error for a name that is no model's, if another than the catalogue's fits. */
  readonly refuseName?: (name: string) => GatewayError | undefined;
  readonly describe: () => Promise<{ readonly models: Description; readonly namedModels: Description }>;
}

/**
 * The routes of a public listing: all models at its path, and those with a name below it. A key that is
 * limited to some models sees only those.
 */
export function buildListingRoutes<Described>(catalog: Catalog, listing: Listing<Described>): Route[] {
  const { names, path, parameter, encodeError, listModels, describeModel, wrap, describe } = listing;
  const listings = new Listings(catalog);
  const shared = { method: 'GET', access: 'public', personal: true, encodeError } as const;
  const listAllowed = (principal: Principal | undefined): readonly Model[] =>
    principal?.models ? listModels().filter(({ id }) => mayCall(principal, id)) : listModels();
  const describeNamed = (name: string, models: readonly Model[]): unknown => {
    const model = findById(catalog, models, name);
    if (model) return describeModel(model);
    const owned =
      listing.byOwner && !name.includes('/') ? models.filter((each) => readOwner(each) === name) : [];
    if (owned.length > 0) return wrap(owned.map(describeModel));
    throw listing.refuseName?.(name) ?? catalog.buildMissingError(name);
  };
  return [
    {
      ...shared,
      name: names[0],
      path,
      handle: async ({ headers, principal }: RouteRequest) =>
        listings.reply({ name: '', headers, principal }, () =>
          wrap(listAllowed(principal).map(describeModel)),
        ),
      describe: async () => (await describe()).models,
    },
    {
      ...shared,
      name: names[1],
      // An id holds a slash, which some clients send as %2F.
      path: `${path}/*${parameter}`,
      handle: async ({ params: { [parameter]: name = '' }, headers, principal }: RouteRequest) =>
        listings.reply({ name, headers, principal }, () => describeNamed(name, listAllowed(principal))),
      describe: async () => (await describe()).namedModels,
    },
  ];
}

interface Asked {
  readonly name: string;
  readonly headers: RouteRequest['headers'];
  readonly principal: Principal | undefined;
}

interface Rendered {
  readonly tag: string;
  readonly reply: RouteReply;
  readonly unchanged: RouteReply;
}

/** A cache between must not send one key's listing to another. */
const credentialHeaders = 'authorization, x-api-key, x-goog-api-key, x-partner-api-key';
const mostRendered = 1000;
const longText = 16_384;

/** Whether `if-none-match` lists this tag, weak or strong, or a star for any. */
function matchesTag(header: string | string[] | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const tags = String(header)
    .split(',')
    .map((part) => part.trim().replace(/^W\//, ''));
  return tags.includes(tag) || tags.includes('*');
}

/** Renders listings once and keeps their text. */
class Listings {
  readonly #catalog: Catalog;
  readonly #rendered = new LRUCache<string, Rendered>({ max: mostRendered });
  #version = 0;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** The reply for a listing, rendered on first use. If `render` throws, nothing is cached. */
  reply({ name, headers, principal }: Asked, render: () => unknown): RouteReply {
    const { version } = this.#catalog;
    if (version !== this.#version) this.#rendered.clear();
    this.#version = version;
    const key = principal?.models ? JSON.stringify([name, principal.models]) : name;
    const rendered = this.#rendered.get(key) ?? this.#render(key, render());
    return matchesTag(headers['if-none-match'], rendered.tag) ? rendered.unchanged : rendered.reply;
  }

  #render(key: string, value: unknown): Rendered {
    const text = JSON.stringify(value);
    // A long listing is encoded once. Node sends a short text faster, in one piece with the headers.
    const body = text.length > longText ? Buffer.from(text) : text;
    const tag = `"${createHash('sha256').update(text).digest('base64url')}"`;
    const rendered = {
      tag,
      reply: {
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', etag: tag, vary: credentialHeaders },
        body,
      },
      unchanged: { status: 304, headers: { etag: tag }, body: '' },
    };
    this.#rendered.set(key, rendered);
    return rendered;
  }
}
