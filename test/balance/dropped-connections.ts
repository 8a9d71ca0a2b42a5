/**
 * A gateway under load whose connections to PostgreSQL an administrator ends again and again, as a proxy
 * between them may do.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditReport } from '../../plugins/meters/balance/audit-report.ts';
import { openStore } from '../../plugins/meters/balance/open-store.ts';
import { openDatabase } from '../support/database.ts';
import { openHarness } from '../support/harness.ts';
import { listEntries } from './killed-gateways.ts';
import { endConnections, queryDatabase } from './postgres-database.ts';

export interface CutsOptions {
  /** How often connections are ended, and the milliseconds between. */
  readonly cuts: number;
  readonly every: number;
  readonly lanes: number;
}

export interface Cuts {
  /** Connections that were ended. */
  readonly ended: number;
  /** How many calls got which status. */
  readonly statuses: Readonly<Record<number, number>>;
  /** Replies that are neither complete nor a 503 with a retry-after. */
  readonly odd: readonly string[];
  /** Calls whose entries differ from what their clients received, by id. */
  readonly wrong: readonly string[];
  readonly audit: AuditReport;
}

export async function runCuts({ cuts: count, every, lanes }: CutsOptions): Promise<Cuts> {
  const { url, drop } = await openDatabase();
  const harness = await openHarness({
    credit: '1000',
    ledger: { store: { kind: 'postgres', url, connections: 4 } },
  });
  const over = new AbortController();
  const statuses: Record<number, number> = {};
  const odd: string[] = [];
  /** What each call's client received, by the call's id. */
  const statusOf = new Map<string, number>();
  const runLane = async (_: unknown, index: number): Promise<void> => {
    for (let turn = index; !over.signal.aborted; turn += 1) {
      const stream = turn % 2 === 0;
      const response = await harness.post({
        model: 'openai/gpt-4o-mini',
        stream,
        messages: [{ role: 'user', content: 'Hello!' }],
      });
      const text = await response.text();
      const { status, headers } = response;
      statuses[status] = (statuses[status] ?? 0) + 1;
      statusOf.set(headers.get('x-request-id') ?? '', status);
      const isWhole = status === 200 && text.includes(stream ? '[DONE]' : '"usage"');
      const isRefusal = status === 503 && /^[1-9]\d*$/.test(headers.get('retry-after') ?? '');
      if (!isWhole && !isRefusal) odd.push(`${status} ${text.slice(-300)}`);
      if (!isWhole) await sleep(20);
    }
  };
  try {
    const calling = Promise.all(Array.from({ length: lanes }, runLane));
    let ended = 0;
    for (let cut = 0; cut < count; cut += 1) {
      await sleep(every);
      ended += (await queryDatabase(url, endConnections)).length;
    }
    await sleep(every);
    over.abort();
    await calling;
    const ledger = await openStore({ kind: 'postgres', url, connections: 1 }, '');
    while ((await ledger.sumTotals()).pendingCalls > 0) await sleep(50);
    const entries = Map.groupBy(
      (await listEntries(ledger)).filter(({ kind }) => kind !== 'credit'),
      ({ call = '' }) => call,
    );
    const joinKinds = (id: string): string =>
      (entries.get(id) ?? [])
        .map(({ kind, revenue }) => (kind === 'post' && revenue === 0n ? 'nothing' : kind))
        .join(' ');
    const wrong = [...statusOf].flatMap(([id, status]) => {
      const kinds = joinKinds(id);
      return (status === 200 ? ['reserve post'] : ['', 'reserve void']).includes(kinds)
        ? []
        : [`${id} ${status}: ${kinds}`];
    });
    for (const id of entries.keys()) if (!statusOf.has(id)) wrong.push(`${id}: no client received it`);
    const audit = await ledger.audit();
    await ledger.close();
    return { ended, statuses, odd, wrong, audit };
  } finally {
    over.abort();
    await harness.close();
    await drop();
  }
}
