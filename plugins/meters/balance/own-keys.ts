/**
 * The keys of one person or member: who has one of them sees all, and makes, rotates and revokes them as far
 * as the account's rule allows. Rotating gives a secret, so a key rotates another one only if the rule would
 * let it make that one.
 */
import { z } from 'zod';
import {
  formatUsd,
  GatewayError,
  toGatewayError,
  type Principal,
  type Route,
  type RouteRequest,
} from '../../../core/index.ts';
import { encodeError } from '../../shared/openai/errors.ts';
import { splitRoute } from '../../shared/operations.ts';
import { buildReply, describeJson, readInput } from '../../shared/operator-routes.ts';
import { key as keySchema, newKey, ownKeys } from '../../shared/replies/accounts.ts';
import { errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import { limitNames, type LimitOrder } from './accounts.ts';
import { createKeySecret } from './keys.ts';
import { describeKey, findKey } from './operator/key-records.ts';
import { checkOffered, label, limits, type Offer } from './operator/reading.ts';
import { buildParamError, buildRefusal, toIso } from './operator/replies.ts';
import { buildRouteAction } from './operator/table.ts';
import { describeRule, readRule, type MemberRule } from './operator/teams.ts';
import type { KeyRecord, Store } from './store.ts';

const order = z.strictObject({ name: label.default(''), limits: limits.default({}) });
const day = 24 * 3_600_000;
/** Keys that one holder may see; `memberRule` lets nobody make more. */
const mostListed = 1000;

async function listHeld(store: Store, { account, holder, key }: Principal): Promise<readonly KeyRecord[]> {
  // A key without a holder is nobody's: its own is all that it sees.
  const query = holder === undefined ? { ids: [key] } : { account, holder };
  return store.listKeys({ ...query, limit: mostListed });
}

async function findRule(store: Store, { account, holder }: Principal): Promise<MemberRule | undefined> {
  const [record] = holder === undefined ? [] : await store.listAccounts({ wanted: account, limit: 1 });
  return record && readRule(record);
}

/** Throws `forbidden` if the holder may make no keys. */
async function requireRule(store: Store, principal: Principal): Promise<MemberRule> {
  const rule = await findRule(store, principal);
  if (rule) return rule;
  const why =
    principal.holder === undefined
      ? 'This key has no holder'
      : 'The members of this account may make no keys';
  throw new GatewayError('forbidden', `${why}: ask an operator for a key.`);
}

type Permits = Principal['permits'];

/** As much as a key may do that a rule, and the key that makes or rotates it, allow. */
function getMost({ days, most: _most, ...limits }: MemberRule, permits: Permits): LimitOrder {
  return { ...limits, ...permits, expires: days ? Date.now() + days * day : undefined };
}

function matchesAny(text: string, allowed: readonly string[]): boolean {
  return allowed.some((each) => (each.endsWith('*') ? text.startsWith(each.slice(0, -1)) : each === text));
}

/** The limit that allows more than `most` does. */
function findWider(asked: LimitOrder, most: LimitOrder): keyof LimitOrder | undefined {
  return limitNames.find((name) => {
    const [limit, allowed] = [asked[name] ?? undefined, most[name] ?? undefined];
    if (allowed === undefined) return false;
    if (typeof allowed === 'object')
      return typeof limit !== 'object' || !limit.every((each) => matchesAny(each, allowed));
    return limit === undefined || typeof limit === 'object' || limit > allowed;
  });
}

function formatLimit(name: keyof LimitOrder, limit: LimitOrder[keyof LimitOrder]): string {
  if (typeof limit === 'bigint') return `${formatUsd(limit)} USD`;
  if (name === 'expires') return toIso(Number(limit));
  return typeof limit === 'object' ? (limit?.join(', ') ?? '') : String(limit);
}

/** What a member's key may do: as much as is allowed, where nothing else is asked for. */
export function applyRule(asked: LimitOrder, rule: MemberRule, permits?: Permits): LimitOrder {
  const most = getMost(rule, permits);
  const limited = limitNames.reduce<LimitOrder>(
    (all, name) => ({ ...all, [name]: asked[name] ?? most[name] }),
    {},
  );
  const wider = findWider(limited, most);
  if (wider === undefined) return limited;
  throw buildParamError(
    `limits.${wider}`,
    permits && wider in permits
      ? 'the key that makes this one is limited to less'
      : `your team allows at most ${formatLimit(wider, most[wider])}`,
  );
}

export interface OwnKeysContext {
  readonly store: Store;
  readonly offer: Offer;
}

async function makeKey({ store, offer }: OwnKeysContext, principal: Principal, input: unknown) {
  const { account, holder } = principal;
  const rule = await requireRule(store, principal);
  const { name, limits: stated } = readInput(order, input);
  await checkOffered(stated, offer);
  const { secret, kept } = createKeySecret('user');
  const limited = applyRule(stated, rule, principal.permits);
  const tags = principal.tags ?? [];
  const owned = { kind: 'user', account, holder, name, tags, mostHeld: rule.most } as const;
  if (!(await store.createKey({ ...limited, ...kept, ...owned })))
    throw buildRefusal(
      'conflict',
      `you have ${rule.most} keys already, the most that your team allows: revoke one`,
    );
  return { key: secret, ...(await findKey(store, kept.id)) };
}

/** A key of the holder by its id. Other people's keys get the same error as unknown ones. */
async function requireHeld(store: Store, principal: Principal, id: string): Promise<KeyRecord> {
  const found = (await listHeld(store, principal)).find((record) => record.id === id);
  if (found) return found;
  throw buildRefusal('not_found', `you have no key "${id.slice(0, 100)}"`);
}

/** Throws `forbidden` for a key that may do more than the rule, or the key that rotates it, allows. */
export function checkRotation(record: KeyRecord, rule: MemberRule, permits?: Permits): void {
  const wider = findWider(record, getMost(rule, permits));
  if (wider === undefined) return;
  throw new GatewayError(
    'forbidden',
    `That key may do more than you may allow it (${wider}): it has to rotate itself.`,
  );
}

async function rotateKey({ store }: OwnKeysContext, principal: Principal, id: string) {
  const rule = await requireRule(store, principal);
  const record = await requireHeld(store, principal, id);
  if (id !== principal.key) checkRotation(record, rule, principal.permits);
  const { secret, kept } = createKeySecret('user');
  if (!(await store.rotateKey({ id, until: kept.at, key: kept })))
    throw buildRefusal('conflict', `the key ${id} was rotated before`);
  return { key: secret, ...(await findKey(store, kept.id)) };
}

async function revokeKey({ store }: OwnKeysContext, principal: Principal, id: string) {
  await requireRule(store, principal);
  const record = await requireHeld(store, principal, id);
  await store.deleteKey({ id, at: Date.now() });
  return { ...describeKey(record), deleted: true };
}

async function listKeys({ store }: OwnKeysContext, principal: Principal) {
  const rule = await findRule(store, principal);
  const held = await listHeld(store, principal);
  return {
    object: 'list',
    data: held.map((record) => ({ ...describeKey(record), current: record.id === principal.key })),
    holder: principal.holder ?? null,
    allowed: rule ? describeRule(rule) : null,
  };
}

interface Row {
  readonly summary: string;
  readonly reply: z.ZodType;
  readonly status?: number;
  readonly body?: z.ZodType;
  run(context: OwnKeysContext, principal: Principal, request: RouteRequest): Promise<unknown>;
}

const rows: Readonly<Record<`${'GET' | 'POST' | 'DELETE'} ${string}`, Row>> = {
  'GET /v1/keys': {
    summary: 'Keys of the same holder, and what keys the holder may make',
    reply: ownKeys,
    run: listKeys,
  },
  'POST /v1/keys': {
    summary: 'Make a key for its holder, as the team allows',
    status: 201,
    reply: newKey,
    body: order,
    run: (context, principal, { body }) => makeKey(context, principal, body ?? {}),
  },
  'POST /v1/keys/:key/rotate': {
    summary: 'Replace the secret of an own key; the old one stops working',
    status: 201,
    reply: newKey,
    run: (context, principal, { params: { key = '' } }) => rotateKey(context, principal, key),
  },
  'DELETE /v1/keys/:key': {
    summary: 'Revoke an own key',
    reply: keySchema.extend({ deleted: z.literal(true) }),
    run: (context, principal, { params: { key = '' } }) => revokeKey(context, principal, key),
  },
};

/** For keys of the same account and holder as the key, or the signed-in member, that asks. */
export function listOwnKeysRoutes(open: () => OwnKeysContext): Route[] {
  return Object.entries(rows).map(([name, { summary, status = 200, reply, body, run }]) => ({
    ...splitRoute(name),
    name,
    access: 'user',
    encodeError: (error) => encodeError(toGatewayError(error)),
    describe: async () => ({
      summary,
      ...(body && { body: describeJson(body) }),
      replies: { [status]: describeJson(reply) },
      error: errorSchema,
    }),
    async handle(request, principal) {
      const { store, offer } = open();
      // What changes something is an action of the key.
      const action = buildRouteAction(principal.key, name, request);
      return buildReply(await run({ store: store.withAction(action), offer }, principal, request), status);
    },
  }));
}
