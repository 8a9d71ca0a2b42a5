/** Reads rows of a vendor's bill: from CSV files and from pages of its API, within limits. */
import { createReadStream } from 'node:fs';
import { z } from 'zod';
import { getMessage } from '../../../../core/index.ts';
import { readLimited } from '../../../shared/read-limited.ts';
import { dayFields, type Api, type Row } from './vendors.ts';

const mebibyte = 1024 * 1024;
/** Of a file, and of a page of an API. */
const longest = 256 * mebibyte;
/** Lines before the names of the columns: Google's cost table has eight. */
const mostBefore = 50;
const mostPages = 400;
const timeout = 60_000;
/** A cell, quoted or not, and what ends it. */
const cellPattern = /(?:"([^"]*(?:""[^"]*)*)"|([^,\r\n]*))(,|\r?\n|\r|$)/gy;

/** The rows of a CSV file. A quoted cell may have commas, quotes and several lines. */
function* readCells(text: string): Generator<readonly string[]> {
  let row: string[] = [];
  for (const [whole, quoted, plain = '', end] of text.matchAll(cellPattern)) {
    if (whole.length > mebibyte) throw new Error('a row has more than 1 MiB: is it CSV?');
    row.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    yield row;
    row = [];
  }
}

function nameColumn(heading: string): string {
  if (/\([^)$]{1,5}\)$/.test(heading)) throw new Error(`the column "${heading}" is not in USD`);
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
}

/** The rows below the names of columns. */
function* readTable(text: string): Generator<Row> {
  let columns: readonly string[] | undefined;
  const facts: Record<string, string> = {};
  let lines = 0;
  for (const cells of readCells(text)) {
    lines += 1;
    if (columns)
      yield { ...facts, ...Object.fromEntries(columns.map((name, place) => [name, cells[place] ?? ''])) };
    else if (cells[0] === 'Currency') facts.currency = cells[1] ?? '';
    else if (lines > mostBefore) break;
    else if (cells.map(nameColumn).some((name) => dayFields.includes(name))) columns = cells.map(nameColumn);
  }
  if (!columns) throw new Error(`it has no column with days, named ${dayFields.join(', ')}`);
}

const pageSchema = z.object({
  data: z.array(z.looseObject({ results: z.array(z.looseObject({})) })),
  next_page: z.string().nullish(),
});
function flattenCells(value: object, prefix = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) => {
    if (typeof each === 'object' && each !== null) return flattenCells(each, `${prefix}${name}_`);
    return typeof each === 'string' || typeof each === 'number' ? [[prefix + name, String(each)]] : [];
  });
}

/** The rows of a page of an API, or of a list of pages, and where the next page is. */
function readPages(text: string) {
  const value: unknown = JSON.parse(text);
  const { data: pages } = z.array(pageSchema).safeParse([value].flat());
  if (!pages) throw new Error('it is no page of a usage API, and no list of pages');
  const rows = pages.flatMap(({ data }) =>
    data.flatMap(({ results, ...bucket }) =>
      results.map((result): Row => Object.fromEntries(flattenCells({ ...bucket, ...result }))),
    ),
  );
  return { rows, next: pages.at(-1)?.next_page };
}

/** The rows of a file: CSV, or pages of the API as JSON. */
async function* readFile(file: string): AsyncGenerator<Row> {
  try {
    const text = String(await readLimited(createReadStream(file), longest));
    yield* file.endsWith('.json') ? readPages(text).rows : readTable(text);
  } catch (error) {
    throw new Error(`${file}: ${getMessage(error)}`, { cause: error });
  }
}

async function fetchPage(url: URL, { variable, getHeaders }: Api) {
  const key = process.env[variable];
  if (!key) throw new Error(`name a file, or set ${variable} to an admin key of the vendor`);
  const signal = AbortSignal.timeout(timeout);
  const asked = { headers: getHeaders(key), redirect: 'error', signal } as const;
  const response = await fetch(url, asked).catch((error: unknown) => {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    throw new Error(`${url.origin} could not be reached: ${getMessage(cause)}`, { cause });
  });
  if (response.ok && response.body) return readPages(String(await readLimited(response.body, longest)));
  const remedy = [401, 403].includes(response.status) ? `: ${variable} has to be an admin key` : '';
  throw new Error(`${url.origin}${url.pathname} replied with status ${response.status}${remedy}`);
}

/** The rows of files, or else of the vendor's API for a period whose second day is the first after it. */
export async function* readRows(
  files: readonly string[],
  api: Api | undefined,
  period: readonly [from: string, to: string],
  base = api?.url ?? '',
): AsyncGenerator<Row> {
  for (const file of files) yield* readFile(file);
  if (files.length > 0) return;
  if (!api) throw new Error('<vendor>: it has no API of costs, so name a file that it exports');
  for (const path of api.paths) {
    const url = new URL(`${base.replace(/\/$/, '')}/${path}`);
    const asked = { ...api.getPeriod(...period), bucket_width: '1d', limit: '31' };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    for (let count = 1, next: string | null | undefined = ''; typeof next === 'string'; count += 1) {
      if (count > mostPages) throw new Error(`${path} has more than ${mostPages} pages: shorten the period`);
      const page = await fetchPage(url, api);
      yield* page.rows;
      ({ next } = page);
      url.searchParams.set('page', next ?? '');
    }
  }
}
