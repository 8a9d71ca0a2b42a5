/**
 * The keys of one holder. The holder asks with one of them or is signed in to the console, and makes, rotates
 * and revokes them as far as the account's rule allows. Rotating shows a secret. So a key that may do more
 * than the rule allows can only be rotated with that key itself.
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
/** Keys that one holder may see. `memberRule` allows no more. */
const mostListed = 1000;

/** As a member sees a refusal of their own keys. */
export function refuseMember(what: string): GatewayError {
  return new GatewayError('forbidden', `A member may not ${what}: ask an operator.`);
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
function applyRule(asked: LimitOrder, rule: MemberRule, permits: Permits): LimitOrder {
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

/** Who asks for their own keys. */
export interface Member {
  readonly held: { readonly holder: string; readonly account?: string };
  /** Accounts whose keys they make. */
  readonly accounts: readonly string[];
  /** The key that asks, and where and for what it may be used; in the console there is none. */
  readonly key?: string;
  readonly permits?: Permits;
}

type Rotation = Parameters<Store['rotateKey']>[0];

export class OwnKeys {
  readonly #store: Store;
  readonly #member: Member;

  constructor(store: Store, member: Member) {
    this.#store = store;
    this.#member = member;
  }

  list(query: Parameters<Store['listKeys']>[0]): Promise<readonly KeyRecord[]> {
    return this.#store.listKeys({ ...query, ...this.#member.held });
  }

  /** Other people's keys get the same error as unknown ones. */
  async require(id: string): Promise<KeyRecord> {
    const [key] = await this.list({ ids: [id], limit: 1 });
    if (key) return key;
    throw buildRefusal('not_found', `you have no key "${id.slice(0, 100)}"`);
  }

  /** Undefined if members of the account may make no keys. */
  async findRule(account = ''): Promise<MemberRule | undefined> {
    const [record] = await this.#store.listAccounts({ wanted: account, limit: 1 });
    return record && this.#member.accounts.includes(account) ? readRule(record) : undefined;
  }

  async requireRule(account = ''): Promise<MemberRule> {
    const rule = await this.findRule(account);
    if (rule) return rule;
    const which = `The account "${account}" lets its members make no keys`;
    throw new GatewayError('forbidden', `${which}: ask an operator for a key.`);
  }

  async make(key: Parameters<Store['createKey']>[0]): Promise<true> {
    const { holder } = this.#member.held;
    if (key.kind !== 'user' || (key.holder ?? holder) !== holder) throw refuseMember('make keys for others');
    const rule = await this.requireRule(key.account);
    const order = { ...key, ...applyRule(key, rule, this.#member.permits), holder, mostHeld: rule.most };
    if (await this.#store.createKey(order)) return true;
    const most = `you have ${rule.most} keys already, the most that your team allows: revoke one`;
    throw buildRefusal('conflict', `${most}. Or your account is closed`);
  }

  async rotate(rotation: Rotation): ReturnType<Store['rotateKey']> {
    const record = await this.require(rotation.id);
    if (record.disabled) throw refuseMember('rotate a disabled key');
    const { key, permits } = this.#member;
    const rule = await this.requireRule(record.account);
    const wider = record.id === key ? undefined : findWider(record, getMost(rule, permits));
    if (wider !== undefined)
      throw refuseMember(`rotate a key that may do more than they may allow it (${wider})`);
    return this.#store.rotateKey(rotation);
  }

  async revoke(deletion: Parameters<Store['deleteKey']>[0]): Promise<KeyRecord> {
    const record = await this.require(deletion.id);
    await this.#store.deleteKey(deletion);
    return record;
  }
}

export interface OwnKeysContext {
  readonly store: Store;
  readonly offer: Offer;
}

function findOwn({ store }: OwnKeysContext, principal: Principal): OwnKeys | undefined {
  const { account, holder, key, permits } = principal;
  if (holder === undefined) return undefined;
  return new OwnKeys(store, { held: { account, holder }, accounts: [account], key, permits });
}

/** Throws `forbidden` for a key without a holder. */
function requireOwn(context: OwnKeysContext, principal: Principal): OwnKeys {
  const own = findOwn(context, principal);
  if (own) return own;
  throw new GatewayError('forbidden', 'This key has no holder: ask an operator for a key.');
}

async function makeKey(context: OwnKeysContext, principal: Principal, input: unknown) {
  const { account, tags = [] } = principal;
  const own = requireOwn(context, principal);
  const { name, limits: stated } = readInput(order, input);
  await checkOffered(stated, context.offer);
  const { secret, kept } = createKeySecret('user');
  await own.make({ ...stated, ...kept, kind: 'user', account, name, tags });
  return { key: secret, ...(await findKey(context.store, kept.id)) };
}

async function rotateKey(context: OwnKeysContext, principal: Principal, id: string) {
  const { secret, kept } = createKeySecret('user');
  if (!(await requireOwn(context, principal).rotate({ id, until: kept.at, key: kept })))
    throw buildRefusal('conflict', `the key ${id} was rotated before`);
  return { key: secret, ...(await findKey(context.store, kept.id)) };
}

async function revokeKey(context: OwnKeysContext, principal: Principal, id: string) {
  const own = requireOwn(context, principal);
  // A leaked key must not revoke other keys if its holder cannot make new ones.
  await own.requireRule(principal.account);
  return { ...describeKey(await own.revoke({ id, at: Date.now() })), deleted: true };
}

async function listKeys(context: OwnKeysContext, principal: Principal) {
  const { account, holder = null, key } = principal;
  const own = findOwn(context, principal);
  const rule = await own?.findRule(account);
  // A key without a holder sees only itself.
  const held = await (own?.list({ limit: mostListed }) ?? context.store.listKeys({ ids: [key], limit: 1 }));
  return {
    object: 'list',
    data: held.map((record) => ({ ...describeKey(record), current: record.id === key })),
    holder,
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
