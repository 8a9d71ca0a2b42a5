/**
 * A gateway whose prices change again and again while calls run: what each call was quoted at, and what it
 * was charged.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { openOperated, waitUntil } from '../support/operated.ts';
import { buildModelFacts } from '../support/test-provider.ts';

const model = 'house/model';

function buildCatalogue(price: string): string {
  return JSON.stringify({
    vendor: 'house',
    asOf: '2026-01-01',
    source: 'made up',
    models: [buildModelFacts({ id: model, upstream: 'gpt-4o-mini', price: { input: price, output: price } })],
  });
}

interface RepricingOptions {
  readonly changes: number;
  /** Milliseconds from one change to the next, and how often the configuration is reloaded meanwhile. */
  readonly every: number;
  readonly readings: number;
  /** How many calls run at a time, each of them for about so many milliseconds. */
  readonly lanes: number;
  readonly call: number;
}

function countReads(printed: string): number {
  return printed.split('the configuration was read again').length - 1;
}

/** Returns how many calls were made, at how many versions of the price, and how many a new price overtook. */
export async function runRepricing({ changes, every, readings, lanes, call }: RepricingOptions) {
  const operated = await openOperated();
  try {
    const { vendors, folder, configure } = operated;
    const file = join(folder, 'models.json');
    writeFileSync(file, buildCatalogue('1'));
    const provider =
      "{ name: 'house', env: { key: 'HOUSE_KEY', baseUrl: 'HOUSE_URL' }, endpoints: { 'chat-completions': " +
      `'/chat/completions' }, models: new URL(${JSON.stringify(pathToFileURL(file).href)}) }`;
    configure('', `defineProvider(${provider})()`);
    const gateway = await operated.start({ HOUSE_KEY: vendors.openai.key, HOUSE_URL: vendors.openai.url });
    vendors.script('gpt-4o-mini', {
      text: ['one ', 'two ', 'three ', 'four ', 'five'],
      delayEvents: call / 8,
    });
    const statuses: Record<number, number> = {};
    let ended = 0;
    const over = new AbortController();
    const runLane = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const response = await operated.post(gateway, '/v1/chat/completions', {
          model,
          stream: true,
          messages: [{ role: 'user', content: 'Hello!' }],
        });
        await response.text();
        statuses[response.status] = (statuses[response.status] ?? 0) + 1;
        ended += 1;
      }
    };
    const calling = Array.from({ length: lanes }, runLane);
    await waitUntil(() => ended > 0);
    for (let change = 2; change < changes + 2; change += 1) {
      writeFileSync(file, buildCatalogue(`${change}`));
      const before = countReads(gateway.printed());
      for (let reading = 0; reading < readings; reading += 1) {
        gateway.child.kill('SIGHUP');
        await sleep(every / readings);
      }
      await waitUntil(() => countReads(gateway.printed()) > before);
      // After these, a call has both begun and ended at the new price.
      const enough = ended + 2 * lanes;
      await waitUntil(() => ended >= enough);
    }
    over.abort();
    await Promise.all(calling);
    await gateway.stop('SIGTERM');
    expect(Object.keys(statuses)).toEqual(['200']);
    expect(await operated.audit()).toMatchObject({ ok: true, pending: 0, findings: [] });
    return { calls: statuses[200], ...(await expectQuotedPrices(join(folder, 'ledger.db'))) };
  } finally {
    await operated.reset();
  }
}

/** Each call is charged by the version of the price that it was quoted at. */
async function expectQuotedPrices(file: string) {
  const store = await openSqlite({ file });
  const entries = await store.listEntries({ limit: 1_000_000, kinds: ['reserve', 'post'] });
  await store.close();
  const quoted = new Map<string, string>();
  const versions = new Set<string>();
  let overtaken = 0;
  let newest = '';
  for (const { kind, call = '', price = '' } of entries) {
    if (kind === 'reserve') {
      quoted.set(call, price);
      newest = price;
      continue;
    }
    versions.add(price);
    expect([call, quoted.get(call)]).toEqual([call, price]);
    if (newest !== price) overtaken += 1;
  }
  return { versions: versions.size, overtaken };
}
