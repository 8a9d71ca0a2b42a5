/** The models on offer: which providers serve each, its names, and when it retires. */
import { findWorldwidePrice, type Model, checkFlags, type ProtocolFlags } from './model-facts.ts';
import { PriceSchedule } from './price-schedule.ts';
import type { Price } from './price-terms.ts';
import { freePrice, toRegionalPrice } from './price.ts';
import type { Provider, Offer } from './provider.ts';
import { GatewayError } from './util/errors.ts';

/** All calls share these facts, so a plugin must not change them. */
function freeze(facts: object): void {
  if (Object.isFrozen(facts)) return;
  Object.freeze(facts);
  for (const fact of Object.values(facts)) if (typeof fact === 'object' && fact !== null) freeze(fact);
}

const day = 24 * 60 * 60 * 1000;

/** The first moment after the last day of service. */
function computeEnd({ expires }: Model): number {
  return expires === null ? Infinity : Date.parse(expires) + day;
}

/**
 * Gives the ids of the models that a name can mean, which may be names themselves. With several of them the
 * name is ambiguous.
 */
export type FindNamed = (name: string) => readonly string[];

/** An alias may lead to another one, but not in a circle. */
const mostNames = 4;

/** Prices that take the place of the catalogue's, such as those of a price feed. */
export interface PriceSource {
  /** The price of a provider's model at a time; `own` is the catalogue's, which holds if it is undefined. */
  find(provider: string, model: Model, own: Price, at: number): Price | undefined;
  /** When a price changes next: milliseconds since the epoch. */
  findNextChange(at: number): number;
}

function nameKey({ name, credential = 1 }: Provider): string {
  return `${name} ${credential}`;
}

/** All offers of all providers, by model id. Discovered models replace what their provider offered before. */
export class Catalog {
  readonly #byProvider = new Map<string, Offer[]>();
  /** The first offer of each name that the provider's own interface uses, by provider. */
  readonly #byUpstream = new Map<string, ReadonlyMap<string, Offer>>();
  #byModel = new Map<string, Offer[]>();
  #aliases = new Map<string, string>();
  #gone = new Map<string, Model>();
  readonly #listings = new Set<() => Promise<void>>();
  readonly #names: FindNamed[] = [];
  #prices: PriceSource | undefined;
  /** What is sorted holds from one time to another: when it was sorted, and when it changes next. */
  #sortedAt = 0;
  #nextEnd = Infinity;
  #version = 0;
  /** Milliseconds that a call may last, and so how far ahead its price is looked up. */
  readonly longestCall: number;
  /** Unknown until all plugins are applied. */
  #protocols: ProtocolFlags | undefined;

  constructor(longestCall = 3_600_000) {
    this.longestCall = longestCall;
  }

  /** Checks the protocols' flags of all models, and from now on those of each model that is offered. */
  checkFlags(protocols: ProtocolFlags): void {
    this.#protocols = protocols;
    for (const offers of this.#byProvider.values())
      for (const { provider, model } of offers) checkFlags(provider, model, protocols);
  }

  /** Sets what a provider offers, for one of its keys if it has several. Throws if it names a model twice. */
  offer(provider: Provider, models: readonly Model[]): void {
    const ids = new Set<string>();
    for (const model of models) {
      const { id } = model;
      if (ids.has(id)) throw new Error(`provider "${provider.name}" lists the model "${id}" twice`);
      if (!Array.isArray(model.aliases))
        throw new TypeError(
          `provider "${provider.name}" offers the model "${id}" unchecked: ` +
            'pass checkModel(…) of it, or what readCatalogue answers',
        );
      ids.add(id);
      if (this.#protocols) checkFlags(provider, model, this.#protocols);
      freeze(model);
    }
    const offers = models.map((model) => this.#buildOffer(provider, model));
    this.#byProvider.set(nameKey(provider), offers);
    const named = offers.toReversed().map((offer) => [offer.model.upstream, offer] as const);
    this.#byUpstream.set(nameKey(provider), new Map(named));
    this.#sort();
  }

  #buildOffer(provider: Provider, model: Model): Offer {
    const { price = freePrice } = model;
    const findServed = (upstream: string): Offer | undefined => this.#findServed(provider, upstream);
    if (!price.rules) return { provider, model, price, findServed };
    const schedule = new PriceSchedule(price.rules, this.longestCall);
    return { provider, model, price, schedule, findServed };
  }

  /** A vendor may answer with a model that it no longer offers by its name. */
  #findServed(provider: Provider, upstream: string): Offer | undefined {
    const offer = this.#byUpstream.get(nameKey(provider))?.get(upstream);
    return offer && this.#reprice(offer, Date.now());
  }

  /** Keeps a provider's place in the configuration's order. `look` asks the vendor for its models later. */
  keepPlace(provider: Provider, look: () => Promise<void>): void {
    this.offer(provider, []);
    this.#listings.add(look);
  }

  /** Asks all vendors that list their own models, before the gateway is open. */
  async lookAtListings(): Promise<void> {
    await Promise.all([...this.#listings].map((look) => look()));
  }

  /** Grows with each change, so that caches built from the catalogue can tell that they are old. */
  get version(): number {
    this.#followClock();
    return this.#version;
  }

  /** Replaces prices from the next call on. Calls that run keep theirs. */
  setPrices(prices: PriceSource): void {
    this.#prices = prices;
    this.#sort();
  }

  #reprice(offer: Offer, now: number): Offer {
    const { provider, model, price } = offer;
    // An update states the price of calls that may be served anywhere.
    const worldwide = findWorldwidePrice(price);
    const current = this.#prices?.find(provider.name, model, worldwide ?? price, now);
    if (!current) return offer;
    const repriced = { ...model, free: undefined, price: worldwide ? toRegionalPrice(current) : current };
    freeze(repriced);
    return this.#buildOffer(provider, repriced);
  }

  /** Adds names for models, looked up in the order of the plugins if no model has the name as id. */
  addNames(find: FindNamed): void {
    this.#names.push(find);
  }

  /** Offers of a model in the configuration's order. None if it is unknown, retired, or ambiguous. */
  find(id: string): readonly Offer[] {
    this.#followClock();
    return this.#resolveName(id, mostNames);
  }

  #resolveName(id: string, mostSteps: number): readonly Offer[] {
    const known = this.#byModel.get(id) ?? this.#byModel.get(this.#aliases.get(id) ?? '');
    if (known || mostSteps === 0) return known ?? [];
    for (const find of this.#names) {
      const [named, ...others] = find(id);
      const offers = named === undefined ? [] : this.#resolveName(named, mostSteps - 1);
      if (offers.length > 0) return others.length > 0 ? [] : offers;
    }
    return [];
  }

  /** Each model once, as its first provider describes it. */
  listModels(): Model[] {
    this.#followClock();
    return [...this.#byModel.values()].flatMap(([first]) => (first ? [first.model] : []));
  }

  /** The ids that a name can mean, whether or not they are served. */
  findNamed(name: string): readonly string[] {
    return [...new Set(this.#names.flatMap((find) => find(name)))];
  }

  /** The error for a missing model. It names the replacement of a retired one. */
  buildMissingError(id: string, param = 'model'): GatewayError {
    return new GatewayError('model_not_found', this.#describeMissing(id, `The model "${id.slice(0, 200)}"`), {
      param,
    });
  }

  #describeMissing(id: string, model: string): string {
    const named = this.findNamed(id);
    if (named.length > 1) return `${model} can mean ${named.join(' or ')}: send one of these.`;
    const [meant = id] = named;
    const gone = this.#gone.get(id) ?? this.#gone.get(meant);
    const name = meant === id ? '' : `, which means "${meant}",`;
    if (!gone) return `${model}${name} does not exist, or no provider that serves it is switched on.`;
    const advice = gone.successor ? ` Use "${gone.successor}" instead.` : '';
    return `${model} was withdrawn after ${gone.expires}.${advice}`;
  }

  /** A clock may jump ahead of what ends, and back. */
  #followClock(): void {
    const now = Date.now();
    if (now >= this.#nextEnd || now < this.#sortedAt) this.#sort();
  }

  #sort(): void {
    const now = Date.now();
    this.#sortedAt = now;
    const offers = [...this.#byProvider.values()].flat().map((offer) => this.#reprice(offer, now));
    const isGone = ({ model }: Offer): boolean => computeEnd(model) <= now;
    const served = offers.filter((offer) => !isGone(offer));
    this.#byModel = Map.groupBy(served, ({ model }) => model.id);
    this.#gone = new Map(offers.filter(isGone).map(({ model }) => [model.id, model]));
    this.#aliases = new Map(
      served.flatMap(({ model: { id, canonicalSlug, aliases } }) =>
        [canonicalSlug ?? id, ...aliases].map((alias) => [alias, id]),
      ),
    );
    const nextPrice = this.#prices?.findNextChange(now) ?? Infinity;
    this.#nextEnd = served.reduce((next, { model }) => Math.min(next, computeEnd(model)), nextPrice);
    this.#version += 1;
  }
}
