/**
 * The option that keeps responses, and everything that it switches on: routes, hooks, and what operators do,
 * which is to delete those of an account.
 */
import { z } from 'zod';
import { GatewayError, type Host, type Route, type Tables } from '../../../core/index.ts';
import type { KeyRing } from '../../shared/key-ring.ts';
import { createDefiner, listOperationRoutes, roles } from '../../shared/operations.ts';
import { buildCommands, listVerbs } from '../../shared/operator-verbs.ts';
import { Background } from './background.ts';
import { ResponsesCall } from './call.ts';
import { conversationRoutes } from './conversations.ts';
import { Keeper } from './keeper.ts';
import { addRoutes, responseRoutes, type Kept } from './stored-routes.ts';
import { declaration, eraseAccount, eraseKeys, Stored } from './stored.ts';

const units = new Map(Object.entries({ s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }));
const duration = z
  .string()
  .regex(/^[1-9]\d{0,5}[smhd]$/, 'a number and a unit: "90s", "30m", "1h" or "7d"')
  .transform((text) => Number.parseInt(text, 10) * (units.get(text.slice(-1)) ?? 0));

const megabyte = 1024 * 1024;

function buildBounds(responses: number, bytes: number) {
  return z
    .strictObject({
      responses: z.int().positive().default(responses),
      bytes: z.int().positive().default(bytes),
    })
    .prefault({});
}

export const storeOptions = z.strictObject({
  /** How long a response is kept after it was made or used last: `1h`. */
  for: duration,
  /** How much is kept. What was used longest ago makes room. */
  perAccount: buildBounds(10_000, 256 * megabyte),
  inAll: buildBounds(100_000, 2048 * megabyte),
});

export type StoreOptions = z.output<typeof storeOptions>;

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

function addOperations({
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

interface StoringParts extends Pick<Kept, 'check'> {
  readonly getRing: () => KeyRing;
  readonly encodeError: Route['encodeError'];
}

/** Keeps responses, and serves them. Returns the function that gets what is kept. `check` reads items. */
export function keepResponses(
  host: Host,
  { for: age, perAccount, inAll }: StoreOptions,
  { getRing, encodeError, check }: StoringParts,
): () => Stored {
  const { hooks, tables, onApplied } = host;
  let opened: (Kept & { readonly keeper: Keeper }) | undefined;
  const getOpened = (): NonNullable<typeof opened> => {
    if (opened) return opened;
    throw new GatewayError('ledger_unavailable', 'Stored responses cannot be read yet; try again soon.', {
      retryAfter: 1,
    });
  };
  onApplied(() => {
    if (tables.find('ledger')) return;
    throw new Error(
      'option "store" needs a plugin that keeps tables: add balance(), or leave the option out',
    );
  });
  // After the tap that opens the ledger.
  hooks.ready.tapPromise({ name: 'responses', stage: 10 }, async () => {
    const opening = await tables.get('ledger').open(declaration);
    const stored = new Stored(opening, getRing, { age, perAccount, inAll });
    const keeper = new Keeper(stored, host);
    opened = { stored, keeper, background: new Background(stored, keeper, host), check };
  });
  hooks.replay.tapPromise('responses', (parsed) => {
    const { call, operation } = parsed;
    if (!(call instanceof ResponsesCall) || !call.settings.background || operation !== 'generate')
      return undefined;
    return getOpened().background.start(parsed, call);
  });
  hooks.meter.tapPromise('responses', (end) =>
    opened?.background.isRunning(end.exchange.id) ? undefined : opened?.keeper.keep(end),
  );
  hooks.close.tapPromise('responses', async () => {
    opened?.keeper.close();
    await opened?.background.close();
  });
  addRoutes(host, [...responseRoutes, ...conversationRoutes], encodeError, getOpened);
  addOperations(host);
  return () => getOpened().stored;
}
