/**
 * The model fields that the listings of all protocols share, their pages and routes, and a cache of rendered
 * listings. Each listing is rendered once for each version of the catalogue, and a client with a current ETag
 * gets a 304. A page's cursor is the id of the model before or after it, whatever was asked before.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  freePrice,
  GatewayError,
  getRates,
  kinds,
  mayCall,
  shiftDecimal,
  type Catalog,
  type Model,
  type Price,
  type Principal,
  type RouteReply,
  type RouteRequest,
  type Route,
  type Description,
} from '../../../core/index.ts';
import { readOwner } from './fit-to-model.ts';

/** The names of a listing, each with kinds: the first of them that has a rate gives the name its value. */
export type ListedRates = Readonly<Record<string, readonly string[]>>;

/** Units for which no listing has a name of its own. */
const others: ListedRates = Object.fromEntries(
  kinds
    .filter(({ per, isFee }) => per === 1 && !isFee)
    .map(({ name }) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), [name]]),
);

/** A listing's `pricing`: rates by their names in the listing, in USD for one of each, tokens too. */
export function formatPricing(price: Price | undefined, names: ListedRates): Record<string, string> {
  const rates = getRates(price ?? freePrice);
  return Object.fromEntries(
    Object.entries({ ...names, ...others }).flatMap(([name, listed]) => {
      const found = listed.map((kind) => rates.get(kind)).find((known) => known !== undefined);
      return found ? [[name, shiftDecimal(found.rate, found.kind.per === 1 ? 0 : -6)]] : [];
    }),
  );
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

/** The names of a protocol's parameters. */
export interface PageParameters {
  readonly limit: string;
  readonly after: string;
  readonly before?: string;
  /** Whether a limit of 0 is none, and one beyond the highest is the highest. */
  readonly isLenient?: boolean;
}

/** A part of a listing, and whether more follows in the direction that was asked for. */
export interface Page {
  readonly models: readonly Model[];
  readonly more: boolean;
}

interface Wanted {
  readonly limit: number;
  readonly after: string;
  readonly before: string;
}

/** The highest that the protocols document. */
const highestLimit = 1000;

function refuse(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `"${param}" ${problem}.`, { param });
}

function readLimit(query: URLSearchParams, { limit: name, isLenient = false }: PageParameters): number {
  const text = query.get(name);
  if (text === null) return Infinity;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (isLenient && limit >= 0) return limit === 0 ? Infinity : Math.min(limit, highestLimit);
  if (limit >= 1 && limit <= highestLimit) return limit;
  throw refuse(name, `must be a whole number from ${isLenient ? 0 : 1} to ${highestLimit}`);
}

/** Undefined if the query asks for no page. Throws `invalid_request` for a value that makes no sense. */
function readWantedPage(query: URLSearchParams, names: PageParameters): Wanted | undefined {
  if (query.size === 0) return undefined;
  const limit = readLimit(query, names);
  const after = query.get(names.after) ?? '';
  const before = names.before === undefined ? '' : (query.get(names.before) ?? '');
  if (after !== '' && before !== '')
    throw refuse(names.before ?? '', `cannot be combined with "${names.after}"`);
  return limit === Infinity && after === '' && before === '' ? undefined : { limit, after, before };
}

/** A model, as another name for it finds it too. */
type FindModel = (models: readonly Model[], name: string) => Model | undefined;

function findPlace(
  models: readonly Model[],
  id: string,
  [param, find]: readonly [string, FindModel],
): number {
  const model = find(models, id);
  const place = model ? models.findIndex((each) => each.id === model.id) : -1;
  if (place >= 0) return place;
  throw refuse(
    param,
    `must be the id that a page of this list ended with; "${id.slice(0, 100)}" is not in it`,
  );
}

/** Cuts a page from a list. Throws `invalid_request` if its cursor is not in the list. */
function cutPage(models: readonly Model[], wanted: Wanted, names: PageParameters, find: FindModel): Page {
  const { limit, after, before } = wanted;
  if (names.before !== undefined && before !== '') {
    const end = findPlace(models, before, [names.before, find]);
    const start = Math.max(0, end - limit);
    return { models: models.slice(start, end), more: start > 0 };
  }
  const start = after === '' ? 0 : findPlace(models, after, [names.after, find]) + 1;
  const end = Math.min(models.length, start + limit);
  return { models: models.slice(start, end), more: end < models.length };
}

function findById(catalog: Catalog, listed: readonly Model[], name: string): Model | undefined {
  const [offer] = catalog.find(name);
  return offer && listed.some(({ id }) => id === offer.model.id) ? offer.model : undefined;
}

/** Where a listing is served. */
interface Place {
  readonly path: string;
  /** Which requests it answers, where protocols share the path. */
  readonly when?: Route['when'];
  /** Whether `/openapi.json` leaves it out: it is another spelling of a path that is described. */
  readonly isSpelling?: true;
}

/** The places of a protocol: below its base URLs, each with and without a version. */
export function listPlaces(
  bases: readonly string[],
  version: string,
  when: NonNullable<Route['when']>,
): readonly Place[] {
  return [...new Set(bases)].flatMap((base) => {
    const shared = base === '' ? { when } : {};
    return [
      { path: `${base}${version}/models`, ...shared },
      { path: `${base}/models`, ...shared, isSpelling: true as const },
    ];
  });
}

/** What a list was made of. */
export interface Listed {
  readonly models: readonly Model[];
  readonly page: Page | undefined;
  readonly form: string | undefined;
}

interface Listing<Described> {
  readonly names: readonly [all: string, one: string];
  /** Where it is served. The first has the names; those of the others end in their path. */
  readonly places: readonly Place[];
  readonly encodeError: Route['encodeError'];
  /** The models on offer that the protocol can reach. */
  readonly listModels: () => readonly Model[];
  /** Names the form of the listing that a client needs, if it is not the usual one. */
  readonly chooseForm?: (request: Pick<RouteRequest, 'headers' | 'query'>) => string | undefined;
  readonly describeModel: (model: Model, form: string | undefined) => Described;
  /** The body of a list of described models. `page` is set if the list is a page. */
  readonly wrap: (described: readonly Described[], listed: Listed) => unknown;
  readonly pages: PageParameters;
  /** Whether a name without a slash is an owner, whose models are listed. */
  readonly byOwner: boolean;
  /** The error for a name that is no model's, if another than the catalogue's fits. */
  readonly refuseName?: (name: string) => GatewayError | undefined;
  readonly describe: () => Promise<{ readonly models: Description; readonly namedModels: Description }>;
}

/**
 * The routes of a public listing: all models at its places, and those with a name below them. A key that is
 * limited to some models sees only those.
 */
export function buildListingRoutes<Described>(catalog: Catalog, listing: Listing<Described>): Route[] {
  const { names, places, pages, chooseForm, describeModel, wrap, describe } = listing;
  const rendered = new LRUCache<string, Rendered>({ maxSize: mostRendered });
  let renderedVersion = 0;
  const find: FindModel = (models, name) => findById(catalog, models, name);
  const buildBody = (name: string, principal: Principal | undefined, { wanted, form }: Asked) => {
    const models = listing.listModels().filter(({ id }) => !principal?.models || mayCall(principal, id));
    const list = (all: readonly Model[]): unknown => {
      const page = wanted && cutPage(all, wanted, pages, find);
      const shown = page?.models ?? all;
      return wrap(
        shown.map((model) => describeModel(model, form)),
        { models: shown, page, form },
      );
    };
    if (name === '') return list(models);
    const model = find(models, name);
    if (model) return describeModel(model, form);
    const isOwner = listing.byOwner && !name.includes('/');
    const owned = isOwner ? models.filter((each) => readOwner(each) === name) : [];
    if (owned.length > 0) return list(owned);
    throw listing.refuseName?.(name) ?? catalog.buildMissingError(name);
  };
  /** The reply for a listing, rendered on first use. If that throws, nothing is cached. */
  const reply = (name: string, { headers, principal, query }: RouteRequest): RouteReply => {
    const wanted = readWantedPage(query, pages);
    if (catalog.version !== renderedVersion) rendered.clear();
    renderedVersion = catalog.version;
    const form = chooseForm?.({ headers, query });
    const isUsual = !principal?.models && !wanted && form === undefined;
    const key = isUsual ? name : JSON.stringify([name, principal?.models, wanted, form]);
    const found = rendered.get(key) ?? render(buildBody(name, principal, { wanted, form }));
    rendered.set(key, found, { size: found.length });
    return matchesTag(headers['if-none-match'], found.tag) ? found.unchanged : found.reply;
  };
  return places.flatMap(({ path, when, isSpelling = false }, place) => {
    const buildRoute = (index: 0 | 1, ending: string, described: 'models' | 'namedModels'): Route => ({
      method: 'GET',
      access: 'public',
      personal: true,
      operation: 'models',
      encodeError: listing.encodeError,
      ...(when ? { when } : {}),
      name: names[index] + (place === 0 ? '' : ` at ${path}`),
      path: path + ending,
      handle: async (request) => reply(request.params['id'] ?? '', request),
      describe: !isSpelling && (async () => (await describe())[described]),
    });
    // An id holds a slash, which some clients send as %2F.
    return [buildRoute(0, '', 'models'), buildRoute(1, '/*id', 'namedModels')];
  });
}

interface Asked {
  readonly wanted: Wanted | undefined;
  readonly form: string | undefined;
}

/** A cache between must not send one key's listing to another. */
const credentialHeaders = 'authorization, x-api-key, x-goog-api-key, x-partner-api-key';
/** Where protocols share a path, these say whose listing is asked for, and the last in which form. */
const vary = `${credentialHeaders}, anthropic-version, partner-version, user-agent`;
/** Characters of rendered listings: visitors choose how many pages there are. */
const mostRendered = 16 * 1024 * 1024;
const longText = 16_384;

/** Whether `if-none-match` lists this tag, weak or strong, or a star for any. */
export function matchesTag(header: string | string[] | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const tags = String(header)
    .split(',')
    .map((part) => part.trim().replace(/^W\//, ''));
  return tags.includes(tag) || tags.includes('*');
}

interface Rendered {
  readonly tag: string;
  readonly length: number;
  readonly reply: RouteReply;
  readonly unchanged: RouteReply;
}

function render(value: unknown): Rendered {
  const text = JSON.stringify(value);
  const tag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  return {
    tag,
    length: text.length,
    reply: {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', etag: tag, vary },
      // A long listing is encoded once. Node sends a short text faster, in one piece with the headers.
      body: text.length > longText ? Buffer.from(text) : text,
    },
    unchanged: { status: 304, headers: { etag: tag }, body: '' },
  };
}
