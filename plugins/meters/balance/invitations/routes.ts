/**
 * What an invited person asks: what an invitation gives, and then its key. The secret is sent in a body and
 * never in an address, so no log and no `Referer` has it. Programs that look at links before people do send
 * no POST, so they use nothing up.
 */
import { z } from 'zod';
import { GatewayError, type Route, type RouteRequest } from '../../../../core/index.ts';
import {
  buildErrorReply,
  buildReply,
  describeJson,
  operatorError,
  readInput,
} from '../../../shared/operator-routes.ts';
import { invitation, newKey } from '../../../shared/replies/accounts.ts';
import { time } from '../../../shared/replies/values.ts';
import { hashSecret, isSecret } from '../../../shared/secret.ts';
import { createKeySecret } from '../keys.ts';
import { findState } from '../operator/invitations.ts';
import { findKey } from '../operator/key-records.ts';
import { keyTerms } from '../operator/keys.ts';
import { buildRouteAction } from '../operator/table.ts';
import type { InvitationRecord, Store } from '../store.ts';

const body = z.strictObject({ invitation: z.string().max(200) });

/** One error for all that cannot be redeemed: ids cannot be probed. */
function buildInvitationError(state = 'unknown'): GatewayError {
  const why = state === 'open' ? 'cannot be used: its account takes no new keys' : `is ${state}`;
  return new GatewayError('not_found', `This invitation ${why}. Ask for a new one.`);
}

async function requireOpen(
  store: Store,
  request: RouteRequest,
): Promise<InvitationRecord & { hash: string }> {
  const { invitation: secret } = readInput(body, request.body);
  const hash = hashSecret(secret);
  const found = isSecret(secret, 'invitation') ? await store.findInvitation(hash) : undefined;
  if (!found || findState(found) !== 'open') throw buildInvitationError(found && findState(found));
  return { ...found, hash };
}

/** The key of an invitation, which holds the invited person's name. */
async function redeemInvitation(store: Store, request: RouteRequest) {
  const { id, hash, account, name, terms } = await requireOpen(store, request);
  const { limits, tags, budgets } = readInput(keyTerms, JSON.parse(terms));
  const { secret, kept } = createKeySecret('user');
  const key = { ...limits, ...kept, kind: 'user', account, name, holder: name, tags } as const;
  const redeemed = await store
    .withAction({
      ...buildRouteAction(`invitation:${id}`, 'POST /v1/invitations/redeem', request),
      subject: account,
      detail: '{}',
    })
    .redeemInvitation({
      hash,
      key,
      budgets: budgets.map((budget) => ({ ...budget, scope: 'key', subject: kept.id, at: kept.at })),
    });
  if (redeemed !== 'created')
    throw await requireOpen(store, request).then(() => buildInvitationError('open'));
  return { key: secret, ...(await findKey(store, kept.id)) };
}

/** Public: the secret of the invitation is the permission. */
export function listInvitationRoutes(store: () => Store): Route[] {
  return [
    {
      method: 'POST',
      access: 'public',
      encodeError: buildErrorReply,
      name: 'look at an invitation',
      path: '/v1/invitations/look',
      describe: async () => ({
        summary: 'What an invitation gives; this does not use it up',
        body: describeJson(body),
        replies: {
          200: describeJson(invitation.pick({ account: true, name: true }).extend({ expires: time })),
        },
        error: operatorError,
      }),
      async handle(request) {
        const { account, name, expires } = await requireOpen(store(), request);
        return buildReply({ account, name, expires: new Date(expires).toISOString() });
      },
    },
    {
      method: 'POST',
      access: 'public',
      encodeError: buildErrorReply,
      name: 'redeem an invitation',
      path: '/v1/invitations/redeem',
      describe: async () => ({
        summary: 'Get the key of an invitation, once',
        body: describeJson(body),
        replies: { 201: describeJson(newKey) },
        error: operatorError,
      }),
      handle: async (request) => buildReply(await redeemInvitation(store(), request), 201),
    },
  ];
}
