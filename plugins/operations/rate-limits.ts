/**
 * How much each key and each account may call: requests and tokens in a window, and concurrent calls. No call
 * is limited until a limit is named; requests for public pages, which need no key, are counted by address.
 * When a call begins its tokens are estimated, and when it ends the estimate is corrected. Workers count
 * together in the ledger's database, and with `shared` all gateways that have the ledger.
 */
import { z } from 'zod';
import { definePlugin, type Host } from '../../core/index.ts';
import { NetworkCounts } from '../shared/network.ts';
import { Counter, createLimiter } from './rate-limits/counter.ts';
import { Gate, isLimited, limitsSchema, ruleSchema, type Rule } from './rate-limits/gate.ts';
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

function openGate(host: Host, rules: readonly Rule[], { window, shared }: z.output<typeof options>): void {
  const { hooks, onApplied, openResource, tables, workers } = host;
  let gate: Gate | undefined;
  onApplied(() => checkSharing(host, shared));
  // After the tap that opens the ledger.
  hooks.ready.tapPromise({ name: 'rate-limits', stage: 10 }, async () => {
    const store = (shared ?? workers.several) ? tables.find('ledger') : undefined;
    const open = async (): Promise<{ gate: Gate; counts: TableCounts | undefined }> => {
      const own = new Counter(await createLimiter(window));
      const counts = store && new TableCounts(window, own);
      return { counts, gate: new Gate(rules, window, counts ?? own) };
    };
    const settings = { rules, window, shared: store !== undefined };
    const opened = await openResource('rate limits', settings, open, ({ counts }) => counts?.close());
    if (store) await opened.counts?.useTables(await store.open(declaration));
    ({ gate } = opened);
  });
  // Before the ledger's tap, so that a call refused here reserves nothing.
  hooks.authorize.tapPromise({ name: 'rate-limits', stage: -10 }, async (grant, planned) => {
    if (!gate) return grant;
    return { ...grant, headers: { ...grant.headers, ...(await gate.enter(planned)) } };
  });
  hooks.meter.tapPromise('rate-limits', async (end) => gate?.leave(end));
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
    if (rules.length > 0) openGate(host, rules, wanted);
  },
});
