/** What operators read of stored calls: pages of them, one with all its details, and those that end now. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import {
  addDecimals,
  findKind,
  formatUsd,
  multiplyDecimals,
  shiftDecimal,
  toOneLine,
  usd,
  type Principal,
} from '../../../../core/index.ts';
import {
  describeOwnCall,
  describeCall,
  readShownRecord,
  type ListedColumns,
} from '../../../shared/calls/shown.ts';
import { formatTag } from '../../../shared/calls/tag-text.ts';
import { roles } from '../../../shared/operations.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import {
  callAll,
  type Fields,
  type Flags,
  type OperatorClient,
  type Verbs,
} from '../../../shared/operator-verbs.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { formatTable } from '../../../shared/table.ts';
import { describeEntry } from '../export/lines.ts';
import type { CallRow, StoredCall, Store } from '../store.ts';
import { nameRefund } from './accounts.ts';
import { formatDetails } from './call-details.ts';
import { formatCsv, formatUses } from './csv.ts';
import { nameKey, readKeyNames } from './key-records.ts';
import { findOwners } from './keys.ts';
import { defineOperation, only, type Ledger } from './operation.ts';
import { accountName, buildNumberSchema, holder, period, checkPeriod } from './reading.ts';
import { buildPage, buildRefusal } from './replies.ts';

const bookedSchema = z.array(z.tuple([z.string(), z.coerce.number(), z.string()]));

/**
 * What an entry was charged for, line by line, from the lines booked with it. Amounts are exact; the
 * ledger rounds their sum once.
 */
export function computeBill(costs: unknown) {
  const booked = bookedSchema.safeParse(costs).data ?? [];
  const lines = booked.map(([name, units, price]) => {
    const { unit = name, modality, per = 1 } = findKind(name) ?? {};
    const amount = shiftDecimal(multiplyDecimals(String(units), price), per === 1 ? 0 : -6);
    return { kind: name, unit, modality, units, price, per, amount };
  });
  return { lines, total: lines.reduce((sum, { amount }) => addDecimals(sum, amount), '0') };
}

const name = z.string().min(1).max(200, 'it has at most 200 characters');
const outcomes = ['completed', 'aborted', 'cut', 'refused', 'failed', 'replayed', 'error'] as const;

const cursor = z
  .string()
  .regex(/^\d{1,15}-\d{1,15}$/, 'it is the `next` of the page before')
  .transform((text) => {
    const [ended = 0, number = 0] = text.split('-').map(Number);
    return { ended, number };
  });

const paging = {
  model: name.optional(),
  outcome: z.enum(outcomes, `the outcomes are ${outcomes.join(', ')}`).optional(),
  ...period,
  after: cursor.optional(),
  limit: buildNumberSchema(1, 1000).default(100),
};

/** Calls of the key alone, or of all keys of its holder in the account. */
export const ownCallQuery = checkPeriod(
  z.strictObject({ ...paging, of: z.enum(['key', 'holder']).default('key') }),
);

function toListed(row: CallRow): ListedColumns {
  const { firstEvent: first_event = null, asked = null, code = null, ...columns } = row;
  return { ...columns, asked, code, first_event };
}

function formatPlace({ ended, number }: CallRow): string {
  return `${ended}-${number}`;
}

export async function listOwnCalls(
  store: Store,
  { account, key, holder: own }: Principal,
  { of, ...query }: z.output<typeof ownCallQuery>,
) {
  const whose = of === 'holder' && own !== undefined ? { account, holder: own } : { key };
  const rows = await store.listCalls({ ...query, ...whose });
  return {
    object: 'list',
    ...buildPage(rows, query.limit, (row) => describeOwnCall(toListed(row)), formatPlace),
  };
}

const columns = `id started ended account key protocol operation stream model answered_by provider
  outcome status error_code first_event_ms duration_ms attempts input output cached reasoning
  cost vendor_cost margin cost_basis flags tags uses`.split(/\s+/);

type Timing = { name: string; start_ms: number; duration_ms: number | null };

const steps = ['authenticate', 'read', 'replay', 'route', 'authorize'] as const;

/** The steps of a call as a waterfall: those before its attempts follow one another. */
function computeSpans({ timing, attempts }: ReturnType<typeof readShownRecord>): Timing[] {
  let start = 0;
  const spans: Timing[] = steps.flatMap((step) => {
    const duration = timing[step];
    if (duration === undefined) return [];
    const span = { name: step, start_ms: start, duration_ms: duration };
    start = Math.round((start + duration) * 1000) / 1000;
    return [span];
  });
  const tries = attempts.map(({ number, start_ms, duration_ms, first_event_ms, outcome }) => ({
    name: `attempt ${number}`,
    start_ms: start_ms ?? 0,
    duration_ms: duration_ms ?? null,
    first_event_ms: first_event_ms ?? null,
    error: outcome === 'completed' ? null : outcome,
  }));
  const { settle, settle_start: settling } = timing;
  spans.push(...tries);
  if (settle !== undefined && settling !== undefined)
    spans.push({ name: 'settle', start_ms: settling, duration_ms: settle });
  return spans;
}

const originSchema = z.object({ address: z.string().nullish(), client: z.string().nullish() });

/** Where a call came from, which only operators see. Older records do not say it. */
function readOrigin(body: string) {
  const { address = null, client = null } = originSchema.parse(JSON.parse(body));
  return { address, client };
}

/** One call, with its record and what the ledger booked for it. */
async function readCallDetails(store: Store, id: string) {
  const call: StoredCall | undefined = await store.findCall(id);
  if (!call)
    throw buildRefusal(
      'not_found',
      `Call "${id.slice(0, 100)}" not found. It may be running, or older than the retention.`,
    );
  const record = readShownRecord(call.body);
  const entries = await store.listEntries({ call: id, limit: 20 });
  const reserved = entries.map((entry) => (entry.kind === 'reserve' ? entry.reserved : 0n));
  const [refund] = await store.listEntries({ reference: nameRefund(id), limit: 1 });
  const keyName = (await readKeyNames(store, [call.key])).get(call.key);
  return {
    ...describeCall(toListed(call)),
    ...record,
    ...(keyName !== undefined && { key_name: keyName }),
    ...readOrigin(call.body),
    reserved: formatUsd(reserved.reduce((most, amount) => (amount > most ? amount : most), 0n)),
    refunded: refund ? formatUsd(refund.available) : null,
    provider: call.provider === '' ? null : call.provider,
    answered_by: call.provider === '' ? null : call.model,
    routing: record.routing ?? [],
    timing: computeSpans(record),
    entries: entries.map(describeEntry).map((entry) => ({ ...entry, ...computeBill(entry.costs) })),
  };
}

const headings = 'ENDED CALL ACCOUNT KEY MODEL PROVIDER OUTCOME REASON MS USED USD'.split(' ');

type ListedCall = Replies['GET /admin/calls']['data'][number];

function formatCells(call: ListedCall): string[] {
  const { ended, id, account, key_name: key = call.key, model, provider, outcome, cost } = call;
  const { error_code: reason, duration_ms: duration } = call;
  const cells = [ended, id, account, key, model, provider, outcome, reason, duration];
  return [...cells, formatUses(call.uses), cost].map((cell) => String(cell ?? ''));
}

function formatCalls({ data }: Replies['GET /admin/calls']): string {
  return formatTable(headings, data.map(formatCells), { many: 'calls', of: ['USD'] });
}

const filters: Flags = {
  ...only.owner,
  '--holder <name>': 'only by keys of one person or member',
  ...only.model,
  '--provider <name>': 'only by one provider',
  '--outcome <outcome>': 'only with this outcome, such as completed or failed',
};

const listing = defineOperation({
  route: 'GET /admin/calls',
  summary: 'List ended calls, newest first',
  roles: roles.readOwn,
  input: checkPeriod(
    z.strictObject({
      id: name.optional(),
      account: accountName.optional(),
      key: name.optional(),
      holder: holder.optional(),
      provider: name.optional(),
      protocol: name.optional(),
      tag: name.optional(),
      minCost: usd.optional(),
      maxCost: usd.optional(),
      ...paging,
    }),
  ),
  async run({ store, flush }, { id, ...query }) {
    await flush?.();
    const rows = await store.listCalls({ ...(await nameKey(store, query)), call: id });
    const names = await readKeyNames(store, [...new Set(rows.map(({ key }) => key))]);
    const describe = (row: CallRow) => ({
      ...describeCall(toListed(row)),
      key_name: names.get(row.key) || undefined,
    });
    return buildPage(rows, query.limit, describe, formatPlace);
  },
  csv: {
    name: 'calls',
    format: ({ data }) =>
      formatCsv(
        columns,
        data.map(({ flags, tags, stream, uses, ...row }) => ({
          ...row,
          uses: formatUses(uses),
          stream: String(stream),
          flags: flags.join(' '),
          tags: Object.entries(tags)
            .map(([tag, value]) => formatTag(tag, value))
            .join(', '),
        })),
      ),
  },
  verbs: {
    'calls list': {
      flags: { '--limit <count>': 'how many (50 unless given)', ...filters },
      input: { limit: 50 },
      complete: findOwners,
      format: formatCalls,
    },
  },
});

export const callOperations = [
  listing,
  defineOperation({
    route: 'GET /admin/calls/:id',
    summary: 'Show an ended call: its steps, attempts, losses, routing and ledger entries',
    roles: roles.readOwn,
    async run({ store, flush }, _, { id }) {
      await flush?.();
      return readCallDetails(store, id);
    },
    verbs: {
      'calls show <id>': {
        description: 'show what was asked, where it went, how long it took, what it cost and what was lost',
        format: formatDetails,
      },
    },
  }),
];

/**
 * Milliseconds between two queries, and how far back each goes: calls are stored a little after they end.
 */
const pause = 1000;
const lookBack = 10_000;

/** All calls that ended from a time on, the oldest first. */
async function listSince(
  { call }: OperatorClient<Ledger>,
  filter: Fields,
  from: number,
): Promise<ListedCall[]> {
  const since = { ...filter, from: new Date(from).toISOString() };
  const { data } = await callAll((place) => call(listing, { input: { ...since, ...place } }));
  return data.toReversed();
}

const tailQuery = z.object({ count: buildNumberSchema(1).optional() });

export const callVerbs: Verbs<Ledger> = {
  'calls tail': {
    description: 'print calls as they end, until Ctrl-C; with --json each on a line',
    flags: { '--count <calls>': 'stop after so many', ...filters },
    async run(client, { input: { count: typed, ...filter } }) {
      const { count } = readInput(tailQuery, { count: typed });
      const narrowed = await findOwners(filter, client);
      let queriedAt = Date.now();
      let seen = new Set((await listSince(client, narrowed, queriedAt - lookBack)).map(({ id }) => id));
      for (let left = count ?? Infinity; left > 0;) {
        await sleep(pause);
        const from = queriedAt - lookBack;
        queriedAt = Date.now();
        const calls = await listSince(client, narrowed, from);
        const fresh = calls.filter(({ id }) => !seen.has(id)).slice(0, left);
        for (const call of fresh)
          client.print(formatCells(call).filter(Boolean).map(toOneLine).join('  '), call);
        seen = new Set(calls.map(({ id }) => id));
        left -= fresh.length;
      }
      return { json: undefined, text: '' };
    },
  },
};
