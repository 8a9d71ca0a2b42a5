/**
 * A meter of your own: this one gives each account so many tokens a day. What it counts it keeps in memory,
 * as a process- owned resource: a reload of the configuration does not forget it, a restart does. The ledger
 * of `plugins/meters/balance` shows what it takes to be exact where processes die and calls run at once.
 */
import { definePlugin, GatewayError, type End } from 'tollgate';
import { z } from 'zod';

const options = z.strictObject({ tokensPerDay: z.int().positive() });

const second = 1000;
const day = 24 * 60 * 60 * second;

/** What each account has used, by its name and the day. */
type Used = Map<string, number>;

function buildPlace(account: string, at: number): string {
  return `${account} ${Math.floor(at / day)}`;
}

function countTokens(end: End): number {
  // Only where a vendor was asked is there a charge, and it has the figures the call was charged by.
  if (end.type !== 'answered' && end.type !== 'failed') return 0;
  const { input = 0, output = 0 } = end.charge.usage;
  return input + output;
}

export const allowance = definePlugin({
  name: 'allowance',
  options,
  apply({ hooks, openResource }, { tokensPerDay }) {
    let used: Used = new Map();

    hooks.ready.tapPromise('allowance', async () => {
      used = await openResource(
        'allowance',
        {},
        () => used,
        () => undefined,
      );
    });

    // Before a vendor is asked: the grant goes on as it is, or the call is refused.
    hooks.authorize.tapPromise('allowance', async (grant, { principal, receivedAt }) => {
      if ((used.get(buildPlace(principal.account, receivedAt)) ?? 0) < tokensPerDay) return grant;
      const retryAfter = Math.ceil((day - (receivedAt % day)) / second);
      throw new GatewayError('rate_limited', `The ${tokensPerDay} tokens of today are used up.`, {
        retryAfter,
      });
    });

    // After every call that came as far as `authorize`, exactly once, however it ended.
    hooks.meter.tapPromise('allowance', async (end) => {
      const { principal, receivedAt } = end.exchange;
      if (!principal) return;
      const place = buildPlace(principal.account, receivedAt);
      used.set(place, (used.get(place) ?? 0) + countTokens(end));
    });
  },
});
