/**
 * Prepaid balance: what a call could cost is reserved before it is sent, and settled when it has ended, in
 * a ledger that also stores the keys. A call is not sent before its reservation is durable, and the last
 * bytes of its reply wait for the entry that settles it.
 */
import { z } from 'zod';
import {
  definePlugin,
  GatewayError,
  longestDeadline,
  usd,
  type Grant,
  type Host,
  type Nano,
  type Principal,
} from '../../../core/index.ts';
import { getAttribution } from '../../shared/attribution.ts';
import {
  buildBudgetHeaders,
  buildRateError,
  buildShortError,
  listQuotes,
  narrowGrant,
  readBudgetWish,
} from './admission.ts';
import { keepForwarding } from './budgets/warnings.ts';
import { keepErasing } from './erasures/keeper.ts';
import { readClaim, buildClaimError, idempotencyOptions, keepSweeping, findReplay } from './idempotency.ts';
import { makeFirstKey } from './keys.ts';
import { LedgerService } from './ledger-service.ts';
import { Markups, markupSchema, followMarkups } from './markups.ts';
import { registerLedgerMetrics } from './metrics.ts';
import { AccountWatch, noticeOptions } from './notices.ts';
import { followAddress, openStore, storeOptions, type StoreOptions } from './open-store.ts';
import type { PluginTables } from './plugin-tables.ts';
import { PriceBook } from './prices.ts';
import { register, requireOpened } from './registration.ts';
import { buildSettlement } from './settlement.ts';
import { buildCapHeaders, toCapError } from './spend-caps.ts';
import type { Quote } from './store.ts';
import { topUpOptions } from './top-ups.ts';

/** For authors of custom stores. */
export type * from './store.ts';
export { TableFault } from './operations.ts';

const options = z.strictObject({
  /** Where the ledger is stored. */
  store: storeOptions.prefault({ kind: 'sqlite' }),
  /**
   * What happens to a call whose worst case the balance does not cover: its output limit is lowered, or it is
   * refused.
   */
  whenShort: z.enum(['lower', 'refuse']).default('lower'),
  /**
   * The output limit in tokens is never lowered below this; 16 is the least that the responses API allows.
   */
  leastOutput: z.int().positive().default(16),
  /**
   * When a call is settled: before the client gets the last bytes of its reply, or after. If the process dies
   * between reply and entry, the call is charged for what its last heartbeat recorded. A reply that is stored
   * for an `Idempotency-Key` is settled before in any case.
   */
  settle: z.enum(['before-reply', 'after-reply']).default('before-reply'),
  /** What is charged above or below the vendors' prices. */
  markup: z.array(markupSchema).max(1000).default([]),
  /** The paths of the balance endpoint. */
  addresses: z
    .array(z.string().startsWith('/'))
    .default(['/v1/user/balance', '/alpha/user/balance', '/beta/user/balance']),
  /** USD of bonus credit that comes with the first key of a new ledger. With 0 no first key is created. */
  firstCredit: usd.refine((amount) => amount >= 0n, 'must not be negative').prefault('1'),
  /** How long and up to which size the outcome of a call with an `Idempotency-Key` is stored. */
  idempotency: idempotencyOptions.prefault({}),
  /** The signed webhook that credits accounts; it is off unless its secret is set. */
  topUps: topUpOptions.optional(),
  /** The notices about accounts and keys. */
  notices: noticeOptions.prefault({}),
  /** Seconds without a heartbeat after which a process is dead. The others then settle its calls. */
  lease: z.number().min(0.1).max(longestDeadline).default(3),
  /** Hours after which a reservation is released, even if its call never ended. */
  longestCall: z.number().positive().default(24),
  /** Days for which ended calls are stored; 0 stores none. */
  retention: z.number().min(0).max(3650).default(30),
  /** Seconds between two audits of new entries; with 0 only `tollgate audit` audits. */
  auditEvery: z.number().min(0).max(longestDeadline).default(60),
});

type Options = z.output<typeof options>;

type Short = Parameters<typeof buildShortError>[2];

/** The error for a call that is too dear: devices that people signed in get one of their own. */
function refuseShort(quotes: readonly Quote[], principal: Principal, short: Short, at: number): GatewayError {
  const refusal = buildShortError(quotes, principal, short, at);
  return principal.person ? toCapError(refusal, short, at) : refusal;
}

function addHeaders(grant: Grant, headers: Readonly<Record<string, string>>): Grant {
  return { ...grant, headers: { ...grant.headers, ...headers } };
}

/** Replays, reserves and settles calls. */
function tapCalls(
  { hooks }: Host,
  { idempotency, settle, ...policy }: Options,
  service: () => LedgerService,
  tables: PluginTables,
): void {
  const prices = new PriceBook();
  /** What is reserved for each running call. */
  const reserved = new Map<string, Nano>();

  hooks.replay.tapPromise('balance', (parsed) => {
    const claim = readClaim(parsed, idempotency);
    return claim && findReplay(parsed, claim, service().store, idempotency);
  });

  hooks.authorize.tapPromise('balance', async (grant, planned) => {
    if (planned.operation === 'count') return grant;
    const { account, key, person } = planned.principal;
    const quotes = listQuotes(grant, planned, policy);
    for (const { price } of grant.targets) prices.definePrice(service().store, price);
    const claim = readClaim(planned, idempotency);
    const [at, { texts: tags }] = [Date.now(), getAttribution(planned)];
    const also = tables.listForReservation(planned);
    const tells = readBudgetWish(planned);
    const request = { id: planned.id, account, key, quotes, claim, tags, also, at };
    const taken = await service().reserve(tells || person ? { ...request, tellsBudget: true } : request);
    if (taken.status === 'short') throw refuseShort(quotes, planned.principal, taken, at);
    if (taken.status === 'limited') throw buildRateError(planned.principal, taken);
    if (taken.status === 'claimed') throw buildClaimError(taken.claim, claim);
    reserved.set(planned.id, taken.amount);
    service().begin(planned);
    // The reservation covers the worst case of the first target.
    const narrowed = taken.amount === quotes[0]?.most ? grant : narrowGrant(grant, planned, taken, policy);
    const told = tells ? addHeaders(narrowed, buildBudgetHeaders(taken.tightest)) : narrowed;
    return person ? addHeaders(told, buildCapHeaders(taken)) : told;
  });

  hooks.extend.tapPromise('balance', async (grant, routed) => {
    const { id, principal, attempt } = routed;
    const quotes = listQuotes(grant, routed, policy);
    const [held, quote] = [reserved.get(id), quotes[0]];
    if (held === undefined || !quote || quote.most <= held) return grant;
    const [at, { texts: tags }] = [Date.now(), getAttribution(routed)];
    const { account, key } = principal;
    const attempts = attempt.number;
    const taken = await service().store.extend({ id, account, key, quote, tags, attempts, at });
    if (taken.status === 'short') throw refuseShort(quotes, principal, taken, at);
    if (taken.status === 'not_found')
      throw new GatewayError('ledger_unavailable', 'Its reservation has ended.', { retryAfter: 1 });
    reserved.set(id, taken.amount);
    return narrowGrant(grant, routed, { status: 'reserved', quote: 0, amount: taken.amount }, policy);
  });

  hooks.meter.tapPromise('balance', (end) => {
    if (end.type === 'replayed') return undefined;
    const { id } = end.exchange;
    if (!reserved.delete(id)) return service().noteRefused(id, () => tables.listForEnd(end));
    if (end.type !== 'refused' && end.charge.price) prices.definePrice(service().store, end.charge.price);
    const also = tables.listForEnd(end);
    const settled = service().settle({ ...buildSettlement(end, Date.now()), also });
    return settle === 'before-reply' || end.recording ? settled : undefined;
  });
}

export const balance = definePlugin({
  name: 'balance',
  options,
  apply(host, chosen) {
    const { hooks, logger, dataFolder } = host;
    const { store, firstCredit } = chosen;
    const metrics = registerLedgerMetrics(host.metrics);
    const times = {
      lease: chosen.lease * 1000,
      longestCall: chosen.longestCall * 3_600_000,
      auditEvery: chosen.auditEvery * 1000,
      retention: chosen.retention * 24 * 3_600_000,
    };
    const markups = new Markups();
    let opened: LedgerService | undefined;
    const stops: (() => void)[] = [];

    const readStore = followAddress(host, store);
    async function open(at: StoreOptions): Promise<LedgerService> {
      return new LedgerService({
        store: await openStore(at, dataFolder, { onGroup: metrics.onGroup, lease: times.lease }),
        logger,
        metrics,
        workers: host.workers,
        ...times,
      });
    }

    const tables = register(host, chosen, () => opened);
    const watch = new AccountWatch(host, chosen.notices);
    hooks.ready.tapPromise('balance', async () => {
      const at = await readStore();
      const shared = { ...at, ...times, folder: dataFolder };
      opened = await host.openResource(
        'ledger',
        shared,
        () => open(at),
        (service) => service.close(),
      );
      stops.push(
        keepSweeping(opened.store),
        await followMarkups(opened.store, { markups, configured: chosen.markup }, logger),
        keepErasing(opened.store, host.operations.erase, logger),
        watch.start(opened.store),
        opened.listen(host.notices),
        keepForwarding({ store: opened.store, logger, metrics, notices: host.notices }),
      );
      const notice = await makeFirstKey(opened.store, firstCredit);
      if (notice) host.addNote(notice);
    });
    // Runs after all other taps, which choose by the vendors' prices.
    hooks.route.tap({ name: 'balance', stage: 100 }, (targets, { principal }) =>
      markups.applyRules(targets, principal),
    );
    tapCalls(host, chosen, () => requireOpened(opened), tables);
    hooks.observe.tap('balance', (end) => {
      requireOpened(opened).calls.add(end);
      watch.note(end);
    });
    hooks.close.tapPromise('balance', async () => {
      for (const stop of stops) stop();
    });
  },
});
