/**
 * How much each key and each account may call: requests and tokens in a window, and concurrent calls. No call
 * is limited until a limit is named; requests for public pages, which need no key, are counted by address.
 * When a call begins its tokens are estimated, and when it ends the estimate is corrected. All workers of a
 * gateway count together, and all gateways that share a PostgreSQL too.
 */
import { z } from 'zod';
import { definePlugin, type Host } from '../../core/index.ts';
import { Gate, limitsSchema, type Limits } from './rate-limits/gate.ts';
import { createMemoryCounter, openStore, type Store } from './rate-limits/store.ts';
import { superviseLimits } from './rate-limits/supervised.ts';
import { Visitors } from './rate-limits/visitors.ts';

const options = z.strictObject({
  perKey: limitsSchema.default({}),
  perAccount: limitsSchema.default({}),
  /**
   * Requests for public pages in a window, above all for listings; 100 a second unless given. Requests from
   * this machine itself are not counted.
   */
  perAddress: z.strictObject({ requests: z.int().positive().optional() }).default({}),
  /** Seconds of the window. */
  window: z.int().positive().default(60),
  /** A PostgreSQL in which all gateways count together; without it each counts for itself. */
  postgres: z
    .string()
    .refine(
      (url) => /^postgres(ql)?:/.test(url) && URL.canParse(url),
      'must be an address: postgres://user:password@host:5432/name',
    )
    .optional(),
});

const looksPerSecond = 100;

function isLimited({ requests, tokens, parallel }: Limits): boolean {
  return requests !== undefined || tokens !== undefined || parallel !== undefined;
}

function openGate(
  { hooks, openResource, workers }: Host,
  { perKey, perAccount, window, postgres }: z.output<typeof options>,
): void {
  let gate: Gate | undefined;
  hooks.ready.tapPromise('rate-limits', async () => {
    const open = async (): Promise<{ gate: Gate; store: Store }> => {
      const store = await openStore({ window, url: postgres }, workers);
      return {
        store,
        gate: new Gate(
          [
            { whose: 'account', limits: perAccount },
            { whose: 'key', limits: perKey },
          ],
          window,
          store.counts,
        ),
      };
    };
    ({ gate } = await openResource(
      'rate limits',
      { perKey, perAccount, window, postgres },
      open,
      ({ store }) => store.close(),
    ));
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
    const visitors = new Visitors(
      wanted.perAddress.requests ?? looksPerSecond * wanted.window,
      wanted.window,
    );
    host.guards.add({ name: 'rate-limits', admit: (address) => visitors.admit(address) });
    if (isLimited(wanted.perKey) || isLimited(wanted.perAccount)) openGate(host, wanted);
  },
  supervise: (supervisor) => superviseLimits(supervisor, createMemoryCounter),
});
