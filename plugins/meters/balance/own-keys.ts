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
import { buildReply, describeJson, readInput } from '../../shared/operator-routes.ts';
import { key as keySchema, newKey, ownKeys } from '../../shared/replies/accounts.ts';
import { errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import { createKeySecret, noLimits } from './keys.ts';
import { describeKey, findKey, toKeyLimits } from './operator/key-records.ts';
import { checkOffered, label, limits, type Offer } from './operator/reading.ts';
import { buildParamError, buildRefusal } from './operator/replies.ts';
import { buildRouteAction } from './operator/table.ts';
import { describeRule, readRule, type MemberRule } from './operator/teams.ts';
import type { KeyLimits, KeyRecord, Store } from './store.ts';

const order = z.strictObject({ name: label.default(''), limits: limits.default({}) });
const day = 24 * 3_600_000;
/** Keys that one holder may see; `memberRule` lets nobody make more. */
const mostListed = 1000;

type Limits = Omit<KeyLimits, 'tags' | 'readOnly'>;

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

function matchesRule(pattern: string, allowed: readonly string[]): boolean {
  return allowed.some((each) =>
    each.endsWith('*') ? pattern.startsWith(each.slice(0, -1)) : each === pattern,
  );
}

/** The field of limits that goes beyond the rule, with what it allows. */
function findExcess(
  { spendCap, models, callsPerMinute, expires }: Limits,
  rule: MemberRule,
): readonly [field: string, most: string] | undefined {
  if (rule.spendCap && (spendCap ?? rule.spendCap + 1n) > rule.spendCap)
    return ['spendCap', `${formatUsd(rule.spendCap)} USD`];
  const { models: allowed } = rule;
  if (allowed && !(models ?? ['']).every((pattern) => matchesRule(pattern, allowed)))
    return ['models', allowed.join(', ')];
  if (rule.callsPerMinute && (callsPerMinute ?? Infinity) > rule.callsPerMinute)
    return ['callsPerMinute', String(rule.callsPerMinute)];
  if (rule.days && (expires ?? Infinity) > Date.now() + rule.days * day)
    return ['expires', `${rule.days} days`];
  return undefined;
}

/** Where and for what a key may be used that its holder's key, with these permits, makes or rotates. */
function findWider(asked: Limits, permits: Principal['permits'] = {}): string | undefined {
  const names = ['networks', 'protocols', 'operations'] as const;
  return names.find((name) => {
    const allowed: readonly string[] | undefined = permits[name];
    return allowed && !asked[name]?.every((each) => allowed.includes(each));
  });
}

/**
 * What a member's key may do: as much as the rule and the key that makes it allow, where nothing else is
 * asked for.
 */
export function applyRule(asked: Limits, rule: MemberRule, permits?: Principal['permits']): Limits {
  const limited = {
    ...asked,
    networks: asked.networks ?? permits?.networks,
    protocols: asked.protocols ?? permits?.protocols,
    operations: asked.operations ?? permits?.operations,
    spendCap: asked.spendCap ?? rule.spendCap ?? undefined,
    models: asked.models ?? rule.models ?? undefined,
    callsPerMinute: asked.callsPerMinute ?? rule.callsPerMinute ?? undefined,
    expires: asked.expires ?? (rule.days ? Date.now() + rule.days * day : undefined),
  };
  const wider = findWider(limited, permits);
  if (wider) throw buildParamError(`limits.${wider}`, 'the key that makes this one is limited to less');
  const excess = findExcess(limited, rule);
  if (!excess) return limited;
  throw buildParamError(`limits.${excess[0]}`, `your team allows at most ${excess[1]}`);
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
  const limited = applyRule(toKeyLimits(stated), rule, principal.permits);
  const tags = principal.tags ?? [];
  const owned = { kind: 'user', account, holder, name, mostHeld: rule.most } as const;
  if (!(await store.createKey({ ...noLimits, ...limited, ...kept, ...owned, tags })))
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
export function checkRotation(record: KeyRecord, rule: MemberRule, permits?: Principal['permits']): void {
  const wider = findExcess(record, rule)?.[0] ?? findWider(record, permits);
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

interface Row extends Pick<Route, 'name' | 'method' | 'path'> {
  readonly summary: string;
  readonly status: number;
  readonly reply: z.ZodType;
  readonly body?: z.ZodType;
  run(context: OwnKeysContext, principal: Principal, request: RouteRequest): Promise<unknown>;
}

const rows: readonly Row[] = [
  {
    name: 'own keys',
    method: 'GET',
    path: '/v1/keys',
    summary: 'Keys of the same holder, and what keys the holder may make',
    status: 200,
    reply: ownKeys,
    run: listKeys,
  },
  {
    name: 'make an own key',
    method: 'POST',
    path: '/v1/keys',
    summary: 'Make a key for its holder, as the team allows',
    status: 201,
    reply: newKey,
    body: order,
    run: (context, principal, { body }) => makeKey(context, principal, body ?? {}),
  },
  {
    name: 'rotate an own key',
    method: 'POST',
    path: '/v1/keys/:key/rotate',
    summary: 'Replace the secret of an own key; the old one stops working',
    status: 201,
    reply: newKey,
    run: (context, principal, { params: { key = '' } }) => rotateKey(context, principal, key),
  },
  {
    name: 'revoke an own key',
    method: 'DELETE',
    path: '/v1/keys/:key',
    summary: 'Revoke an own key',
    status: 200,
    reply: keySchema.extend({ deleted: z.literal(true) }),
    run: (context, principal, { params: { key = '' } }) => revokeKey(context, principal, key),
  },
];

/** For keys of the same account and holder as the key, or the signed-in member, that asks. */
export function listOwnKeysRoutes(open: () => OwnKeysContext): Route[] {
  return rows.map(({ name, method, path, summary, status, reply, body, run }) => ({
    name,
    method,
    path,
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
      const action = buildRouteAction(principal.key, `${method} ${path}`, request);
      return buildReply(await run({ store: store.withAction(action), offer }, principal, request), status);
    },
  }));
}
