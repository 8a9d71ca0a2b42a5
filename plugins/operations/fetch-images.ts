/**
 * Fetches pictures that a caller names by their address, for vendors that only take bytes. The caller chooses
 * what the gateway connects to. So the plugin is off unless it is configured, only connects to the public
 * network, and limits everything it does. Vendors that fetch pictures themselves get the address.
 */
import { z } from 'zod';
import {
  definePlugin,
  GatewayError,
  type CanonicalRequest,
  type Routed,
  type Block,
} from '../../core/index.ts';
import { createReach, fetchPicture, raceAbort, Unfetched, type Picture } from './fetch-images/fetch.ts';

const types = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
const megabyte = 1024 * 1024;

const options = z.strictObject({
  /**
   * The only hosts that pictures are fetched from: `images.example.com`, or `*.example.com` for every name
   * below it. Any public host unless given.
   */
  hosts: z.array(z.string().min(1).toLowerCase()).min(1).optional(),
  /** Hosts of your own that may have private addresses; they need not be in `hosts`. */
  privateHosts: z.array(z.string().min(1).toLowerCase()).default([]),
  /**
   * Providers that are always given the bytes, for example servers of your own without access to the
   * internet.
   */
  providers: z.array(z.string().min(1)).default(['ollama']),
  /** Whether pictures are also fetched without TLS. */
  http: z.boolean().default(false),
  ports: z.array(z.int().min(1).max(65_535)).min(1).default([80, 443]),
  /** Bytes of one picture at most. */
  maxBytes: z
    .int()
    .positive()
    .default(10 * megabyte),
  /** Addresses in one call at most. */
  maxImages: z.int().positive().default(20),
  maxRedirects: z.int().min(0).max(10).default(3),
  /** Seconds for one picture, its redirects and the wait for its turn included. */
  timeout: z
    .number()
    .positive()
    .default(10)
    .transform((value) => value * 1000),
  /** Pictures fetched at the same time. */
  parallel: z.int().positive().default(16),
  /** Bytes that the fetched pictures of all running calls may take together. */
  heldBytes: z
    .int()
    .positive()
    .default(256 * megabyte),
  types: z
    .array(z.enum(types))
    .min(1)
    .default([...types]),
});

type Options = z.output<typeof options>;

/**
 * Protocols whose vendors are given the bytes of a picture that came by its address: Google only fetches some
 * addresses, and the images protocol has no field for one.
 */
const bytesAlone = new Set(['generate-content', 'images']);

function needsBytes({ protocol, attempt: { target } }: Routed, providers: readonly string[]): boolean {
  if (!target.model.capabilities.imageUrls || providers.includes(target.provider.name)) return true;
  const isOwn = protocol === target.protocol && target.protocol.name !== 'images';
  return !isOwn && bytesAlone.has(target.protocol.name);
}

/**
 * Whether a request names pictures by address. A request that the canonical form cannot express passes
 * unchanged.
 */
function namesPictures({ getRequest }: Routed): boolean {
  try {
    return listPictures(getRequest()).length > 0;
  } catch {
    return false;
  }
}

/** Stands for a picture in a preview, which fetches nothing: one transparent pixel. */
const placeholder: Picture = {
  mediaType: 'image/gif',
  data: 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
};

/** What one call has fetched, so that another attempt does not fetch it again. */
interface Fetched {
  held: number;
  /** Stops fetches that still run when the call is over. */
  readonly over: AbortController;
  readonly pictures: Map<string, Promise<Picture>>;
}

class Fetching {
  readonly #options: Options;
  readonly #reach: ReturnType<typeof createReach>;
  readonly #calls = new Map<string, Fetched>();
  #held = 0;
  #running = 0;
  /** Fetches that wait for their turn. One whose call is over stays until then, and ends at once. */
  readonly #waiting: (() => void)[] = [];

  constructor(wanted: Options) {
    this.#options = wanted;
    this.#reach = createReach(wanted.hosts, wanted.privateHosts);
  }

  /**
   * Puts the pictures into the request. Throws a refusal that names the first picture that could not be
   * fetched.
   */
  async fill(request: CanonicalRequest, exchange: Routed): Promise<CanonicalRequest> {
    const named = listPictures(request);
    if (exchange.preview) return mapPictures(request, () => placeholder);
    const { maxImages } = this.#options;
    const extra = named[maxImages];
    if (extra)
      throw buildRefusal(exchange, extra, `is one more than the ${maxImages} that are fetched for one call`);
    const fetching = named.map(async (each) => [each.url, await this.#fetchOnce(each, exchange)] as const);
    const pictures = new Map(await raceAbort(Promise.all(fetching), exchange.signal));
    return mapPictures(request, ({ url }) => pictures.get(url));
  }

  /** Releases the pictures of a call that is over. */
  forget(id: string): void {
    const call = this.#calls.get(id);
    if (!call) return;
    this.#calls.delete(id);
    this.#held -= call.held;
    call.over.abort();
  }

  async #fetchOnce(named: Named, exchange: Routed): Promise<Picture> {
    const call = this.#calls.get(exchange.id) ?? {
      held: 0,
      over: new AbortController(),
      pictures: new Map<string, Promise<Picture>>(),
    };
    this.#calls.set(exchange.id, call);
    const fetching = call.pictures.get(named.url) ?? this.#fetch(named.url, call);
    call.pictures.set(named.url, fetching);
    try {
      return await fetching;
    } catch (error) {
      if (error instanceof Unfetched) throw buildRefusal(exchange, named, error.message);
      throw error;
    }
  }

  async #fetch(url: string, call: Fetched): Promise<Picture> {
    const late = AbortSignal.timeout(this.#options.timeout);
    const signal = AbortSignal.any([late, call.over.signal]);
    const reserveBytes = (bytes: number): void => {
      signal.throwIfAborted();
      if (this.#held + bytes > this.#options.heldBytes) throw buildOverloadError();
      this.#held += bytes;
      call.held += bytes;
    };
    try {
      return await raceAbort(
        this.#takeTurn(() => {
          signal.throwIfAborted();
          return fetchPicture(url, this.#options, this.#reach, { signal, onBytes: reserveBytes });
        }),
        signal,
      );
    } catch (error) {
      if (late.aborted && !(error instanceof Unfetched))
        throw new Unfetched(`did not come within ${this.#options.timeout / 1000} seconds`);
      throw error;
    }
  }

  /** Runs the task, at once or when another has ended. Throws if too many wait already. */
  async #takeTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const { parallel } = this.#options;
    if (this.#running < parallel) this.#running += 1;
    else if (this.#waiting.length < parallel * 8)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else throw buildOverloadError();
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

function buildOverloadError(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway fetches as many pictures as it can at the moment; ' +
      'try again soon, or send the picture itself as base64.',
    { retryAfter: 2 },
  );
}

/** Another target may still fetch the picture itself, so the client only sees this error of the last one. */
function buildRefusal({ protocol }: Routed, { at }: Named, why: string): GatewayError {
  const field = protocol.client.fieldNames['.source'];
  const param = at !== undefined && field !== undefined ? `${at}.${field}` : at;
  const picture = param === undefined ? 'The picture' : `The picture of "${param}"`;
  return new GatewayError('unsupported_parameter', `${picture} ${why}. Send the picture itself as base64.`, {
    param,
  });
}

export const fetchImages = definePlugin({
  name: 'fetch-images',
  options,
  apply({ hooks }, wanted) {
    const fetching = new Fetching(wanted);
    const needsFetch = (exchange: Routed): boolean =>
      exchange.call.size.images > 0 && needsBytes(exchange, wanted.providers) && namesPictures(exchange);
    hooks.transformRequest.tapPromise({ name: 'fetch-images', when: needsFetch }, (request, exchange) =>
      fetching.fill(request, exchange),
    );
    hooks.observe.tap('fetch-images', ({ exchange }) => void fetching.forget(exchange.id));
  },
});

/** A picture that a request names by its URL. */
interface Named {
  readonly url: string;
  /** Where the client wrote it in its own request. */
  readonly at: string | undefined;
}

type MediaBlock = Extract<Block, { type: 'media' }>;

/** The request with pictures in place of the `http` or `https` addresses for which `replace` gives one. */
function mapPictures(
  request: CanonicalRequest,
  replace: (named: Named) => Picture | undefined,
): CanonicalRequest {
  const mapBlock = <Kind extends Block>(block: Kind): Kind | MediaBlock => {
    if (block.type !== 'media' || block.kind !== 'image' || block.source.type !== 'url') return block;
    const { url } = block.source;
    const picture = /^https?:/i.test(url) ? replace({ url, at: block.at }) : undefined;
    if (!picture) return block;
    return { ...block, source: { type: 'base64', data: picture.data }, mediaType: picture.mediaType };
  };
  const turns = request.turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.map((block): Block =>
      block.type === 'tool-result' ? { ...block, content: block.content.map(mapBlock) } : mapBlock(block),
    ),
  }));
  return { ...request, turns };
}

/** In the order of the request, with those in results of tools. */
function listPictures(request: CanonicalRequest): Named[] {
  const found: Named[] = [];
  mapPictures(request, (named) => void found.push(named));
  return found;
}
