/**
 * Tables of your own: this plugin keeps a row for each call, and tells a key what it has spent, at
 * `GET /spending`. The rows are written in the ledger's transactions, so they are what the ledger says, even
 * if the gateway is killed at any moment.
 */
import { definePlugin, toGatewayError, type Tables } from 'tollgate';
import { encodeError } from 'tollgate/kit';

/** Only ever add to the end. */
const migrations = [
  'CREATE TABLE plugin_spending_calls (call text PRIMARY KEY, key text NOT NULL, cost bigint)',
  'CREATE INDEX plugin_spending_by_key ON plugin_spending_calls (key)',
];

const begin = 'INSERT INTO plugin_spending_calls (call, key) VALUES ($1, $2)';
const end = 'UPDATE plugin_spending_calls SET cost = $2 WHERE call = $1';
const sum = `SELECT count(*) AS calls, CAST(coalesce(sum(cost), 0) AS bigint) AS cost
  FROM plugin_spending_calls WHERE key = $1`;

export const spending = definePlugin({
  name: 'spending',
  apply({ hooks, routes, tables }) {
    let kept: Tables | undefined;

    // After the tap that opens the ledger.
    hooks.ready.tapPromise({ name: 'spending', stage: 10 }, async () => {
      kept = await tables.get('ledger').open({
        name: 'spending',
        migrations,
        calls: {
          reserve: ({ id, principal }) => [{ sql: begin, values: [id, principal.key] }],
          settle: (ended) => {
            const cost = ended.type === 'refused' ? 0n : ended.charge.cost;
            return [{ sql: end, values: [ended.exchange.id, cost] }];
          },
          recover: end,
        },
      });
    });

    routes.add({
      name: 'spending',
      method: 'GET',
      path: '/spending',
      access: 'user',
      encodeError: (error) => encodeError(toGatewayError(error)),
      async handle(_request, { key }) {
        const [row] = (await kept?.read({ sql: sum, values: [key] })) ?? [];
        return { status: 200, body: { calls: Number(row?.calls), nanoUsd: Number(row?.cost) } };
      },
    });
  },
});
