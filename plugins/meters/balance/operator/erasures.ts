/**
 * How operators erase what is kept of an account or a person. Entries of money stay, without names: an
 * account is called by its number, and keys have no name and no holder.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { GatewayError } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import type { VerbRow } from '../../../shared/operator-verbs.ts';
import type { Erasure } from '../../../shared/replies/accounts.ts';
import { eraseAll } from '../erasures/keeper.ts';
import type { ErasureRecord, Store } from '../store.ts';
import { buildAccountError } from './accounts.ts';
import { defineOperation, type Ledger } from './operation.ts';
import { accountName, holder } from './reading.ts';
import { buildRefusal, toIso } from './replies.ts';

/** Milliseconds that a request waits; the rest is erased behind it. */
const patience = 3000;

function describeErasure({ id, account, keys, created, erased, ended }: ErasureRecord): Erasure {
  const counts = { keys: keys.length, calls: erased };
  const state = ended === undefined ? 'running' : 'done';
  return { id, account: account ?? null, state, ...counts, created: toIso(created), ended: toIso(ended) };
}

async function listErasures(store: Store): Promise<Erasure[]> {
  return (await store.listErasures({ running: false, limit: 100 })).map(describeErasure);
}

function formatErasure({ account, calls, keys, state }: Erasure): string {
  const what = account === null ? 'The person has' : `The account is now called ${account} and has`;
  const rest = state === 'running' ? ' A running gateway erases what is left, within a minute.' : '';
  return `${what} no keys any more (${keys} were erased); ${calls} calls were erased.${rest}`;
}

function buildVerb(of: 'account' | 'person', field: string): VerbRow<Ledger, Erasure> {
  return {
    description: `erase all that is kept of the ${of}; entries of money stay, without names`,
    flags: { [`<${of}>`]: { field } },
    ask: async (_, { args }) =>
      `Erase the ${of} "${args[of]}": keys, calls, stored responses, invitations? It cannot be undone.`,
    format: formatErasure,
  };
}

function buildErasureError(
  { account, holder: person }: Readonly<{ account?: string | undefined; holder?: string | undefined }>,
  status: 'not_found' | 'held',
): GatewayError {
  if (status === 'held')
    return buildRefusal(
      'conflict',
      'calls of this account are still running: disable it, wait for them, and erase it then',
    );
  return account === undefined
    ? buildRefusal('not_found', `no key is held by "${person}"`)
    : buildAccountError(account);
}

export const erasureOperations = [
  defineOperation({
    route: 'GET /admin/erasures',
    summary: 'List erasures, newest first; they do not say who was erased',
    roles: roles.read,
    run: async ({ store }) => ({ data: await listErasures(store) }),
  }),
  defineOperation({
    route: 'POST /admin/erasures',
    summary: 'Erase all that is kept of an account or a person; entries of money stay, without names',
    details:
      'Erases keys, stored calls and responses, tags, invitations and what plugins keep. An account with ' +
      'running calls is refused. It goes on behind the reply until its state is `done`.',
    roles: roles.manage,
    statuses: [202],
    input: z
      .strictObject({ account: accountName.optional(), holder: holder.optional() })
      .refine(({ account, holder: person }) => (account === undefined) !== (person === undefined), {
        path: ['account'],
        message: 'name an account or a holder',
      }),
    async run({ store, flush, erase }, order) {
      await flush?.();
      const begun = await store.beginErasure({ ...order, id: randomUUID(), at: Date.now() });
      if (!('id' in begun)) throw buildErasureError(order, begun.status);
      const { id } = begun;
      const find = async () =>
        (await store.listErasures({ running: false, limit: 1000 })).find((each) => each.id === id);
      const erasure = await find();
      // What fails now is tried again by a gateway, which logs it.
      if (erasure) await eraseAll(store, erase, erasure, patience).catch(() => false);
      const now = await find();
      if (!now) throw new Error('an erasure that was begun is listed');
      return describeErasure(now);
    },
    verbs: {
      'erase account <account>': buildVerb('account', 'account'),
      'erase person <person>': buildVerb('person', 'holder'),
    },
  }),
];
