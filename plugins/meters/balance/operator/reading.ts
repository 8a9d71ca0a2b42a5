/**
 * Reads what operators send, on the command line or in a JSON body. It is checked strictly, and an error
 * names the field in one sentence. Patterns that match no model on offer are refused: a key limited to them
 * could call nothing, and a markup would never apply.
 */
import { z } from 'zod';
import {
  formatUsd,
  parseUsd,
  usd,
  type Catalog,
  type Host,
  type Operation,
  type Route,
} from '../../../../core/index.ts';
import { readNetwork } from '../../../shared/network.ts';
import { isZone, periodNames } from '../budgets/periods.ts';
import { creditKinds } from '../store.ts';
import { buildRefusal } from './replies.ts';

export const accountName = z
  .string()
  .regex(/^[\w.@:+-]{1,128}$/, 'an account is named by 1 to 128 letters, digits and . _ - @ : +')
  // Clients shorten `/admin/accounts/..`, so its page and endpoint could not be reached.
  .regex(/[^.]|\.{3}/, 'an account is not named . or ..');
/** A tag, or what a budget is of. */
export const tag = z
  .string()
  .regex(/^[\w.@:+/-]{1,128}$/, 'a tag has 1 to 128 letters, digits and . _ - @ : + /');
export const tags = z
  .array(tag)
  .max(16, 'there are at most 16 tags')
  .transform((each) => [...new Set(each)]);
export const label = z.string().max(200, 'a name has at most 200 characters');
export const holder = z.string().trim().min(1).max(200, 'a holder has at most 200 characters');
/** Far below what 64 bits of nano-USD can hold, so that sums stay below it too. */
export const largestAmount = parseUsd('1000000000');
export const amount = usd
  .refine((nano) => nano > 0n, 'the amount has to be above 0')
  .refine((nano) => nano <= largestAmount, `the amount is at most ${formatUsd(largestAmount)} USD`);
export const creditKind = z.enum(creditKinds, `the kinds of credit are ${creditKinds.join(', ')}`);
export const reference = z.string().min(1).max(200, 'a reference has at most 200 characters');

/**
 * A date, which means its first moment in UTC, or a time with its offset. The result is milliseconds since
 * the epoch.
 */
export const moment = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error({ input }) {
      const wrong = input === undefined ? '' : `not a date: ${JSON.stringify(input)}. `;
      return `${wrong}Use 2027-01-31 or 2027-01-31T09:30:00Z`;
    },
  })
  .transform((text) => Date.parse(text));

export const period = { from: moment.optional(), to: moment.optional() };

/** Refuses a period that ends before it begins: what it finds would look like no usage. */
export function checkPeriod<Query extends z.ZodType<{ from?: number | undefined; to?: number | undefined }>>(
  query: Query,
): Query {
  return query.refine(({ from = -Infinity, to = Infinity }) => from < to, {
    path: ['from'],
    message: 'it has to be before "to"',
  });
}

/** A time in the past must be a mistake: the key would never work. */
const expiry = moment.refine((time) => time > Date.now(), {
  error({ input }) {
    const time = new Date(Number(input)).toISOString();
    return `${time} is in the past (dates start at 00:00 UTC). Choose a later date, or disable the key`;
  },
});

/** A model's id, or the beginning of ids followed by a star. */
export const modelPattern = z
  .string()
  .regex(/^[\w.-]+\/[^\s*]*\*?$/, 'a model is named <owner>/<name>, or <owner>/* for all of an owner');

const network = z
  .string()
  .max(100)
  .transform((text, { addIssue, value }) => {
    const read = readNetwork(text.trim());
    if (read !== undefined) return read;
    addIssue(`${JSON.stringify(value)} is no network: write 10.0.0.0/8, 2001:db8::/32 or an address`);
    return z.NEVER;
  });

/** What calls do, and which routes there are besides. */
const operations = ['generate', 'edit', 'count', 'compact', 'models', 'stored'] as const satisfies readonly (
  | Operation
  | Route['operation']
)[];

function buildListSchema<Schema extends z.ZodType>(each: Schema, most: number, many: string) {
  return z.array(each).min(1).max(most, `a key has at most ${most} ${many}`).nullable().optional();
}

/** Limits as operators write them; null removes a limit. */
export const limits = z.strictObject({
  spendCap: amount.nullable().optional(),
  models: buildListSchema(modelPattern, 200, 'models'),
  networks: buildListSchema(network, 100, 'networks'),
  protocols: buildListSchema(z.string().max(100), 100, 'protocols'),
  operations: buildListSchema(
    z.enum(operations, `the operations are ${operations.join(', ')}`),
    operations.length,
    'operations',
  ),
  expires: expiry.nullable().optional(),
  callsPerMinute: z
    .int('it has to be a whole number of calls')
    .min(1, 'it has to be at least 1')
    .max(1_000_000, 'it has to be at most 1000000')
    .nullable()
    .optional(),
});

/** A number in a query or an option, which are text. */
export function buildNumberSchema(least: number, most = Number.MAX_SAFE_INTEGER) {
  const range = most < Number.MAX_SAFE_INTEGER ? ` from ${least} to ${most}` : `, at least ${least}`;
  const message = `it has to be a whole number${range}`;
  return z.coerce.number(message).int(message).min(least, message).max(most, message);
}

/** The fields that were sent: zod keeps the others with the value undefined. */
export function keepStated<Fields extends object>(fields: Fields) {
  const stated = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(stated) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };
}

const largestPage = 1000;

export const page = z.strictObject({
  after: z.string().max(200).optional(),
  limit: buildNumberSchema(1, largestPage).default(100),
});

/** A page of a list whose rows are numbered in the order in which they were written. */
export const numberedPage = page.extend({
  after: buildNumberSchema(0).optional(),
  order: z.enum(['oldest', 'newest'], 'the order is oldest or newest: which come first').default('oldest'),
});

/** With 0 nothing may be spent at all. */
export const budgetLimit = usd.refine(
  (nano) => nano >= 0n && nano <= largestAmount,
  `a limit is from 0 to ${formatUsd(largestAmount)} USD`,
);
const perCent = 'it has to be a whole number of per cent, from 1 to 1000';
export const thresholds = z
  .array(z.int(perCent).min(1, perCent).max(1000, perCent))
  .max(10, 'a budget has at most 10 thresholds')
  .transform((each) => [...new Set(each)].toSorted((one, other) => one - other));

/** The budget of a new key: without a scope and subject. */
export const budgetTerms = z.strictObject({
  limit: budgetLimit,
  per: z.enum(periodNames, `a budget is per ${periodNames.join(', ')}`).default('month'),
  zone: z.string().refine(isZone, 'a time zone is named as in Europe/Berlin or UTC').default('UTC'),
  /** Whether it refuses calls; a soft one only warns. */
  hard: z.boolean().default(true),
  thresholds: thresholds.default([50, 80, 100]),
});

/** Edits (insert, delete, replace) from one text to the other. */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [place, letter] of [...from].entries()) {
    const next = [place + 1];
    for (let index = 1; index <= to.length; index += 1)
      next[index] = Math.min(
        (row[index] ?? 0) + 1,
        (next[index - 1] ?? 0) + 1,
        (row[index - 1] ?? 0) + (letter === to[index - 1] ? 0 : 1),
      );
    row = next;
  }
  return row[to.length] ?? 0;
}

/** More edits than these mean another name, and not a slip. */
const mostEdits = 2;
const mostNamed = 3;
/** Characters of a pattern that are compared with names. */
const longestCompared = 100;

function matchesAny(pattern: string, ids: readonly string[]): boolean {
  const start = pattern.endsWith('*') ? pattern.slice(0, -1) : undefined;
  return ids.some((id) => (start === undefined ? id === pattern : id.startsWith(start)));
}

/**
 * The models on offer, as far as they are known: a command knows none that a provider lists itself before it
 * asks.
 */
export interface Offer extends Pick<Catalog, 'listModels' | 'lookAtListings' | 'find'> {
  /** The names of all protocols. */
  listProtocols(): readonly string[];
}

export function createOffer({ catalog, protocols }: Host): Offer {
  return {
    listModels: () => catalog.listModels(),
    lookAtListings: () => catalog.lookAtListings(),
    find: (id) => catalog.find(id),
    listProtocols: () => [...protocols.list()].map(({ name }) => name),
  };
}

/** What is wrong with a pattern that matches none of the ids. */
function describeUnknown(pattern: string, ids: readonly string[]): string {
  if (ids.length === 0) return `no model matches "${pattern}": no provider offers any`;
  const owners = [...new Set(ids.map((id) => `${id.slice(0, id.indexOf('/'))}/*`))];
  const typed = pattern.slice(0, longestCompared);
  const nearest = (pattern.endsWith('/*') ? owners : ids)
    .map((name) => ({ name, edits: countEdits(typed, name) }))
    .toSorted((one, other) => one.edits - other.edits)
    .slice(0, mostNamed);
  const near = nearest.filter(({ edits }) => edits <= mostEdits);
  const joinNames = (named: typeof near, between: string): string =>
    named.map(({ name }) => `"${name}"`).join(between);
  return near.length > 0
    ? `no model matches "${pattern}"; did you mean ${joinNames(near, ' or ')}?`
    : `no model on offer matches "${pattern}"; the nearest: ${joinNames(nearest, ', ')}`;
}

/** Throws `invalid_request` for limits of a key that name a model or a protocol that is not on offer. */
export async function checkOffered(
  { models, protocols }: Pick<z.output<typeof limits>, 'models' | 'protocols'>,
  offer: Offer,
): Promise<void> {
  await checkModelPatterns(models, offer, 'limits.models');
  const known = offer.listProtocols();
  const unknown = protocols?.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const fault = `there is no protocol ${JSON.stringify(unknown)}; there are ${known.join(', ')}`;
  throw buildRefusal('invalid_request', fault, 'limits.protocols');
}

/** Throws `invalid_request` for a pattern that matches no model on offer. `param` is where it was written. */
export async function checkModelPatterns(
  patterns: readonly string[] | null | undefined,
  offer: Offer,
  param: string,
): Promise<void> {
  const findFault = (): string | undefined => {
    const ids = offer.listModels().map(({ id }) => id);
    const unknown = patterns?.find((pattern) => !matchesAny(pattern, ids));
    return unknown === undefined ? undefined : describeUnknown(unknown, ids);
  };
  if (findFault() === undefined) return;
  await offer.lookAtListings();
  const fault = findFault();
  if (fault !== undefined) throw buildRefusal('invalid_request', fault, param);
}
