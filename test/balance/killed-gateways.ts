/**
 * Gateways that are killed under load, one after the other on one ledger, beside one that lives. The provider
 * and the clients keep journals of their own, and the test compares the ledger with both.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Entry, Store } from '../../plugins/meters/balance/store.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';

const model = 'openai/gpt-4.1-mini';
/** What its catalogue says, in nano-USD a token. */
const rates = { input: 400, output: 1600 };
const promptTokens = 12;

/** What the provider knows of a call. */
interface Served {
  words: number;
  finished: boolean;
}

/** What a client knows of its call. */
export interface Made {
  readonly marker: string;
  /** The id of the key it was made with, which no other call has. */
  readonly key: string;
  /** Undefined if the gateway died before it sent this. */
  id: string | undefined;
  words: number;
  done: boolean;
}

/** A provider that streams as many words as the prompt asks for, slowly. */
export async function startJournallingVendor(pause: number) {
  const journal = new Map<string, Served>();
  const vendor = await startScriptedVendor(async (response, _, body) => {
    const [, marker = '', count = '0'] = /(call-[\w-]+) words (\d+)/.exec(body) ?? [];
    const served: Served = { words: 0, finished: false };
    journal.set(marker, served);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (; served.words < Number(count) && !response.destroyed; served.words += 1) {
      response.write(chunk({ content: 'word ' }));
      await sleep(pause);
    }
    if (response.destroyed) return;
    response.write(chunk({}, 'stop'));
    response.end(
      ending({
        prompt_tokens: promptTokens,
        completion_tokens: served.words,
        total_tokens: promptTokens + served.words,
      }),
    );
    served.finished = true;
  });
  return { vendor, journal };
}

export async function stream(url: string, key: string, made: Made, words: number): Promise<void> {
  try {
    const response = await postJson(
      `${url}/v1/chat/completions`,
      {
        model,
        stream: true,
        max_tokens: 500,
        messages: [{ role: 'user', content: `${made.marker} words ${words}` }],
      },
      { authorization: `Bearer ${key}` },
    );
    made.id = response.headers.get('x-request-id') ?? undefined;
    let text = '';
    for await (const part of response.body ?? []) {
      text += Buffer.from(part).toString();
      made.words = text.split('word ').length - 1;
    }
    made.done = text.includes('[DONE]');
  } catch {
    // Its gateway was killed.
  }
}

export interface KillsOptions {
  readonly cycles: number;
  /** How many streams run at once in the one that is killed, and in the one that lives. */
  readonly streams: number;
  readonly living: number;
  /** Milliseconds a gateway runs under load at most before it is killed. */
  readonly longest: number;
  /** Seconds of its lease. */
  readonly lease: number;
  /** Returns a whole number below its argument. */
  draw(below: number): number;
}

export interface Kills {
  /** Milliseconds from each restart until no call of the dead process was pending. */
  readonly resolvedAfter: readonly number[];
  /**
   * Calls that were complete for their client and whose entry differs from the cost of the provider's usage.
   */
  readonly wrong: readonly string[];
  /** Calls of dead gateways that were charged less than nothing or more than the provider had sent. */
  readonly overcharged: readonly string[];
  /** Calls the provider received and no account was charged for, whenever their gateway was killed. */
  readonly forgotten: readonly string[];
  /**
   * Calls that were charged for though the provider did not receive them, except those that count as sent:
   * these cost their input.
   */
  readonly madeUp: readonly string[];
  /** Keys for which a plugin's own tables, written with the entries, say anything else than the entries. */
  readonly unlike: readonly string[];
  /** Calls of the living gateway that another took for dead, or that were not completed. */
  readonly touched: readonly string[];
  readonly completed: number;
  readonly recovered: number;
  readonly asked: number;
  /** Those whose gateway sent no heartbeat after it had reserved. */
  readonly presumed: number;
  readonly reserved: number;
  readonly audit: Awaited<ReturnType<Store['audit']>>;
}

export async function listEntries(store: Store): Promise<Entry[]> {
  const all: Entry[] = [];
  for (
    let page = await store.listEntries({ limit: 5000 });
    page.length > 0;
    page = await store.listEntries({ after: all.at(-1)?.number, limit: 5000 })
  )
    all.push(...page);
  return all;
}

/** Waits until nothing of an owner is pending except what this allows. */
async function waitForResolution(store: Store, isNew: (call: string) => boolean): Promise<number> {
  const began = performance.now();
  for (;;) {
    const pending = await store.listPending({ limit: 10_000 });
    if (pending.every(({ call }) => isNew(call))) return performance.now() - began;
    if (performance.now() - began > 120_000)
      throw new Error(`${pending.length} reservations of the dead are still pending`);
    await sleep(50);
  }
}

export function computeCost(words: number): bigint {
  return BigInt(promptTokens * rates.input + words * rates.output);
}

export async function runKills({
  cycles,
  streams,
  living,
  longest,
  lease,
  draw,
}: KillsOptions): Promise<Kills> {
  const folder = makeDataFolder();
  const { vendor, journal } = await startJournallingVendor(10);
  const store = await openLedger(folder);
  const environment = buildEnvironment(folder, vendor.origin, lease);
  const [victims, survivors]: [Made[], Made[]] = [[], []];
  const run = async (
    gateway: RunningGateway,
    journalOf: Made[],
    name: string,
    words: number,
  ): Promise<void> => {
    const key = await issueKey(store, { name, account: 'a' });
    const made: Made = { marker: `call-${name}`, key: key?.id ?? '', id: undefined, words: 0, done: false };
    journalOf.push(made);
    await stream(gateway.url, key?.secret ?? '', made, words);
  };
  const over = new AbortController();
  const resolvedAfter: number[] = [];
  const survivor = await startProcess(environment);
  const surviving = Array.from({ length: living }, async (_, lane) => {
    for (let turn = 0; !over.signal.aborted; turn += 1)
      await run(survivor, survivors, `living-${lane}-${turn}`, 30 + draw(100));
  });
  try {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const before = new Set(
        (await store.listPending({ limit: 10_000 }))
          .map(({ call, owner }) => ({ call, owner }))
          .filter(({ owner }) => !owner.startsWith(`${survivor.child.pid}-`))
          .map(({ call }) => call),
      );
      const gateway = await startProcess(environment);
      const resolving = waitForResolution(store, (call) => !before.has(call));
      const running = Array.from({ length: streams }, (_, index) =>
        run(gateway, victims, `${cycle}-${index}`, draw(200)),
      );
      await sleep(200 + draw(longest - 200));
      // A busy machine may not have begun any; each is killed in the middle of some.
      const mine = victims.slice(-streams);
      while (!mine.some(({ words, done }) => words > 0 && !done) && !mine.every(({ done }) => done))
        await sleep(20);
      if (before.size > 0) resolvedAfter.push(await resolving);
      else await resolving;
      await gateway.stop('SIGKILL');
      await Promise.all(running);
    }
    const last = await startProcess(environment);
    over.abort();
    await Promise.all(surviving);
    resolvedAfter.push(await waitForResolution(store, () => false));
    await Promise.all([last.stop('SIGTERM'), survivor.stop('SIGTERM')]);
    return { resolvedAfter, ...(await judgeCalls(store, journal, victims, survivors)) };
  } finally {
    survivor.child.kill('SIGKILL');
    await store.close();
    await vendor.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function judgeCalls(
  store: Store,
  journal: ReadonlyMap<string, Served>,
  victims: readonly Made[],
  survivors: readonly Made[],
): Promise<Omit<Kills, 'resolvedAfter'>> {
  const entries = await listEntries(store);
  const charged = new Map<string, bigint>();
  const flagged = new Set<string>();
  for (const { call, revenue, flags, kind } of entries) {
    if (call === undefined || kind === 'reserve') continue;
    charged.set(call, (charged.get(call) ?? 0n) + revenue);
    if (flags.includes('recovered')) flagged.add(call);
  }
  const everyone = [...victims, ...survivors];
  const wrong = everyone.filter(
    ({ done, id = '', marker }) => done && charged.get(id) !== computeCost(journal.get(marker)?.words ?? 0),
  );
  const cut = everyone.filter(({ done, id }) => !done && id !== undefined);
  // An estimate counts a token for four bytes of the prompt's whole JSON, and the provider's own count is
  // less.
  const computeMost = (words: number): bigint =>
    computeCost(words) + BigInt(100 * rates.input) + BigInt(Math.ceil((words * 5) / 4) * rates.output);
  const overcharged = cut.filter(
    ({ id = '', marker }) =>
      (charged.get(id) ?? -1n) < 0n || (charged.get(id) ?? 0n) > computeMost(journal.get(marker)?.words ?? 0),
  );
  const posts = new Map(
    entries.flatMap(({ kind, key = '', reason, revenue }) =>
      kind === 'post' ? [[key, { reason, revenue }]] : [],
    ),
  );
  const forgotten = everyone.filter(
    ({ key, marker }) => journal.has(marker) && (posts.get(key)?.revenue ?? 0n) === 0n,
  );
  const madeUp = everyone.filter(({ key, marker }) => {
    const post = posts.get(key);
    return (
      post &&
      !journal.has(marker) &&
      (post.reason !== 'presumed_sent' || post.revenue > BigInt(100 * rates.input))
    );
  });
  const posted = new Map<string, unknown>();
  for (const { kind, key = '' } of entries)
    if (kind === 'reserve') posted.set(key, { key, calls: 1n, cost: posts.get(key)?.revenue ?? 0n });
  const kept = await store.readTables({
    name: 'spending',
    sql: `SELECT key, count(*) AS calls, sum(cost) AS cost FROM plugin_spending_calls GROUP BY key`,
  });
  const unlike = new Set(posted.keys());
  for (const row of kept) {
    const key = String(row.key);
    if (isDeepStrictEqual({ ...row }, posted.get(key))) unlike.delete(key);
    else unlike.add(key);
  }
  const touched = survivors.filter(({ done, id = '' }) => !done || flagged.has(id));
  return {
    wrong: wrong.map(({ marker }) => marker),
    overcharged: overcharged.map(({ marker }) => marker),
    forgotten: forgotten.map(({ marker }) => marker),
    madeUp: madeUp.map(({ marker }) => marker),
    unlike: [...unlike],
    touched: touched.map(({ marker }) => marker),
    completed: everyone.filter(({ done }) => done).length,
    recovered: flagged.size,
    asked: journal.size,
    presumed: entries.filter(({ reason }) => reason === 'presumed_sent').length,
    reserved: entries.filter(({ kind }) => kind === 'reserve').length,
    audit: await store.audit(),
  };
}

/** A ledger with one account that can pay for everything. */
async function openLedger(folder: string): Promise<Store> {
  const store = await openSqlite({ file: join(folder, 'ledger.db') });
  await store.createAccount({ name: 'a', at: 1 });
  await store.addCredit({ account: 'a', amount: 10n ** 15n, kind: 'bonus', reference: undefined, at: 1 });
  return store;
}

function buildEnvironment(folder: string, origin: string, lease: number): Record<string, string> {
  return {
    TOLLGATE_CONFIG: 'test/balance/killed-gateways.config.ts',
    TOLLGATE_DATA: folder,
    KILLS_LEASE: String(lease),
    OPENAI_API_KEY: 'sk-vendor',
    OPENAI_BASE_URL: origin,
  };
}

export interface ExtensionKills {
  readonly calls: number;
  /** Calls for which more was reserved. */
  readonly extended: number;
  /** Calls with more or less than one end, or charged more than was reserved, or less than was sent. */
  readonly wrong: readonly string[];
  readonly audit: Awaited<ReturnType<Store['audit']>>;
}

/** `asked`: the keys, each of one call, with which the dearer model was asked. */
function isCallWrong(entries: readonly Entry[], asked: ReadonlySet<string>): boolean {
  const [end, ...others] = entries.filter(({ kind, reason }) => kind !== 'reserve' && reason !== 'extended');
  const last = entries.findLast(({ kind }) => kind === 'reserve');
  if (!end || !last || others.length > 0 || end.revenue > last.reserved) return true;
  if (entries.reduce((sum, { reserved }) => sum + reserved, 0n) !== 0n) return true;
  return asked.has(end.key ?? '') && end.revenue === 0n;
}

/**
 * Gateways that are killed while many calls turn to a dearer fallback at once, each when the provider has
 * received the dearer request of a few: the others reserve more, or wait to.
 */
export async function runExtensionKills(cycles: number, calls: number): Promise<ExtensionKills> {
  const folder = makeDataFolder();
  const asked = new Set<string>();
  let enough = Promise.withResolvers<void>();
  let left = 0;
  const vendor = await startScriptedVendor((response, _, body) => {
    if (body.includes('"gpt-4.1-mini"')) return void response.writeHead(503).end();
    asked.add(/call-of-([\w-]+)/.exec(body)?.[1] ?? '');
    left -= 1;
    if (left === 0) enough.resolve();
  });
  const store = await openLedger(folder);
  const environment = buildEnvironment(folder, vendor.origin, 1);
  try {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      [left, enough] = [Math.ceil(calls / 4), Promise.withResolvers<void>()];
      const gateway = await startProcess(environment);
      const running = Array.from({ length: calls }, async (__, index) => {
        const key = await issueKey(store, { name: `${cycle}-${index}`, account: 'a' });
        const content = `call-of-${key?.id}`;
        const fields = { model, max_tokens: 500, provider: { fallback: ['openai/gpt-4.1'] } };
        await postJson(
          `${gateway.url}/v1/chat/completions`,
          { ...fields, messages: [{ role: 'user', content }] },
          { authorization: `Bearer ${key?.secret}` },
        ).catch(() => undefined);
      });
      await enough.promise;
      await gateway.stop('SIGKILL');
      await Promise.all(running);
    }
    const last = await startProcess(environment);
    await waitForResolution(store, () => false);
    await last.stop('SIGTERM');
    const entries = (await listEntries(store)).filter(({ call }) => call !== undefined);
    const each = [...Map.groupBy(entries, ({ call = '' }) => call)];
    return {
      calls: each.length,
      extended: entries.filter(({ reason }) => reason === 'extended').length,
      wrong: each.flatMap(([call, own]) => (isCallWrong(own, asked) ? [call] : [])),
      audit: await store.audit(),
    };
  } finally {
    await store.close();
    await vendor.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
