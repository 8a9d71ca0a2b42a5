/** Finds accounts, keys, models, providers, calls and tags by a few letters. */
import { z } from 'zod';
import { roles } from '../../../shared/operations.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { defineOperation, type Ledger } from './operation.ts';
import { buildNumberSchema } from './reading.ts';

type Found = Replies['GET /admin/search']['data'][number];

const kinds = ['account', 'key', 'model', 'provider', 'call', 'tag'] as const satisfies Found['kind'][];

/** Those that begin with the text, or whose part after the slash does, before those that contain it. */
function pickNames(names: Iterable<string>, text: string, limit: number): string[] {
  const word = text.toLowerCase();
  const found = [...names].filter((name) => name.toLowerCase().includes(word));
  const isFirst = (name: string): boolean => `/${name.toLowerCase()}`.includes(`/${word}`);
  return [...found.filter(isFirst), ...found.filter((name) => !isFirst(name))].slice(0, limit);
}

async function findKeys({ store }: Ledger, ids: readonly string[]): Promise<Found[]> {
  const found = ids.length === 0 ? [] : await store.listKeys({ ids, limit: ids.length });
  const byId = new Map(found.map((key) => [key.id, key]));
  return ids.flatMap((id) => {
    const key = byId.get(id);
    if (!key) return [];
    const { name, lastFour, account = null, disabled } = key;
    return { kind: 'key', id, name: name || `…${lastFour}`, account, last_four: lastFour, disabled };
  });
}

const toFound = (kind: Found['kind'], names: readonly string[]): Found[] =>
  names.map((name) => ({ kind, id: name, name, account: null }));

export const searchOperations = [
  defineOperation({
    route: 'GET /admin/search',
    summary: 'Find accounts, keys, models, providers, calls and tags by a part of their names',
    details:
      'A key is found by its name, its id and its last four characters; a call by the beginning of its id; ' +
      'a tag by its beginning, and a session without `session:` before it.',
    roles: roles.read,
    input: z.strictObject({
      text: z.string().max(200, 'it has at most 200 characters').default(''),
      kind: z.enum(kinds, `the kinds are ${kinds.join(', ')}`).optional(),
      limit: buildNumberSchema(1, 50).default(8),
    }),
    async run(ledger, { text: typed, kind, limit }) {
      const text = typed.trim();
      const { store, offer } = ledger;
      const { accounts, keys, calls, tags } = await store.findNames({ text, limit });
      const models = offer.listModels().map(({ id }) => id);
      const providers = new Set(models.flatMap((id) => offer.find(id).map(({ provider: { name } }) => name)));
      const all = [
        ...toFound('account', accounts),
        ...(await findKeys(ledger, keys)),
        ...toFound('model', pickNames(models, text, limit)),
        ...toFound('provider', pickNames(providers, text, limit)),
        ...toFound('call', calls),
        ...toFound('tag', tags),
      ];
      return { data: all.filter((each) => kind === undefined || each.kind === kind) };
    },
  }),
];
