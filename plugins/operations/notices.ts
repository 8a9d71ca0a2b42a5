/**
 * Notices to operators, for operators: what was raised, and what became of it in each channel; and a message
 * that shows whether a channel works.
 */
import { z } from 'zod';
import { definePlugin, GatewayError, type Host, type TableRow, type Tables } from '../../core/index.ts';
import { buildMessage, describeFault, readTold, sendInTime, testEvent } from '../shared/notices/message.ts';
import { answerClaims, useOutbox, type NoticeOutbox } from '../shared/notices/outbox.ts';
import { declaration, sql } from '../shared/notices/tables.ts';
import { createDefiner, listOperationRoutes, roles } from '../shared/operations.ts';
import { buildCommands, buildCountFlag, listVerbs } from '../shared/operator-verbs.ts';
import type { Replies } from '../shared/replies/routes.ts';
import { formatTable } from '../shared/table.ts';

type Context = Pick<Host, 'tables'> & { readonly outbox: NoticeOutbox };

type Listed = Replies['GET /admin/notices']['data'][number];
type Delivered = Listed['deliveries'][number];

function toTime(milliseconds: unknown): string | null {
  return milliseconds === null ? null : new Date(Number(milliseconds)).toISOString();
}

function readDelivery({ channel, attempts, due, done, fault }: TableRow): Delivered {
  const pending = due === null ? 'failed' : 'pending';
  return {
    channel: String(channel),
    status: done === null ? pending : 'sent',
    attempts: Number(attempts),
    sent: toTime(done),
    next: toTime(due),
    fault: typeof fault === 'string' ? fault : null,
  };
}

async function listNotices({ read }: Tables, limit: number): Promise<Listed[]> {
  const rows = await read({ sql: sql.list, values: [limit] });
  const deliveries = await read({ sql: sql.listDeliveries, values: [limit] });
  const byNotice = Map.groupBy(deliveries, ({ notice }) => String(notice));
  return rows.map((row) => {
    const { id, event, subject, severity, title, text, accounts = [], at, isOver = false } = readTold(row);
    return {
      id,
      event,
      subject,
      severity,
      title,
      text,
      accounts: [...accounts],
      at: new Date(at).toISOString(),
      isOver,
      deliveries: (byNotice.get(id) ?? []).map(readDelivery),
    };
  });
}

async function testChannel({ channels }: NoticeOutbox, name: string) {
  const channel = channels.get(name);
  const known = [...channels.keys()].join(', ') || 'none';
  if (!channel)
    throw new GatewayError('not_found', `there is no channel "${name}"; there are: ${known}`, {
      param: 'channel',
    });
  const about = { id: crypto.randomUUID(), at: Date.now(), event: testEvent, subject: name, period: '' };
  const says = { title: 'A test', text: 'This channel gets notices of the gateway.' };
  try {
    await sendInTime(channel, buildMessage({ ...about, ...says, severity: 'info' }));
    return { channel: name, ok: true, fault: null };
  } catch (error) {
    return { channel: name, ok: false, fault: describeFault(error) };
  }
}

function formatDelivery({ channel, status, attempts, fault }: Delivered): string {
  const why = status !== 'sent' && fault !== null ? ` (${attempts} tries: ${fault})` : '';
  return `${channel}: ${status}${why}`;
}

function formatNotices(notices: readonly Listed[]): string {
  return formatTable(
    ['TIME', 'EVENT', 'SUBJECT', 'OVER', 'CHANNELS', 'TEXT'],
    notices.map(({ at, event, subject, isOver, deliveries, text }) => [
      at,
      event,
      subject,
      isOver ? 'yes' : '',
      deliveries.map(formatDelivery).join('; '),
      text,
    ]),
    { many: 'notices' },
  );
}

const defineOperation = createDefiner<Context>();

const operations = [
  defineOperation({
    route: 'GET /admin/notices',
    summary: 'List notices to operators, newest first, and whether each channel got them',
    roles: roles.read,
    input: z.strictObject({ limit: z.coerce.number().int().min(1).max(1000).default(100) }),
    async run({ tables }, { limit }) {
      const data = await tables.get('ledger').use?.(declaration, (used) => listNotices(used, limit));
      if (data) return { data };
      throw new Error('the store of the ledger cannot be opened for a command');
    },
    verbs: {
      'notices list': {
        flags: { '--limit <count>': buildCountFlag('at most so many; 100 unless given') },
        format: ({ data }) => formatNotices(data),
      },
    },
  }),
  defineOperation({
    route: 'POST /admin/notices/:channel/test',
    summary: 'Send a test message to a channel',
    roles: roles.manage,
    run: ({ outbox }, _, { channel }) => testChannel(outbox, channel),
    verbs: {
      'notices test <channel>': {
        format: ({ channel, ok, fault }) => (ok ? `${channel} has accepted it.` : `${channel}: ${fault}`),
        isFault: ({ ok }) => !ok,
      },
    },
  }),
];

function addOperations({ tables, routes, commands }: Host, outbox: NoticeOutbox): void {
  const context = { outbox, tables };
  for (const route of listOperationRoutes(operations, () => context)) routes.add(route);
  const open = async () => ({ getContext: () => context, close: async () => undefined });
  const groups = { notices: 'list notices to operators, and test channels' };
  for (const command of buildCommands(listVerbs(operations), open, groups)) commands.add(command);
}

export const notices = definePlugin({
  name: 'notices',
  apply: (host) => addOperations(host, useOutbox(host)),
  supervise: answerClaims,
});
