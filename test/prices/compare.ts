/**
 * Compares the catalogue with what others state: LiteLLM's price file, and vendors' own lists of models. A
 * price that differs is a question, not a fault: the file is also wrong at times. Look for a second source.
 */
import { z } from 'zod';
import { parseUsd, type Model } from '../../core/index.ts';
import { flattenPrice } from '../../plugins/operations/catalogue/price-list.ts';
import type { Facts, Figures } from '../../plugins/operations/catalogue/snapshot.ts';

export const kinds = ['new', 'gone', 'dearer', 'cheaper', 'ends', 'unconfirmed'] as const;

export interface Finding {
  readonly kind: (typeof kinds)[number];
  readonly vendor: string;
  /** The vendor's own name of the model. */
  readonly model: string;
  readonly detail: string;
}

const row = z.looseObject({ mode: z.string().optional(), deprecation_date: z.string().optional() });
const served = new Set<string | undefined>(['chat', 'responses', 'image_generation']);

/** The rows of LiteLLM's file for models that this gateway could serve and that have not retired. */
export function selectRows(content: unknown, today: string): object {
  const rows = Object.entries(z.record(z.string(), z.unknown()).parse(content));
  return Object.fromEntries(
    rows.filter(([name, value]) => {
      const { success, data } = row.safeParse(value);
      // Rates of a model that a customer has tuned.
      if (name.startsWith('ft:')) return false;
      return success && served.has(data.mode) && (data.deprecation_date ?? '9999') > today;
    }),
  );
}

/** Models of a vendor's own list, with the first day without each, if the list says so. */
export type Listing = ReadonlyMap<string, string | undefined>;

/** Lists that state it call it differently; Google's names begin with `models/`. */
const listed = z.object({
  id: z.string().optional(),
  name: z.string().optional(),
  shutdown_date: z.string().nullish(),
});
const listing = z.union([
  z.object({ data: z.array(listed) }).transform(({ data }) => data),
  z.object({ models: z.array(listed) }).transform(({ models }) => models),
  z.array(listed),
]);

export function readVendorListing(content: unknown): Listing {
  return new Map(
    listing.parse(content).flatMap(({ id, name, shutdown_date: end }): [string, string | undefined][] => {
      const model = id ?? name?.replace(/^models\//, '');
      return model === undefined ? [] : [[model, end?.slice(0, 10)]];
    }),
  );
}

const limits = new Set(['contextLength', 'outputLimit']);

/** What a rate that a price does not state costs: what the whole costs that it is a part of. */
const wholes: Readonly<Record<string, string>> = {
  reasoning: 'output',
  outputAudio: 'output',
  outputImage: 'output',
  inputAudio: 'input',
  inputImage: 'input',
  cacheRead: 'input',
  cacheWrite5m: 'input',
  cacheWrite30m: 'input',
  cacheWrite1h: 'input',
  cacheWrite12h: 'input',
};

function splitFigure(figure: string): { readonly kind: string; readonly table: string } {
  const space = figure.indexOf(' ');
  return space < 0
    ? { kind: figure, table: '' }
    : { kind: figure.slice(0, space), table: figure.slice(space) };
}

/** The rate by which a call would be charged. Undefined if the price has no such tier or mode. */
function findOurRate(ours: Figures, figure: string): string | undefined {
  const { kind, table } = splitFigure(figure);
  return ours[figure] ?? (wholes[kind] === undefined ? undefined : ours[wholes[kind] + table]);
}

/** OpenAI's caches keep what they write for 30 minutes. LiteLLM has one name for the shortest time. */
function renameWrites(theirs: Figures, ours: Figures): Figures {
  if (ours.cacheWrite30m === undefined) return theirs;
  return Object.fromEntries(
    Object.entries(theirs).map(([figure, rate]) => [figure.replace('cacheWrite5m', 'cacheWrite30m'), rate]),
  );
}

/** Whether one of the price's rules has the rate: a file has no times. */
function isRuled(ours: Figures, figure: string, rate: string): boolean {
  return Object.entries(ours).some(([name, own]) => own === rate && name.startsWith(`${figure} by `));
}

function compareFigures(vendor: string, { upstream: model, price }: Model, stated: Figures): Finding[] {
  if (!price) return [];
  const ours = flattenPrice(price);
  const missing = new Set<string>();
  const findings = Object.entries(renameWrites(stated, ours)).flatMap(([figure, rate]): Finding[] => {
    const { kind, table } = splitFigure(figure);
    // A price of nothing for writes is how some say that they do not bill them.
    if (limits.has(kind) || (rate === '0' && kind.startsWith('cacheWrite'))) return [];
    const own = findOurRate(ours, figure);
    if (own === undefined) {
      missing.add(table.trim() || kind);
      return [];
    }
    if (own === rate || isRuled(ours, figure, rate)) return [];
    const change = parseUsd(rate) > parseUsd(own) ? 'dearer' : 'cheaper';
    return [{ kind: change, vendor, model, detail: `${figure} ${own} → ${rate}` }];
  });
  if (missing.size === 0) return findings;
  return [...findings, { kind: 'new', vendor, model, detail: `rates ${[...missing].join(', ')}` }];
}

/** A name with a date is a version of the model without it. */
function stripDate(model: string): string {
  return model.replace(/[-@](\d{8}|\d{4}-\d{2}-\d{2})$/, '');
}

export interface Others {
  readonly facts?: Facts | undefined;
  readonly listing?: Listing | undefined;
}

/** What others state about the models of one vendor's catalogue file. `today` is a date. */
export function compareVendor(
  vendor: string,
  models: readonly Model[],
  { facts, listing: own }: Others,
  today: string,
): Finding[] {
  const current = models.filter(({ expires }) => expires === null || expires >= today);
  const known = new Set(models.flatMap(({ upstream }) => [upstream, stripDate(upstream)]));
  const findings: Finding[] = [];
  const add = (kind: Finding['kind'], model: string, detail: string): void =>
    void findings.push({ kind, vendor, model, detail });
  for (const model of current) {
    const { upstream, expires, unconfirmed } = model;
    const stated = facts?.get(upstream);
    if (stated) findings.push(...compareFigures(vendor, model, stated));
    else if (facts) add('gone', upstream, 'the price file lacks it');
    if (unconfirmed !== undefined) add('unconfirmed', upstream, unconfirmed);
    if (!own) continue;
    if (!own.has(upstream)) add('gone', upstream, 'the vendor does not list it');
    const end = own.get(upstream);
    if (end !== undefined && (expires === null || expires >= end))
      add('ends', upstream, `the vendor shuts it down on ${end}; the catalogue says ${expires ?? 'nothing'}`);
  }
  for (const [name, where] of [
    ...[...(facts?.keys() ?? [])].map((each) => [each, 'in the price file'] as const),
    ...[...(own?.keys() ?? [])].map((each) => [each, 'in the list of the vendor'] as const),
  ])
    if (!known.has(name) && !known.has(stripDate(name))) add('new', name, where);
  return findings;
}

/** One line for what is said of a model, or of several models of a vendor. */
export function formatFindings(findings: readonly Finding[]): string {
  return kinds
    .flatMap((kind) => [
      ...Map.groupBy(
        findings.filter((finding) => finding.kind === kind),
        ({ vendor, detail }) => `${vendor}: ${detail}: `,
      ),
    ])
    .map(
      ([said, about]) =>
        `${about[0]?.kind.padEnd(11)} ${said}${about.map(({ model }) => model).join(', ')}\n`,
    )
    .join('');
}
