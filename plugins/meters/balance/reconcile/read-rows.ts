/** Reads rows of a vendor's bill: from CSV files, in a stream, and from pages of its API, within limits. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { getMessage } from '../../../../core/index.ts';
import { dayColumns, type Api, type Row } from './vendors.ts';

const mebibyte = 1024 * 1024;
/** Of a file, and of a page of an API. */
const longest = 256 * mebibyte;
/** Lines before the names of the columns: Google's cost table has eight. */
const mostBefore = 50;
const mostPages = 400;
const timeout = 60_000;

async function* limitSize(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > longest) throw new Error(`it has more than ${longest / mebibyte} MiB`);
    yield chunk;
  }
}

function splitCells(row: string): string[] {
  const cells = `,${row}`.matchAll(/,("(?:[^"]|"")*"|[^,]*)/g);
  return [...cells].map(([, cell = '']) =>
    cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
  );
}

/** The rows of a CSV file. A quoted cell may have several lines: a row ends with an even number of quotes. */
async function* readCsv(lines: AsyncIterable<string>): AsyncGenerator<string[]> {
  let [row, isOpen] = ['', false];
  for await (const line of lines) {
    row += line;
    if (row.length > mebibyte) throw new Error('a row has more than 1 MiB: is it CSV?');
    if (line.split('"').length % 2 === 0) isOpen = !isOpen;
    if (isOpen) continue;
    yield splitCells(row);
    row = '';
  }
  if (row !== '') yield splitCells(row);
}

function nameColumn(heading: string): string {
  if (/\([^)$]{1,5}\)$/.test(heading)) throw new Error(`the column "${heading}" is not in USD`);
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
}

async function* nameCells(rows: AsyncIterable<readonly string[]>): AsyncGenerator<Row> {
  let columns: readonly string[] | undefined;
  const facts: Record<string, string> = {};
  let lines = 0;
  for await (const cells of rows) {
    lines += 1;
    if (columns)
      yield { ...facts, ...Object.fromEntries(columns.map((name, place) => [name, cells[place] ?? ''])) };
    else if (cells[0] === 'Currency') facts.currency = cells[1] ?? '';
    else if (lines > mostBefore) break;
    else if (cells.map(nameColumn).some((name) => dayColumns.includes(name))) columns = cells.map(nameColumn);
  }
  if (!columns) throw new Error(`it has no column with days, named ${dayColumns.join(', ')}`);
}

const pageSchema = z.object({
  data: z.array(z.looseObject({ results: z.array(z.looseObject({})) })),
  next_page: z.string().nullish(),
});
type Page = z.output<typeof pageSchema>;

function flattenCells(value: object, prefix = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) => {
    if (typeof each === 'object' && each !== null) return flattenCells(each, `${prefix}${name}_`);
    return typeof each === 'string' || typeof each === 'number' ? [[prefix + name, String(each)]] : [];
  });
}

function listRows({ data }: Page): Row[] {
  return data.flatMap(({ results, ...bucket }) =>
    results.map((result) => Object.fromEntries(flattenCells({ ...bucket, ...result }))),
  );
}

/** A page of an API, or a list of pages. */
async function readPages(chunks: AsyncIterable<Uint8Array>): Promise<Page[]> {
  const bytes = Buffer.concat(await Array.fromAsync(limitSize(chunks)));
  const value: unknown = JSON.parse(bytes.toString());
  const { data } = z.array(pageSchema).safeParse([value].flat());
  if (!data) throw new Error('it is no page of a usage API, and no list of pages');
  return data;
}

/** The rows of a file: CSV, or pages of the API as JSON. */
export async function* readFile(file: string): AsyncGenerator<Row> {
  try {
    const chunks = createReadStream(file);
    if (file.endsWith('.json')) yield* (await readPages(chunks)).flatMap(listRows);
    else yield* nameCells(readCsv(createInterface(Readable.from(limitSize(chunks)))));
  } catch (error) {
    throw new Error(`${file}: ${getMessage(error)}`, { cause: error });
  }
}

async function fetchPage(url: URL, { variable, getHeaders }: Api): Promise<Page | undefined> {
  const key = process.env[variable];
  if (!key) throw new Error(`name a file, or set ${variable} to an admin key of the vendor`);
  const signal = AbortSignal.timeout(timeout);
  const asked = { headers: getHeaders(key), redirect: 'error', signal } as const;
  const response = await fetch(url, asked).catch((error: unknown) => {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    throw new Error(`${url.origin} could not be reached: ${getMessage(cause)}`, { cause });
  });
  if (response.ok && response.body) return (await readPages(response.body))[0];
  const remedy = [401, 403].includes(response.status) ? `: ${variable} has to be an admin key` : '';
  throw new Error(`${url.origin}${url.pathname} replied with status ${response.status}${remedy}`);
}

/** The rows of a vendor's API, up to the day `to` and without it. */
export async function* fetchRows(api: Api, from: string, to: string, base = api.url): AsyncGenerator<Row> {
  for (const path of api.paths) {
    const url = new URL(`${base.replace(/\/$/, '')}/${path}`);
    const asked = { ...api.getPeriod(from, to), bucket_width: '1d', limit: '31' };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    for (let count = 1, next: string | null | undefined = ''; typeof next === 'string'; count += 1) {
      if (count > mostPages) throw new Error(`${path} has more than ${mostPages} pages: shorten the period`);
      const found = await fetchPage(url, api);
      if (found) yield* listRows(found);
      next = found?.next_page;
      url.searchParams.set('page', next ?? '');
    }
  }
}
