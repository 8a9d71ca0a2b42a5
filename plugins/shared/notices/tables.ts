/**
 * The outbox's tables: notices, and a delivery of each for every channel. A notice is one row, whichever
 * processes raise it. A channel has a row that one process at a time holds while it sends.
 */
import type { TableDeclaration } from '../../../core/index.ts';

export const declaration: TableDeclaration = {
  name: 'notices',
  migrations: [
    // Times are in milliseconds since the epoch. `id` is the hash of event, subject and period.
    `CREATE TABLE plugin_notices_raised (id text PRIMARY KEY, event text NOT NULL, subject text NOT NULL,
      account text, at bigint NOT NULL, body text NOT NULL)`,
    'CREATE INDEX plugin_notices_by_time ON plugin_notices_raised (at)',
    // `due` is null once it was sent at `done`, or given up because of `fault`.
    `CREATE TABLE plugin_notices_deliveries (notice text, channel text, at bigint NOT NULL,
      attempts bigint NOT NULL, due bigint, done bigint, fault text, PRIMARY KEY (notice, channel))`,
    'CREATE INDEX plugin_notices_undone ON plugin_notices_deliveries (done, channel)',
    'CREATE TABLE plugin_notices_channels (name text PRIMARY KEY, until bigint NOT NULL, holder text)',
  ],
};

export const sql = {
  raise: `INSERT INTO plugin_notices_raised (id, event, subject, account, at, body)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`,
  // The process that sent it, and the one that sends it soonest, decide.
  address: `INSERT INTO plugin_notices_deliveries AS known (notice, channel, at, attempts, due, done)
    VALUES ($1, $2, $3, 0, $4, $5) ON CONFLICT (notice, channel) DO UPDATE
    SET due = excluded.due, done = excluded.done WHERE excluded.done IS NOT NULL OR excluded.due < known.due`,
  count: `SELECT channel, count(due) AS pending, count(*) - count(due) AS failed,
      coalesce(min(due), 0) AS next
    FROM plugin_notices_deliveries WHERE done IS NULL GROUP BY channel`,
  hold: `INSERT INTO plugin_notices_channels AS held (name, holder, until) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE held.until <= $4 RETURNING name`,
  release: 'UPDATE plugin_notices_channels SET until = $3 WHERE name = $1 AND holder = $2',
  due: `SELECT d.notice AS id, d.attempts, d.at, r.body
    FROM plugin_notices_deliveries AS d JOIN plugin_notices_raised AS r ON r.id = d.notice
    WHERE d.channel = $1 AND d.done IS NULL AND d.due <= $2 ORDER BY d.attempts, d.at LIMIT 200`,
  note: `UPDATE plugin_notices_deliveries SET attempts = attempts + 1, due = $3, done = $4, fault = $5
    WHERE notice = $1 AND channel = $2`,
  list: 'SELECT * FROM plugin_notices_raised ORDER BY at DESC, id LIMIT $1',
  listDeliveries: `SELECT * FROM plugin_notices_deliveries WHERE notice IN
    (SELECT id FROM plugin_notices_raised ORDER BY at DESC, id LIMIT $1) ORDER BY channel`,
  // Also of channels that the configuration no longer has.
  giveUp: `UPDATE plugin_notices_deliveries SET due = NULL, fault = coalesce(fault, 'it was not sent in time')
    WHERE done IS NULL AND due IS NOT NULL AND at < $1`,
  forget: `DELETE FROM plugin_notices_raised WHERE at < $1
    OR at < (SELECT at FROM plugin_notices_raised ORDER BY at DESC LIMIT 1 OFFSET $2)`,
  erase: 'DELETE FROM plugin_notices_raised WHERE account = $1 OR subject = $1',
  tidy: `DELETE FROM plugin_notices_deliveries WHERE notice NOT IN (SELECT id FROM plugin_notices_raised)`,
};
