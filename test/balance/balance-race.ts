/** Many calls at once for a balance that covers one of them, through several gateways that share a ledger. */
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { expect } from 'vitest';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openStore } from '../../plugins/meters/balance/open-store.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, startProcess } from '../support/process.ts';
import { chatReply } from '../support/replies.ts';
import { serve } from '../support/serve.ts';

const dollar = 1_000_000_000n;

/** Counts its requests, and answers none before the test says so. */
async function startPatientVendor() {
  const held = new Set<ServerResponse>();
  let requestCount = 0;
  const reply = JSON.stringify(chatReply('Yes.', {}, [1, 1]));
  const { origin, close } = await serve(
    createServer((request, response) => {
      request.resume();
      requestCount += 1;
      held.add(response);
    }),
  );
  return {
    url: origin,
    close,
    asked: () => requestCount,
    answer() {
      for (const response of held) response.writeHead(200, { 'content-type': 'application/json' }).end(reply);
      held.clear();
    },
  };
}

interface RaceOptions {
  readonly store: 'sqlite' | 'postgres';
  /** The URL of the database, for `postgres`. */
  readonly url?: string;
  readonly processes: number;
  readonly calls: number;
  readonly rounds: number;
}

/** Each round has a dollar of new credit, which is what one call costs: exactly one of its calls is made. */
export async function expectOneWinnerEach({
  store: kind,
  url = '',
  processes,
  calls,
  rounds,
}: RaceOptions): Promise<void> {
  const usual = getGlobalDispatcher();
  const agent = new Agent({ connections: calls, bodyTimeout: 0, headersTimeout: 0 });
  setGlobalDispatcher(agent);
  const folder = makeDataFolder();
  const vendor = await startPatientVendor();
  const store = await openStore(kind === 'postgres' ? { kind, url, connections: 1 } : { kind }, folder);
  await store.createAccount({ name: 'racer', at: 1 });
  const key = await issueKey(store, { name: 'race', account: 'racer' });
  const environment = {
    TOLLGATE_CONFIG: 'test/balance/balance-race.config.ts',
    TOLLGATE_DATA: folder,
    TOLLGATE_LEDGER_URL: url,
    RACE_STORE: kind,
    RACE_KEY: 'vendor',
    RACE_BASE_URL: vendor.url,
  };
  const gateways = await Promise.all(Array.from({ length: processes }, () => startProcess(environment)));
  try {
    for (let round = 0; round < rounds; round += 1) {
      await store.addCredit({
        account: 'racer',
        amount: dollar,
        kind: 'bonus',
        reference: `round ${round}`,
        at: 1,
      });
      const urls = gateways.map((gateway) => gateway.url);
      expect(await runRound(urls, key?.secret ?? '', calls, vendor)).toEqual({
        statuses: { 200: 1, 402: calls - 1 },
        reached: 1,
      });
    }
    const spent = BigInt(rounds) * dollar;
    expect(await store.readBalance('racer')).toEqual({ total: spent, used: spent, pending: 0n });
    expect(await store.audit()).toMatchObject({ ok: true, findings: [] });
  } finally {
    await Promise.all(gateways.map((gateway) => gateway.stop('SIGTERM')));
    await store.close();
    await vendor.close();
    setGlobalDispatcher(usual);
    await agent.close();
  }
}

/** Returns how many calls ended with each status, and how many reached the provider. */
async function runRound(
  urls: readonly string[],
  key: string,
  calls: number,
  vendor: Awaited<ReturnType<typeof startPatientVendor>>,
) {
  const before = vendor.asked();
  const statuses: Record<number, number> = {};
  let answered = 0;
  const pending = Array.from({ length: calls }, async (_, index) => {
    const response = await postJson(
      `${urls[index % urls.length]}/v1/chat/completions`,
      { model: 'race/one', messages: [{ role: 'user', content: 'Am I the one?' }] },
      { authorization: `Bearer ${key}` },
    );
    await response.arrayBuffer();
    statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    answered += 1;
  });
  // All are answered but those the provider has: more than one of them would be too many.
  while (answered + vendor.asked() - before < calls) await sleep(10);
  vendor.answer();
  await Promise.all(pending);
  return { statuses, reached: vendor.asked() - before };
}
