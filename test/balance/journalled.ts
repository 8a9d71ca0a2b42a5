/**
 * Gateways in processes of their own on one ledger. Their provider and their clients keep journals, which a
 * test compares with the ledger.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openStore, type StoreOptions } from '../../plugins/meters/balance/open-store.ts';
import type { Entry, Store } from '../../plugins/meters/balance/store.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';
import { openAccount } from './calls.ts';

export const model = 'openai/gpt-4.1-mini';
/** What its catalogue says, in nano-USD a token. */
export const rates = { input: 400, output: 1600 };
const promptTokens = 12;

/** What the provider knows of a call. */
export interface Served {
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
async function startJournallingVendor(pause: number) {
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

async function stream(url: string, key: string, made: Made, words: number): Promise<void> {
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

export function computeCost(words: number): bigint {
  return BigInt(promptTokens * rates.input + words * rates.output);
}

export interface JournalledOptions {
  /** Seconds of the gateways' lease. */
  readonly lease: number;
  /** Milliseconds from one word of the provider to the next. */
  readonly pause?: number;
  /** The URL of the database that has the ledger; without one it is a file. */
  readonly database?: string | undefined;
}

/** A ledger with one account that can pay for everything, and a key of it. */
export async function openJournalled({ lease, pause = 10, database }: JournalledOptions) {
  const folder = makeDataFolder();
  const { vendor, journal } = await startJournallingVendor(pause);
  const options: StoreOptions =
    database === undefined ? { kind: 'sqlite' } : { kind: 'postgres', url: database, connections: 1 };
  const store = await openStore(options, folder);
  await openAccount(store, 'a', 10n ** 15n);
  const running = new Set<RunningGateway>();

  /** Makes a call with a key of its own. */
  async function call(
    gateway: RunningGateway,
    name: string,
    words: number,
    made: Made[] = [],
  ): Promise<Made> {
    const key = await issueKey(store, { name, account: 'a' });
    const one: Made = { marker: `call-${name}`, key: key?.id ?? '', id: undefined, words: 0, done: false };
    made.push(one);
    await stream(gateway.url, key?.secret ?? '', one, words);
    return one;
  }

  return {
    vendor,
    journal,
    store,
    call,
    file: join(folder, 'ledger.db'),
    async start(environment: Readonly<Record<string, string>> = {}): Promise<RunningGateway> {
      const gateway = await startProcess({
        TOLLGATE_CONFIG: 'test/balance/journalled.config.ts',
        TOLLGATE_DATA: folder,
        JOURNALLED_LEASE: String(lease),
        JOURNALLED_LEDGER: database ?? '',
        OPENAI_API_KEY: 'sk-vendor',
        OPENAI_BASE_URL: vendor.origin,
        ...environment,
      });
      running.add(gateway);
      return gateway;
    },
    /** Begins streams of so many words, and waits until each client has read one. */
    async begin(gateway: RunningGateway, streams: number, words: number, name = 'one') {
      const calls: Made[] = [];
      const over = Promise.all(
        Array.from({ length: streams }, (_, index) => call(gateway, `${name}-${index}`, words, calls)),
      );
      while (calls.length < streams || calls.some((made) => made.words === 0)) await sleep(20);
      return { calls, over };
    },
    async waitUntilSettled(): Promise<void> {
      while ((await store.listPending({ limit: 1 })).length > 0) await sleep(100);
    },
    async close(): Promise<void> {
      for (const { child } of running) child.kill('SIGKILL');
      await store.close();
      await vendor.close();
    },
  };
}

/** Calls that another gateway settled than the one that made them. */
export async function listRecovered(store: Store): Promise<Set<string | undefined>> {
  const entries = await listEntries(store);
  return new Set(entries.flatMap(({ call, flags }) => (flags.includes('recovered') ? [call] : [])));
}

export async function expectSoundLedger(store: Store): Promise<void> {
  expect(await store.audit()).toMatchObject({ ok: true, pending: 0, findings: [] });
}
