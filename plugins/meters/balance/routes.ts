/** The balance endpoint: posted amounts of the caller's account, the same at each of its addresses. */
import {
  GatewayError,
  isGatewayError,
  toUsdNumber,
  type Route,
  type RouteReply,
} from '../../../core/index.ts';
import type { Store } from './store.ts';

const unauthenticated: RouteReply = { status: 401, body: { error: 'unauthenticated', is_active: false } };
const internalError: RouteReply = { status: 500, body: { error: 'internal error', is_active: false } };

/** The endpoint has two errors: one for a key that is not accepted here, and one for everything else. */
function buildErrorReply(error: unknown): RouteReply {
  return isGatewayError(error) && (error.status === 401 || error.status === 403)
    ? unauthenticated
    : internalError;
}

export function listBalanceRoutes(addresses: readonly string[], store: () => Store): Route[] {
  return addresses.map((path) => ({
    name: `balance ${path}`,
    method: 'GET',
    path,
    access: 'user',
    encodeError: buildErrorReply,
    describe: async () => (await import('./description.ts')).ownBalance,
    async handle(_request, { account }) {
      const balance = await store().readBalance(account);
      if (!balance) throw new GatewayError('invalid_api_key', 'The key belongs to no account of the ledger.');
      const { total, used } = balance;
      return {
        status: 200,
        headers: { 'cache-control': 'no-store' },
        body: {
          is_active: true,
          balance: toUsdNumber(total - used),
          total: toUsdNumber(total),
          used: toUsdNumber(used),
          currency: 'USD',
        },
      };
    },
  }));
}
