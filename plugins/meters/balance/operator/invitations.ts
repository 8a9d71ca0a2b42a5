/**
 * How operators invite members: a link that gives someone one key of an account, once. Its secret is in the
 * link's fragment, which browsers do not send. Only the reply that creates an invitation shows it.
 */
import { z } from 'zod';
import { GatewayError } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import type { Invitation } from '../../../shared/replies/accounts.ts';
import { createSecret, hashSecret } from '../../../shared/secret.ts';
import { formatTable } from '../../../shared/table.ts';
import { toKeyId } from '../keys.ts';
import type { InvitationRecord, Store } from '../store.ts';
import { buildAccountError } from './accounts.ts';
import { keyTerms, limitFlags, termFlags } from './keys.ts';
import { defineOperation } from './operation.ts';
import { accountName, checkOffered, holder, page } from './reading.ts';
import { buildPage, buildRefusal, toIso } from './replies.ts';

const units = { m: 60_000, h: 3_600_000, d: 24 * 3_600_000 };
const longest = 90 * units.d;

/** How long something lasts, as `7d`, `12h` or `30m`, in milliseconds. */
const duration = z
  .string()
  .regex(/^[1-9]\d{0,5}[mhd]$/, 'a duration is written 7d, 12h or 30m')
  .transform((text) => {
    const [, unit = units.m] = Object.entries(units).find(([letter]) => text.endsWith(letter)) ?? [];
    return Number(text.slice(0, -1)) * unit;
  })
  .refine((milliseconds) => milliseconds <= longest, 'an invitation lasts 90 days at most');

const order = keyTerms.extend({
  account: accountName,
  /** Who is invited: the holder of the key. */
  name: holder.optional(),
  for: duration.prefault('7d'),
});

export function findState({ ended, key, expires }: InvitationRecord): Invitation['state'] {
  if (ended !== undefined) return key === undefined ? 'withdrawn' : 'redeemed';
  return expires <= Date.now() ? 'expired' : 'open';
}

function describeInvitation(record: InvitationRecord): Invitation {
  const { id, account, name, author, created, expires, key = null } = record;
  const state = findState(record);
  return { id, account, name, state, author, created: toIso(created), expires: toIso(expires), key };
}

async function requireInvitation(store: Store, id: string): Promise<Invitation> {
  const [found] = await store.listInvitations({ wanted: id, limit: 1 });
  if (found) return describeInvitation(found);
  throw buildRefusal('not_found', `there is no invitation "${id}"`);
}

const columns = ['id', 'account', 'name', 'state', 'created', 'expires', 'key'] as const;

function formatInvitations(invitations: readonly Invitation[]): string {
  return formatTable(
    ['INVITATION', 'ACCOUNT', 'NAME', 'STATE', 'CREATED', 'EXPIRES', 'KEY'],
    invitations.map((invitation) => columns.map((column) => invitation[column])),
    { many: 'invitations' },
  );
}

export const invitationOperations = [
  defineOperation({
    route: 'GET /admin/invitations',
    summary: 'List invitations',
    roles: roles.read,
    input: page.extend({ account: accountName.optional() }),
    run: async ({ store }, query) =>
      buildPage(await store.listInvitations(query), query.limit, describeInvitation, ({ id }) => id),
    verbs: {
      'invitations list': {
        all: true,
        flags: { '--account <name>': 'only to one account' },
        format: ({ data }) => formatInvitations(data),
      },
    },
  }),
  defineOperation({
    route: 'POST /admin/invitations',
    summary: 'Invite someone to an account, by a link that gives a key once',
    roles: roles.manage,
    statuses: [201],
    input: order,
    async run({ store, offer, author }, { account, name, for: lasts, ...terms }, _, { input }) {
      await checkOffered(terms.limits, offer);
      const secret = createSecret('invitation');
      const hash = hashSecret(secret);
      const [id, created] = [toKeyId(hash), Date.now()];
      const { limits: stated, tags: tagged, budgets } = z.looseObject({}).parse(input);
      const isMade = await store.createInvitation({
        id,
        hash,
        account,
        name: name ?? `member ${id.slice(0, 4)}`,
        terms: JSON.stringify({ limits: stated, tags: tagged, budgets }),
        author,
        created,
        expires: created + lasts,
      });
      if (!isMade) throw buildAccountError(account);
      return { ...(await requireInvitation(store, id)), link: `/#invitation=${secret}` };
    },
    verbs: {
      'invitations create <account>': {
        description: 'make a link that gives someone a key of an account, once',
        flags: {
          '--name <name>': 'who is invited: the holder of the key',
          '--for <time>': 'how long the link works: 7d unless given, or 12h, 30m',
          ...termFlags,
          ...limitFlags,
        },
        format: ({ link, name, expires }) =>
          `${link}\nSend ${name} this link, behind the public address of the gateway. It cannot be shown ` +
          `again. It gives a key once, until ${expires}.`,
      },
    },
  }),
  defineOperation({
    route: 'DELETE /admin/invitations/:invitation',
    summary: 'Withdraw an invitation; a key that it gave stays',
    roles: roles.manage,
    async run({ store }, _, { invitation: id }) {
      const { state } = await requireInvitation(store, id);
      if (!(await store.withdrawInvitation({ id, at: Date.now() })))
        throw new GatewayError('conflict', `the invitation is ${state} already`);
      return requireInvitation(store, id);
    },
    verbs: {
      'invitations withdraw <invitation>': { format: ({ id }) => `Withdrew ${id}: its link gives no key.` },
    },
  }),
];
