/**
 * What vendors bill: the one table of units. Prices and usage are lists of them, and everything that has
 * something to say of each unit (schemas, costs, bounds, reports, feeds) iterates over this table.
 */

export const modalities = ['text', 'audio', 'image', 'video'] as const;
export type Modality = (typeof modalities)[number];

interface Facts {
  /** How many of it a rate is for. */
  readonly per: 1 | 1_000_000;
  /** The unit whose count includes it. Without a rate of its own it costs what that one does. */
  readonly within?: 'input' | 'output';
  /** Whether it is counted by modality, too. Such a count is part of the unit's own. */
  readonly byModality?: true;
  /** Units whose rate holds, in this order, if it has none of its own. */
  readonly like?: readonly string[];
  /** How long the vendor keeps what is written to its cache. */
  readonly kept?: 'short' | 'long';
  /** A charge for one event: a factor on rates, as that of a service mode, leaves it as it is. */
  readonly isFee?: true;
  /** Tokens that one use adds to the conversation. */
  readonly adds?: number;
  /** Whether its counts may have fractions. */
  readonly isDivisible?: true;
  /** Its name in the `usage` event, if that is another one. */
  readonly counted?: string;
}

const token = { per: 1_000_000, byModality: true } as const;
const read = { ...token, within: 'input' } as const;
const second = { per: 1, byModality: true, isDivisible: true } as const;
const fee = { per: 1, isFee: true } as const;

/**
 * The units by name. Parts come before their whole, since their order is that in which a call's tokens are
 * assigned to rates: no part takes more than earlier ones have left.
 */
const table = {
  /** Tokens. Vendors with longer retention keep 30 minutes by default, and may report those as any writes. */
  cacheRead: read,
  cacheWrite5m: { ...read, kept: 'short', like: ['cacheWrite30m'] },
  cacheWrite30m: { ...read, kept: 'short', like: ['cacheWrite5m'] },
  cacheWrite1h: { ...read, kept: 'long' },
  cacheWrite12h: { ...read, kept: 'long', like: ['cacheWrite30m', 'cacheWrite5m'] },
  input: token,
  reasoning: { ...token, within: 'output' },
  output: token,
  request: fee,
  /** Pictures made, and pictures read, if the vendor counts pictures. */
  image: { ...fee, counted: 'images' },
  imageIn: { per: 1 },
  /** Searches of the web. Anthropic's add up to 10,000 tokens. */
  webSearch: { ...fee, adds: 10_000, counted: 'webSearches' },
  /** Searches by OpenAI's older tool `web_search_preview`. */
  previewSearch: { ...fee, adds: 10_000, like: ['webSearch'], counted: 'previewSearches' },
  /** Searches in files that the vendor stores. OpenAI's return twenty chunks of 800 tokens. */
  fileSearch: { ...fee, adds: 16_000, counted: 'fileSearches' },
  /** Containers opened to run code. */
  container: { ...fee, counted: 'containers' },
  /** Searches in documents that the request brings, as rerankers bill them. */
  search: { per: 1 },
  character: { per: 1 },
  page: { per: 1 },
  secondIn: second,
  secondOut: second,
  sessionSecond: { per: 1, isDivisible: true },
} as const satisfies Readonly<Record<string, Facts>>;

type Table = typeof table;
export type Unit = keyof Table;
type UnitWith<Fact> = { [Name in Unit]: Table[Name] extends Fact ? Name : never }[Unit];
/** A unit that is charged for each event. */
export type FeeName = UnitWith<{ readonly isFee: true }>;
export type CountName =
  | {
      [Name in Unit]: Table[Name] extends { readonly counted: infer Counted extends string } ? Counted : Name;
    }[Unit]
  | `${UnitWith<{ readonly byModality: true }>}${Capitalize<Modality>}`;

/** A unit, of one modality or of all. */
export interface Billed {
  readonly unit: Unit;
  readonly modality?: Modality | undefined;
}

/** How much of a unit was used. */
export interface Use extends Billed {
  readonly count: number;
}

/** What a call used, and by what it is priced: its service mode, and the rule of its time. */
export interface Used {
  readonly uses: readonly Use[];
  readonly mode?: string | undefined;
  readonly rule?: string | undefined;
}

function isUnit(name: string): name is Unit {
  return Object.hasOwn(table, name);
}

export const unitNames: readonly Unit[] = Object.keys(table).filter(isUnit);
export const facts: Readonly<Record<Unit, Facts>> = table;

/** A unit and its modality in one word, such as `inputAudio`: its name in ledgers, reports and tables. */
export function nameKind({
  unit,
  modality,
}: Readonly<{ unit: string; modality?: string | undefined }>): string {
  return modality === undefined ? unit : unit + modality.charAt(0).toUpperCase() + modality.slice(1);
}

export interface Kind extends Billed, Facts {
  readonly name: string;
  readonly countName: string;
  /** Its place among all kinds. */
  readonly place: number;
  /** The unit of which it is a part in the end: itself, unless it is within another. */
  readonly whole: Unit;
  /** What it is a part of: its unit if it is a modality, and the unit that its own is within. */
  readonly wholes: readonly Unit[];
  /** The names of the rates that hold for it, the first that a price has. */
  readonly rateNames: readonly string[];
}

function describeKind(billed: Billed, place: number): Kind {
  const { unit, modality } = billed;
  const own = facts[unit];
  const { within, like = [], counted } = own;
  const name = nameKind(billed);
  return {
    ...own,
    ...billed,
    name,
    place,
    whole: within ?? unit,
    wholes: [...(modality ? [unit] : []), ...(within ? [within] : [])],
    rateNames: [unit, ...like].map((each) => nameKind({ unit: each, modality })),
    countName: counted ?? name,
  };
}

/** Every unit, and before it its modalities. */
export const kinds: readonly Kind[] = unitNames
  .flatMap((unit): Billed[] => [
    ...(facts[unit].byModality ? modalities : []).map((modality) => ({ unit, modality })),
    { unit },
  ])
  .map(describeKind);

const byName: ReadonlyMap<string, Kind> = new Map(kinds.map((kind) => [kind.name, kind]));
const byCountName: ReadonlyMap<string, Kind> = new Map(kinds.map((kind) => [kind.countName, kind]));
export function findKind(name: string): Kind | undefined {
  return byName.get(name);
}

/** Kinds by their names, in the order of the table. */
export function sortKinds(names: Iterable<string>, known = byName): Kind[] {
  const found: Kind[] = [];
  for (const name of names) {
    const kind = known.get(name);
    if (kind) found.push(kind);
  }
  return found.toSorted((one, other) => one.place - other.place);
}

/** Counts by their names as a list. */
export function listUses(usage: Readonly<Record<string, unknown>>): Use[] {
  const uses: Use[] = [];
  for (const { countName, unit, modality } of sortKinds(Object.keys(usage), byCountName)) {
    const count = usage[countName];
    if (typeof count === 'number') uses.push(modality ? { unit, modality, count } : { unit, count });
  }
  return uses;
}

/** How much of a unit was used, in all modalities or in one; undefined if that is unknown. */
export function findCount(uses: readonly Use[], unit: Unit, modality?: Modality): number | undefined {
  return uses.find((use) => use.unit === unit && use.modality === modality)?.count;
}

/** The uses with these in place of others of their kinds. */
export function replaceUses(uses: readonly Use[], others: readonly Use[]): Use[] {
  const isReplaced = ({ unit, modality }: Use): boolean =>
    others.some((other) => other.unit === unit && other.modality === modality);
  return [...uses.filter((use) => !isReplaced(use)), ...others];
}
