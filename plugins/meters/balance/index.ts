/**
 * Prepaid balance: what a call could cost is reserved before it is sent and settled once it ended, in a ledger
 * that also knows the keys. A call is not sent before its reservation is durable, and its reply's last word
 * waits for the entry that settles it.
 */
import { z } from 'zod';
import { definePlugin, formatUsd, GatewayError, usd } from '../../../core/index.ts';
import { narrow, outOfBalance, quotesFor } from './admission.ts';
import { openStore, storeOptions } from './choice.ts';
import { ledgerCommands } from './commands.ts';
import { makeFirstKey } from './first-key.ts';
import { claimOf, claimRefusal, idempotencyOptions, keepSwept, replayOf } from './idempotency.ts';
import { withinModels } from './key-limits.ts';
import { createKeyring } from './keyring.ts';
import { ledgerMetrics } from './metrics.ts';
import { operatorRoutes } from './operator/routes.ts';
import { PriceBook } from './prices.ts';
import { balanceRoutes } from './routes.ts';
import { settleDurably, settlementOf } from './settlement.ts';
import type { Store } from './store.ts';
import { topUpOptions, topUpRoute } from './top-ups.ts';

const options = z.strictObject({
  /** Where the ledger is kept. */
  store: storeOptions.prefault({ kind: 'sqlite' }),
  /** A call whose worst case the balance does not cover: its output limit is lowered, or it is refused. */
  whenShort: z.enum(['lower', 'refuse']).default('lower'),
  /** Tokens of output a limit is never lowered below; 16 is the least that responses clients may ask for. */
  leastOutput: z.int().positive().default(16),
  /** Where the balance endpoint answers. */
  addresses: z.array(z.string().startsWith('/')).default(['/v1/user/balance', '/alpha/user/balance', '/beta/user/balance']),
  /** USD of bonus credit that comes with the first key of a new ledger. */
  firstCredit: usd.refine((amount) => amount >= 0n, 'must not be negative').prefault('1'),
  /** How long, and how much of, the outcome of a call with an `Idempotency-Key` is kept. */
  idempotency: idempotencyOptions.prefault({}),
  /** The signed webhook that credits accounts; there is none unless its secret is given. */
  topUps: topUpOptions.optional(),
});

export const balance = definePlugin({
  name: 'balance',
  options,
  apply(host, { store, addresses, firstCredit, idempotency, topUps, ...policy }) {
    const { hooks, logger } = host;
    const { overages, onGroup } = ledgerMetrics(host.metrics);
    const closing = new AbortController();
    const prices = new PriceBook();
    const reserved = new Set<string>();
    const settling = new Set<Promise<unknown>>();
    let opened: Store | undefined;
    let sweeping: NodeJS.Timeout | undefined;

    function ledger(): Store {
      if (opened) return opened;
      throw new GatewayError('ledger_unavailable', 'The ledger is not open yet; try again soon.', { retryAfter: 1 });
    }

    host.keyrings.add(createKeyring(ledger));
    const routes = [...balanceRoutes(addresses, ledger), ...operatorRoutes(ledger), ...(topUps ? [topUpRoute(topUps, ledger)] : [])];
    for (const route of routes) host.routes.add(route);
    for (const command of ledgerCommands(() => openStore(store, host.dataFolder))) host.commands.add(command);

    hooks.ready.tapPromise('balance', async () => {
      opened = await host.resource('ledger', { ...store, folder: host.dataFolder }, () => openStore(store, host.dataFolder, onGroup), (ledger) => ledger.close());
      sweeping = keepSwept(opened);
      const secret = await makeFirstKey(opened, firstCredit);
      if (secret) host.tell(`First key, with ${formatUsd(firstCredit)} USD of credit, shown this once: export KEY=${secret}`);
    });

    hooks.replay.tapPromise('balance', async (parsed) => {
      const claim = claimOf(parsed, idempotency);
      if (!claim) return undefined;
      const replay = await replayOf(parsed, claim, ledger());
      if (!replay) parsed.record(idempotency.largest);
      return replay;
    });

    hooks.authorize.tapPromise('balance', async (granted, planned) => {
      const grant = withinModels(granted, planned.principal);
      if (planned.operation === 'count') return grant;
      const { account, key } = planned.principal;
      const quotes = quotesFor(grant, planned, policy);
      for (const { price } of grant.targets) prices.tell(ledger(), price);
      const claim = claimOf(planned, idempotency);
      const taken = await ledger().reserve({ id: planned.id, account, key, quotes, claim, at: Date.now() });
      if (taken.status === 'short') throw outOfBalance(quotes, planned.principal, taken);
      if (taken.status === 'claimed') throw claimRefusal(taken.claim, claim);
      reserved.add(planned.id);
      return narrow(grant, planned, taken, policy);
    });

    hooks.meter.tapPromise('balance', async (end) => {
      if (end.type === 'replayed' || !reserved.delete(end.exchange.id)) return;
      const settlement = settleDurably(ledger(), settlementOf(end, Date.now()), { logger, closing: closing.signal });
      settling.add(settlement);
      const settled = await settlement;
      settling.delete(settlement);
      if (settled?.status !== 'posted' || settled.overage === 0n) return;
      overages.inc();
      logger.warn({ reservation: end.exchange.id, overage: formatUsd(settled.overage) }, 'a call cost more than was reserved for it');
    });

    hooks.close.tapPromise('balance', async () => {
      clearInterval(sweeping);
      closing.abort();
      await Promise.all(settling);
    });
  },
});
