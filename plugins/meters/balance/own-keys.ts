/**
 * The keys of one holder, who asks with one of them: lists them, and runs operators' operations of keys on
 * the ledger as a member may use it.
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
import { key as keySchema, newKey, ownKeys } from '../../shared/replies/accounts.ts';
import { errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import { describeKey } from './operator/key-records.ts';
import { keyCreation, keyDeletion, keyRotation } from './operator/keys.ts';
import type { Ledger } from './operator/operation.ts';
import { label, limits } from './operator/reading.ts';
import { buildRouteAction } from './operator/table.ts';
import { describeRule } from './operator/teams.ts';
import { mostListed, narrowToMember, OwnLedger, type Member } from './own-store.ts';
import type { Store } from './store.ts';

const order = z.strictObject({ name: label.default(''), limits: limits.default({}) });

type Shared = Pick<Ledger, 'store' | 'offer' | 'erase'>;

function findMember({ account, holder, key, permits }: Principal): Member | undefined {
  return holder === undefined ? undefined : { held: { account, holder }, accounts: [account], key, permits };
}

async function listKeys(store: Store, principal: Principal) {
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
  readonly reply: z.ZodType;
  /** What changes keys. */
  readonly operation?: Operation<Ledger>;
  readonly body?: z.ZodType | undefined;
}

async function runAsMember(
  ledger: Ledger,
  principal: Principal,
  { operation, body }: Pick<Row, 'body'> & Required<Pick<Row, 'operation'>>,
  request: RouteRequest,
) {
  const member = findMember(principal);
  if (!member) throw new GatewayError('forbidden', 'This key has no holder: ask an operator for a key.');
  const { account, tags = [] } = principal;
  const asked = readInput(z.looseObject({}), request.body ?? {});
  if (body) readInput(body, asked);
  const input = body && { ...asked, account, tags };
  const store = narrowToMember(ledger.store, member);
  return operation.run({ ...ledger, store }, { params: request.params, input });
}

const rows: Readonly<Record<`${'GET' | 'POST' | 'DELETE'} ${string}`, Row>> = {
  'GET /v1/keys': { summary: 'Keys of the same holder, and what keys the holder may make', reply: ownKeys },
  'POST /v1/keys': {
    summary: 'Make a key for its holder, as the team allows',
    operation: keyCreation,
    reply: newKey,
    body: order,
  },
  'POST /v1/keys/:key/rotate': {
    summary: 'Replace the secret of an own key; the old one stops working',
    operation: keyRotation,
    reply: newKey,
  },
  'DELETE /v1/keys/:key': {
    summary: 'Revoke an own key',
    operation: keyDeletion,
    reply: keySchema.extend({ deleted: z.literal(true) }),
  },
};

/** For keys of the same account and holder as the key that asks. */
export function listOwnKeysRoutes(open: () => Shared): Route[] {
  return Object.entries(rows).map(([name, { summary, operation, reply, body }]) => {
    const status = operation?.statuses.at(-1) ?? 200;
    return {
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
        const { store, ...shared } = open();
        const { key: author } = principal;
        if (!operation) return buildReply(await listKeys(store, principal));
        // What changes something is an action of the key.
        const changing = store.withAction(buildRouteAction(author, name, request));
        const ledger = { ...shared, store: changing, author, isMember: true };
        return buildReply(await runAsMember(ledger, principal, { operation, body }, request), status);
      },
    };
  });
}
