/**
 * Exports of all entries as CSV or JSON Lines: read slice by slice, no faster than the client takes them. An
 * export ends at the last entry of its start, so two that follow each other miss none and repeat none.
 */
import { createWriteStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { fileMode, GatewayError } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import { noStore } from '../../../shared/operator-routes.ts';
import type { Verbs } from '../../../shared/operator-verbs.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { exportFormats, headOf } from '../export/lines.ts';
import { entryKinds, type Store } from '../store.ts';
import { nameKey } from './key-records.ts';
import { findOwners } from './keys.ts';
import { defineOperation, only, type Ledger } from './operation.ts';
import { accountName, buildNumberSchema, period, checkPeriod } from './reading.ts';

const exportQuery = checkPeriod(
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
type Export = Replies['GET /admin/entries/export'];

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

/** An export ends at the last entry that there is now: where the next one begins. */
export async function exportEntries(store: Store, query: Query): Promise<Export> {
  if (running >= mostExports)
    throw new GatewayError('overloaded', `At most ${mostExports} exports run at a time; try again later.`, {
      retryAfter: 30,
    });
  const last = Math.max(query.after, await store.findLastEntry());
  return { format: query.format, last, lines: readLines(store, query, last) };
}

const lastHeader = 'x-tollgate-export-last';

const exporting = defineOperation({
  route: 'GET /admin/entries/export',
  summary: 'Export all entries of the ledger as a file',
  details:
    'The header `x-tollgate-export-last` is the number of the last entry that the export can have. ' +
    'The next export goes on with it as `after`; ' +
    'one that broke off, with the number of its last whole line.',
  roles: roles.read,
  input: exportQuery,
  run: async ({ store }, query) => exportEntries(store, await nameKey(store, query)),
  file: {
    content: { 'text/csv': z.string(), 'application/jsonl': z.string() },
    send({ format, last, lines }) {
      const type = format === 'csv' ? 'text/csv' : 'application/jsonl';
      return {
        status: 200,
        headers: {
          ...noStore,
          'content-type': `${type}; charset=utf-8`,
          'content-disposition': `attachment; filename="entries.${format}"`,
          [lastHeader]: String(last),
        },
        body: Readable.from(lines),
      };
    },
    receive: ({ headers, body }) => ({
      format: headers.get('content-type')?.startsWith('text/csv') ? 'csv' : 'jsonl',
      last: Number(headers.get(lastHeader)),
      lines: body ?? Readable.from([]),
    }),
  },
});

export const exportOperations = [exporting];

export const exportVerbs: Verbs<Ledger> = {
  'entries export <file>': {
    description: 'write all entries of the ledger to a file, and show where the next export begins',
    flags: {
      '--format <format>': "csv or jsonl (by the file's name unless given)",
      '--after <number>': 'only entries after this number',
      ...only.owner,
      '--kind <kind>': `only ${entryKinds.join(', ')}`,
      ...only.period,
    },
    async run(client, { args: { file = '' }, input: { file: _file, ...typed } }) {
      // It may be the export that this one continues. A shell creates an empty file before the command runs.
      const there = statSync(file, { throwIfNoEntry: false });
      if (there?.isFile() && there.size > 0) throw new Error(`${file} already exists: name a new file`);
      const format = /\.(jsonl|ndjson)$/i.test(file) ? 'jsonl' : 'csv';
      const input = { format, ...(await findOwners(typed, client)) };
      const { lines, last } = await client.call(exporting, { input });
      const written = createWriteStream(file, { mode: fileMode });
      written.on('error', (error) => (error.message = `${file} could not be written: ${error.message}`));
      await pipeline(lines, written);
      return {
        json: { file, last },
        text: `${file} has the entries up to ${last}: --after ${last} continues.`,
      };
    },
  },
};
