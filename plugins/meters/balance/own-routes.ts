/**
 * What a key's holder asks with one of their keys: the key, its calls, and the keys of the same holder.
 * Changes of keys are operators' operations, on the ledger as a member may use it.
 */
import { z } from 'zod';
import {
  GatewayError,
  toGatewayError,
  type Principal,
  type Route,
  type RouteRequest,
} from '../../../core/index.ts';
import { encodeError } from '../../shared/openai/errors.ts';
import { splitRoute, type Operation } from '../../shared/operations.ts';
import { buildReply, describeJson, readInput } from '../../shared/operator-routes.ts';
import type { ownReplies } from './description.ts';
import { listOwnCalls, ownCallQuery } from './operator/calls.ts';
import { describeKey } from './operator/key-records.ts';
import { keyCreation, keyDeletion, keyRotation } from './operator/keys.ts';
import type { Ledger } from './operator/operation.ts';
import { label, limits } from './operator/reading.ts';
import { buildRouteAction } from './operator/table.ts';
import { describeRule } from './operator/teams.ts';
import { describeOwnKey, keyQuery } from './own-key.ts';
import { mostListed, narrowToMember, OwnLedger, type Member } from './own-store.ts';

const order = z.strictObject({ name: label.default(''), limits: limits.default({}) });

type Shared = Omit<Ledger, 'author'>;

function findMember({ account, holder, key, permits }: Principal): Member | undefined {
  return holder === undefined ? undefined : { held: { account, holder }, accounts: [account], key, permits };
}

async function listKeys({ store }: Shared, principal: Principal) {
  const { account, holder = null, key } = principal;
  const member = findMember(principal);
  const own = member && new OwnLedger(store, member);
  const rule = await own?.findRule(account);
  // A key without a holder sees only itself.
  const held = await (own?.listKeys({ limit: mostListed }) ?? store.listKeys({ ids: [key], limit: 1 }));
  return {
    object: 'list',
    data: held.map((record) => ({ ...describeKey(record), current: record.id === key })),
    holder,
    allowed: rule ? describeRule(rule) : null,
  };
}

interface Row {
  readonly summary: string;
  readonly reply: keyof typeof ownReplies;
  readonly status?: number;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  run(ledger: Shared, principal: Principal, request: RouteRequest): Promise<unknown>;
}

/** Runs an operation as the member who asks; `body` is what they may say, besides their account. */
function runAsMember(operation: Operation<Ledger>, body?: z.ZodType): Row['run'] {
  return async ({ store, ...shared }, principal, request) => {
    const { account, key: author, tags = [] } = principal;
    const member = findMember(principal);
    if (!member) throw new GatewayError('forbidden', 'This key has no holder: ask an operator for a key.');
    const asked = readInput(z.looseObject({}), request.body ?? {});
    if (body) readInput(body, asked);
    const action = buildRouteAction(author, operation.route.replace('/admin/', '/v1/'), request);
    const own = narrowToMember(store.withAction(action), member);
    const input = body && { ...asked, account, tags };
    return operation.run(
      { ...shared, store: own, author, isMember: true },
      { params: request.params, input },
    );
  };
}

const rows: Readonly<Record<`${'GET' | 'POST' | 'DELETE'} ${string}`, Row>> = {
  'GET /v1/key': {
    summary: 'Balance, limits, budgets and usage of the key',
    reply: 'key',
    query: keyQuery,
    run: ({ store }, principal, { query }) =>
      describeOwnKey(store, principal, readInput(keyQuery, Object.fromEntries(query))),
  },
  'GET /v1/calls': {
    summary: 'Ended calls of the key, newest first',
    reply: 'calls',
    query: ownCallQuery,
    async run({ store, flush }, principal, { query }) {
      const asked = readInput(ownCallQuery, Object.fromEntries(query));
      await flush?.();
      return listOwnCalls(store, principal, asked);
    },
  },
  'GET /v1/keys': {
    summary: 'Keys of the same holder, and what keys the holder may make',
    reply: 'keys',
    run: listKeys,
  },
  'POST /v1/keys': {
    summary: 'Make a key for its holder, as the team allows',
    reply: 'newKey',
    status: 201,
    body: order,
    run: runAsMember(keyCreation, order),
  },
  'POST /v1/keys/:key/rotate': {
    summary: 'Replace the secret of an own key; the old one stops working',
    reply: 'newKey',
    status: 201,
    run: runAsMember(keyRotation),
  },
  'DELETE /v1/keys/:key': {
    summary: 'Revoke an own key',
    reply: 'revokedKey',
    run: runAsMember(keyDeletion),
  },
};

export function listOwnRoutes(open: () => Shared): Route[] {
  return Object.entries(rows).map(([name, { status = 200, reply, run, body, ...row }]) => ({
    ...splitRoute(name),
    name,
    access: 'user',
    encodeError: (error) => encodeError(toGatewayError(error)),
    async describe() {
      const { ownReplies: all, ownError: error } = await import('./description.ts');
      const replies = { [status]: describeJson(all[reply]) };
      return { ...row, ...(body && { body: describeJson(body) }), replies, error };
    },
    handle: async (request, principal) => buildReply(await run(open(), principal, request), status),
  }));
}
