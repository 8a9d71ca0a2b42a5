/**
 * Exports of all entries as CSV or JSON Lines: read slice by slice, no faster than the client takes them. An
 * export ends at the last entry of its start, so two that follow each other miss none and repeat none.
 */
import { createWriteStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { fileMode, GatewayError, type RouteReply } from '../../../../core/index.ts';
import { noStore, readInput } from '../../../shared/operator-routes.ts';
import { exportFormats, headOf } from '../export/lines.ts';
import { entryKinds, type Store } from '../store.ts';
import { accountName, buildNumberSchema, period, checkPeriod } from './reading.ts';
import { findOwners, only, type Verb } from './verbs.ts';

export const exportQuery = checkPeriod(
  z.strictObject({
    format: z.enum(exportFormats, `an export is ${exportFormats.join(' or ')}`).default('csv'),
    account: accountName.optional(),
    key: z.string().max(200).optional(),
    kind: z.enum(entryKinds, `the kinds are ${entryKinds.join(', ')}`).optional(),
    ...period,
    /** The number of an entry: the export continues after it. */
    after: buildNumberSchema(0).default(0),
  }),
);

type Query = z.output<typeof exportQuery>;

/** Numbers of a slice: few enough that other reports wait for milliseconds. */
const sliceSize = 2000;
/** Exports at a time, in one process. */
const mostExports = 4;
let running = 0;

/** The lines with numbers above `after`, up to `last`. The next slice is read while this one is sent. */
async function* readLines(store: Store, { after, ...query }: Query, last: number): AsyncGenerator<string> {
  const readSlice = (start: number): Promise<string> | undefined => {
    if (start >= last) return undefined;
    const slice = store.exportEntries({ ...query, after: start, last: Math.min(start + sliceSize, last) });
    // A client that disconnects never reads it.
    slice.catch(() => undefined);
    return slice;
  };
  // Counted from the first read on: a reply that is never sent is never closed either.
  running += 1;
  try {
    if (headOf[query.format] !== '') yield headOf[query.format];
    let next = readSlice(after);
    for (let start = after; next; start += sliceSize) {
      const text = await next;
      next = readSlice(start + sliceSize);
      if (text !== '') yield text;
    }
  } finally {
    running -= 1;
  }
}

export interface Export {
  readonly lines: Readable;
  /** The number of the last entry that it can have: where the next export begins. */
  readonly last: number;
}

export async function exportEntries(store: Store, query: Query): Promise<Export> {
  if (running >= mostExports)
    throw new GatewayError('overloaded', `At most ${mostExports} exports run at a time; try again later.`, {
      retryAfter: 30,
    });
  const last = Math.max(query.after, await store.findLastEntry());
  return { lines: Readable.from(readLines(store, query, last)), last };
}

const types = { csv: 'text/csv; charset=utf-8', jsonl: 'application/jsonl; charset=utf-8' } as const;

export async function buildExportReply(store: Store, params: unknown): Promise<RouteReply> {
  const query = readInput(exportQuery, params);
  const { lines, last } = await exportEntries(store, query);
  return {
    status: 200,
    headers: {
      ...noStore,
      'content-type': types[query.format],
      'content-disposition': `attachment; filename="entries.${query.format}"`,
      'x-tollgate-export-last': String(last),
    },
    body: lines,
  };
}

function guessFormat(file: string): Query['format'] {
  return /\.(jsonl|ndjson)$/i.test(file) ? 'jsonl' : 'csv';
}

export const exportVerb: Verb = {
  name: 'entries export <file>',
  description: 'write all entries of the ledger to a file, and show where the next export begins',
  options: [
    { flags: '--format <format>', description: "csv or jsonl (by the file's name unless given)" },
    { flags: '--after <number>', description: 'only entries after this number' },
    only.account,
    only.key,
    { flags: '--kind <kind>', description: `only ${entryKinds.join(', ')}` },
    only.from,
    only.to,
  ],
  async run({ store }, [file = ''], options) {
    // It may be the export that this one continues. A shell creates an empty file before the command runs.
    const there = statSync(file, { throwIfNoEntry: false });
    if (there?.isFile() && there.size > 0) throw new Error(`${file} already exists: name a new file`);
    const { lines, last } = await exportEntries(
      store,
      readInput(exportQuery, { format: guessFormat(file), ...(await findOwners(store, options)) }),
    );
    const written = createWriteStream(file, { mode: fileMode });
    written.on('error', (error) => (error.message = `${file} could not be written: ${error.message}`));
    await pipeline(lines, written);
    return {
      json: { file, last },
      text: `${file} has the entries up to ${last}: --after ${last} continues.`,
    };
  },
};
