/** What operators do with stored responses: delete those of an account. */
import type { Host, Tables } from '../../../core/index.ts';
import { createDefiner, listOperationRoutes, roles } from '../../shared/operations.ts';
import { buildCommands, listVerbs } from '../../shared/operator-verbs.ts';
import { declaration, eraseAccount, eraseKeys } from './stored.ts';

interface Context {
  erase(account: string): Promise<number>;
}

const operations = [
  createDefiner<Context>()({
    route: 'DELETE /admin/responses/:account',
    summary: 'Delete all stored responses and conversations of an account',
    roles: roles.manage,
    run: async ({ erase }, _input, { account }) => ({ account, deleted: await erase(account) }),
    verbs: {
      'responses erase <account>': {
        ask: async (_, { args }) => `Delete all stored responses and conversations of ${args.account}?`,
        format: ({ account, deleted }) => `Deleted ${deleted} responses and conversations of ${account}.`,
      },
    },
  }),
];

export function addOperations({
  hooks,
  tables,
  routes,
  commands,
}: Pick<Host, 'hooks' | 'tables' | 'routes' | 'commands'>): void {
  async function useTables<Result>(work: (opened: Tables) => Promise<Result>): Promise<Result> {
    const used = tables.get('ledger').use?.(declaration, work);
    if (used) return used;
    throw new Error('the store of the ledger cannot be opened for a command');
  }
  const context: Context = { erase: (account) => useTables((opened) => eraseAccount(opened, account)) };
  hooks.erase.tapPromise('responses', ({ account, keys }) =>
    useTables(async (opened) => {
      if (account === undefined) await eraseKeys(opened, keys);
      else await eraseAccount(opened, account);
    }),
  );
  for (const route of listOperationRoutes(operations, () => context)) routes.add(route);
  const open = async () => ({ getContext: () => context, close: async () => undefined });
  const groups = { responses: 'delete stored responses' };
  for (const command of buildCommands(listVerbs(operations), open, groups)) commands.add(command);
}
