/**
 * Pages of a model listing, by the parameters of each protocol. Without a parameter a listing is whole. A
 * cursor is the id of the model before or after the page, so a page is the same whatever was asked before it.
 */
import { GatewayError, type Model } from '../../../core/index.ts';

/** The names of a protocol's parameters. */
export interface PageParameters {
  readonly limit: string;
  readonly after: string;
  readonly before?: string;
  /** Whether a limit of 0 is none, and one beyond the highest is the highest, as Google documents. */
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

/** Anthropic's and Google's highest. */
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
export function readWantedPage(query: URLSearchParams, names: PageParameters): Wanted | undefined {
  if (query.size === 0) return undefined;
  const limit = readLimit(query, names);
  const after = query.get(names.after) ?? '';
  const before = names.before === undefined ? '' : (query.get(names.before) ?? '');
  if (after !== '' && before !== '')
    throw refuse(names.before ?? '', `cannot be combined with "${names.after}"`);
  return limit === Infinity && after === '' && before === '' ? undefined : { limit, after, before };
}

function findPlace(models: readonly Model[], id: string, param: string): number {
  const place = models.findIndex((model) => model.id === id);
  if (place >= 0) return place;
  throw refuse(
    param,
    `must be the id that a page of this list ended with; "${id.slice(0, 100)}" is not in it`,
  );
}

/** Cuts a page from a list. Throws `invalid_request` if its cursor is not in the list. */
export function cutPage(models: readonly Model[], wanted: Wanted, names: PageParameters): Page {
  const { limit, after, before } = wanted;
  if (names.before !== undefined && before !== '') {
    const end = findPlace(models, before, names.before);
    const start = Math.max(0, end - limit);
    return { models: models.slice(start, end), more: start > 0 };
  }
  const start = after === '' ? 0 : findPlace(models, after, names.after) + 1;
  const end = Math.min(models.length, start + limit);
  return { models: models.slice(start, end), more: end < models.length };
}
