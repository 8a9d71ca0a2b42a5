/** What the ledger adds to the host beside its hooks: health, doctor, keys, tables, routes and commands. */
import type { z } from 'zod';
import { GatewayError, type Host, type Route } from '../../../core/index.ts';
import { isChange, listOperationRoutes } from '../../shared/operations.ts';
import { listBackupCommands } from './backup.ts';
import { listInvitationRoutes } from './invitations/routes.ts';
import { createKeyring } from './keys.ts';
import type { LedgerService } from './ledger-service.ts';
import { openStore, type storeOptions } from './open-store.ts';
import { createExamination } from './operator/audit.ts';
import { createOffer, type Offer } from './operator/reading.ts';
import { buildRouteAction, listCommands, operations } from './operator/table.ts';
import { createArchive, listBalanceRoutes } from './own-key.ts';
import { listOwnRoutes } from './own-routes.ts';
import { narrowStore } from './own-store.ts';
import { createDocumentStore, createStoreUser, PluginTables } from './plugin-tables.ts';
import { createUsageRoute } from './spend-caps.ts';
import type { Store } from './store.ts';
import { createTopUpRoute, type topUpOptions } from './top-ups.ts';

export function requireOpened(service: LedgerService | undefined): LedgerService {
  if (service) return service;
  throw new GatewayError('ledger_unavailable', 'The ledger is not open yet; try again soon.', {
    retryAfter: 1,
  });
}

interface Chosen {
  readonly store: z.output<typeof storeOptions>;
  /** The paths of the balance endpoint. */
  readonly addresses: readonly string[];
  readonly topUps?: z.output<typeof topUpOptions> | undefined;
}

/** `requireService` gives the ledger of this process, and throws until it is open. */
function listRoutes(
  { operations: { erase }, protocols, openSecret }: Host,
  { addresses, topUps }: Chosen,
  requireService: () => LedgerService,
  offer: Offer,
): Route[] {
  const getLedger = (): Store => requireService().store;
  return [
    ...listBalanceRoutes(addresses, getLedger),
    ...listOperationRoutes(operations, (operation, request, principal) => {
      const { store, calls, lastAudit } = requireService();
      const { key: author, person } = principal;
      const noteAction = (): Store => store.withAction(buildRouteAction(author, operation.route, request));
      return {
        store: narrowStore(isChange(operation) ? noteAction() : store, principal),
        offer,
        erase,
        author,
        ...(person?.role === 'member' ? { isMember: true } : { lastAudit }),
        flush: () => calls.flush(),
      };
    }),
    createUsageRoute(getLedger, protocols),
    ...listOwnRoutes(() => {
      const { store, calls } = requireService();
      return { store, offer, erase, flush: () => calls.flush() };
    }),
    ...listInvitationRoutes(getLedger),
    ...(topUps ? [createTopUpRoute({ openSecret }, topUps, getLedger)] : []),
  ];
}

/** Returns the tables of plugins, whose statements the ledger runs with its own. */
export function register(host: Host, chosen: Chosen, opened: () => LedgerService | undefined): PluginTables {
  const { store } = chosen;
  const requireService = (): LedgerService => requireOpened(opened());
  const offer = createOffer(host);
  const open = (settings?: { readonly mustExist: boolean }): Promise<Store> =>
    openStore(store, host.dataFolder, settings);
  host.readiness.add({
    name: 'ledger',
    findFault() {
      const service = opened();
      return service ? service.store.findFault()?.message : 'it is not open yet';
    },
  });
  const openExisting = (): Promise<Store> => open({ mustExist: true });
  host.examinations.add(createExamination(openExisting));
  const useStore = createStoreUser(() => opened()?.store, openExisting);
  host.operations.documents.add(createDocumentStore(useStore));
  const getLedger = (): Store => requireService().store;
  const tables = new PluginTables(getLedger, host.logger, store.kind === 'postgres', useStore);
  host.tables.add(tables);
  host.keyrings.add(createKeyring(getLedger));
  host.operations.archives.add(createArchive(requireService));
  for (const route of listRoutes(host, chosen, requireService, offer)) host.routes.add(route);
  const commands = listCommands(open, { offer, erase: host.operations.erase });
  for (const command of [...commands, ...listBackupCommands(store, host.dataFolder)])
    host.commands.add(command);
  // For a cluster that brings the tables up to date before it replaces the first gateway.
  host.commands.add({
    name: 'migrate',
    description: 'make the ledger, or bring its tables up to date, as a start does',
    async run() {
      await (await open()).close();
      return { json: { ok: true }, text: 'The tables of the ledger are up to date.' };
    },
  });
  return tables;
}
