/**
 * Two gateways on one ledger that are replaced one after the other, again and again, under clients that know
 * both, as a load balancer would do it: a new one is ready before an old one receives the stop signal, so
 * that old and new share the file.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';
import { listEntries, computeCost, startJournallingVendor } from './killed-gateways.ts';

export interface RollingOptions {
  readonly restarts: number;
  /** Milliseconds from one replacement to the next. */
  readonly every: number;
  readonly lanes: number;
  draw(below: number): number;
}

export interface Rolling {
  /** Calls that ended with their last event. */
  readonly completed: number;
  /** How else calls ended, once each gateway had had its chance. */
  readonly failed: readonly string[];
  /** Completed calls that were not charged the cost of the provider's usage. */
  readonly wrong: readonly string[];
  /** Exit codes of the gateways that received the stop signal. */
  readonly codes: ReadonlySet<number | null>;
  /** Entries with a flag: what another process had to settle. */
  readonly flagged: readonly string[];
  readonly audit: unknown;
}

/**
 * The text of a whole reply and the call's id, from the first gateway that accepts the call; or a text that
 * says why none did.
 */
async function ask(
  gateways: readonly RunningGateway[],
  key: string,
  marker: string,
  words: number,
): Promise<{ readonly id: string; readonly text: string }> {
  let message = '';
  for (const { url } of gateways) {
    try {
      const response = await postJson(
        `${url}/v1/chat/completions`,
        {
          model: 'openai/gpt-4.1-mini',
          stream: true,
          max_tokens: 500,
          messages: [{ role: 'user', content: `${marker} words ${words}` }],
        },
        { authorization: `Bearer ${key}` },
      );
      const text = await response.text();
      if (response.status === 200) return { id: response.headers.get('x-request-id') ?? '', text };
      message = `${response.status} ${text}`;
      // A gateway that stops says so: the client asks the next one.
      if (response.status !== 503) break;
    } catch (error) {
      message = String(error instanceof Error ? error.cause : error);
    }
  }
  return { id: '', text: message };
}

export async function runRolling({ restarts, every, lanes, draw }: RollingOptions): Promise<Rolling> {
  const folder = makeDataFolder();
  const { vendor, journal } = await startJournallingVendor(10);
  const store = await openSqlite({ file: join(folder, 'ledger.db') });
  await store.createAccount({ name: 'a', at: 1 });
  await store.addCredit({ account: 'a', amount: 10n ** 15n, kind: 'bonus', reference: undefined, at: 1 });
  const key = (await issueKey(store, { name: 'rolling', account: 'a' }))?.secret ?? '';
  const environment = {
    TOLLGATE_CONFIG: 'test/balance/killed-gateways.config.ts',
    TOLLGATE_DATA: folder,
    KILLS_LEASE: '3',
    OPENAI_API_KEY: 'sk-vendor',
    OPENAI_BASE_URL: vendor.origin,
  };
  let gateways: readonly RunningGateway[] = await Promise.all([
    startProcess(environment),
    startProcess(environment),
  ]);
  const failed: string[] = [];
  const done = new Map<string, string>();
  const over = new AbortController();
  const runLane = async (_: unknown, index: number): Promise<void> => {
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const marker = `call-${index}-${turn}`;
      const { id, text } = await ask(
        (index + turn) % 2 === 0 ? gateways : gateways.toReversed(),
        key,
        marker,
        draw(60),
      );
      if (text.includes('[DONE]')) done.set(id, marker);
      else failed.push(text.slice(-300));
    }
  };
  const calling = Array.from({ length: lanes }, runLane);
  const codes = new Set<number | null>();
  try {
    for (let restart = 0; restart < restarts; restart += 1) {
      const fresh = await startProcess(environment);
      const [old, other] = gateways;
      gateways = other ? [other, fresh] : [fresh];
      await sleep(every / 2);
      codes.add((await old?.stop('SIGTERM'))?.code ?? null);
      await sleep(every / 2);
    }
    over.abort();
    await Promise.all(calling);
    for (const gateway of gateways) codes.add((await gateway.stop('SIGTERM')).code);
    const entries = await listEntries(store);
    const charged = new Map(
      entries.flatMap(({ kind, call = '', revenue }) => (kind === 'post' ? [[call, revenue]] : [])),
    );
    return {
      failed,
      codes,
      completed: done.size,
      wrong: [...done]
        .filter(([id, marker]) => charged.get(id) !== computeCost(journal.get(marker)?.words ?? 0))
        .map(([, marker]) => marker),
      flagged: entries
        .filter(({ flags }) => flags.length > 0)
        .map(({ kind, flags }) => `${kind} ${flags.join(' ')}`),
      audit: await store.audit(),
    };
  } finally {
    over.abort();
    for (const { child } of gateways) child.kill('SIGKILL');
    await store.close();
    await vendor.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
