/**
 * A meter of your own: this one allows each account a number of tokens per day. It counts them in memory, in
 * a resource of the process, which outlives a reload of the configuration but not a restart. Calls that run
 * at once can pass the limit. The ledger of `plugins/meters/balance` shows how to be exact.
 */
import { definePlugin, findCount, GatewayError, type End } from 'tollgate';
import { z } from 'zod';

const options = z.strictObject({ tokensPerDay: z.int().positive() });

const second = 1000;
const day = 24 * 60 * 60 * second;

/** Tokens used, by account and day. */
type Used = Map<string, number>;

function buildPlace(account: string, at: number): string {
  return `${account} ${Math.floor(at / day)}`;
}

function countTokens(end: End): number {
  // Only calls that reached a provider have a charge.
  if (end.type !== 'answered' && end.type !== 'failed') return 0;
  const { uses } = end.charge;
  return (findCount(uses, 'input') ?? 0) + (findCount(uses, 'output') ?? 0);
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

    // Before a provider is called: passes the grant on as it is, or refuses the call.
    hooks.authorize.tapPromise('allowance', async (grant, { principal, receivedAt }) => {
      if ((used.get(buildPlace(principal.account, receivedAt)) ?? 0) < tokensPerDay) return grant;
      const retryAfter = Math.ceil((day - (receivedAt % day)) / second);
      throw new GatewayError('rate_limited', `The ${tokensPerDay} tokens of today are used up.`, {
        retryAfter,
      });
    });

    // Once after every call that reached `authorize`, however it ended.
    hooks.meter.tapPromise('allowance', async (end) => {
      const { principal, receivedAt } = end.exchange;
      if (!principal) return;
      const place = buildPlace(principal.account, receivedAt);
      used.set(place, (used.get(place) ?? 0) + countTokens(end));
    });
  },
});
