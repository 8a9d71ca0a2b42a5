/**
 * How much keys, accounts and teams may call, of all models or of some: requests and tokens in a window, and
 * concurrent calls, of which each gets a fair share. No call is limited until a limit is named; requests for
 * public pages, which need no key, are counted by address.
 * When a call begins its tokens are estimated, and when it ends the estimate is corrected. Workers count
 * together in the ledger's database, and with `shared` all gateways that have the ledger.
 */
import { z } from 'zod';
import { definePlugin, type Host } from '../../core/index.ts';
import { NetworkCounts } from '../shared/network.ts';
import { Counter, createLimiter } from './rate-limits/counter.ts';
import { Gate, isLimited, limitsSchema, ruleSchema, type Rule } from './rate-limits/gate.ts';
import { Shares, sharesSchema } from './rate-limits/shares.ts';
import { declaration, TableCounts } from './rate-limits/table-counts.ts';

function isThisMachine(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.');
}

const options = z.strictObject({
  perKey: limitsSchema.default({}),
  perAccount: limitsSchema.default({}),
  /** Limits of models and teams: `{ per: 'team', team: 'company', models: ['openai/*'], output: 50_000 }`. */
  limits: z.array(ruleSchema).max(100).default([]),
  /**
   * Requests for public pages in a window, above all for listings; 100 a second unless given. Requests from
   * this machine itself are not counted.
   */
  perAddress: z.strictObject({ requests: z.int().positive().optional() }).default({}),
  /** Concurrent calls in all, of which every account gets its share when they are taken. */
  shares: sharesSchema.optional(),
  /** Seconds of the window. */
  window: z.int().positive().default(60),
  /**
   * Whether all processes that share the ledger count together, in its database, or each for itself. Workers
   * of one gateway count together unless this is false.
   */
  shared: z.boolean().optional(),
});

const looksPerSecond = 100;

interface Surroundings {
  readonly tables: Pick<Host['tables'], 'find'>;
  readonly workers: Pick<Host['workers'], 'several'>;
  readonly logger: Pick<Host['logger'], 'warn'>;
}

/** Whether the limits can be counted as the options say. Throws, or warns of what happens instead. */
export function checkSharing({ tables, workers, logger }: Surroundings, shared: boolean | undefined): void {
  if (tables.find('ledger')) return;
  const lack = "limits are shared in the ledger's database, and no plugin has one";
  if (shared)
    throw new Error(`option "shared": ${lack}: add balance(), or leave the option out to count in memory`);
  if (workers.several && shared === undefined)
    logger.warn(`${lack}: each worker counts in its memory, and allows as many calls as the limits say`);
}

interface Opened {
  readonly gate: Gate;
  readonly counts: TableCounts | undefined;
  readonly shares: Shares | undefined;
}

function openGate(host: Host, rules: readonly Rule[], wanted: z.output<typeof options>): void {
  const { window, shared, shares: parts } = wanted;
  const { hooks, onApplied, openResource, tables, workers } = host;
  let gate: Gate | undefined;
  let shares: Shares | undefined;
  onApplied(() => checkSharing(host, shared));
  // After the tap that opens the ledger.
  hooks.ready.tapPromise({ name: 'rate-limits', stage: 10 }, async () => {
    const store = (shared ?? workers.several) ? tables.find('ledger') : undefined;
    const open = async (): Promise<Opened> => {
      const own = new Counter(await createLimiter(window));
      const counts = store && new TableCounts(window, own);
      const all = counts ?? own;
      return { counts, gate: new Gate(rules, window, all), shares: parts && new Shares(parts, all) };
    };
    const settings = { rules, window, parts, shared: store !== undefined };
    const opened = await openResource('rate limits', settings, open, ({ counts, shares }) => {
      counts?.close();
      shares?.close();
    });
    if (store) await opened.counts?.useTables(await store.open(declaration));
    ({ gate, shares } = opened);
  });
  // Before the ledger's tap, so that a call refused here reserves nothing.
  hooks.authorize.tapPromise({ name: 'rate-limits', stage: -10 }, async (grant, planned) => {
    if (!gate) return grant;
    const headers = { ...grant.headers, ...(await gate.enter(planned)) };
    if (shares) await shares.enter(planned);
    return { ...grant, headers };
  });
  hooks.meter.tapPromise('rate-limits', async (end) => {
    await gate?.leave(end);
    if (shares) await shares.leave(end.exchange.id);
  });
}

export const rateLimits = definePlugin({
  name: 'rate-limits',
  options,
  apply(host, wanted) {
    const { perAddress, window } = wanted;
    const { requests = looksPerSecond * window } = perAddress;
    const visitors = new NetworkCounts(requests, window);
    const refusal = `This address may look ${requests} times in ${window} seconds. Try again later.`;
    host.guards.add({
      name: 'rate-limits',
      admit(address) {
        if (!isThisMachine(address)) visitors.add(address, refusal);
        return undefined;
      },
    });
    const { perKey, perAccount, limits } = wanted;
    const all: readonly Rule[] = [{ per: 'account', ...perAccount }, { per: 'key', ...perKey }, ...limits];
    const rules = all.filter(isLimited);
    if (rules.length > 0 || wanted.shares) openGate(host, rules, wanted);
  },
});
