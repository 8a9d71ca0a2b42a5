/** Price updates by the command line beside a running gateway of several workers. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { openOperated, waitUntil, type Operated } from '../support/operated.ts';

let operated: Operated;
beforeAll(async () => void (operated = await openOperated()));
afterEach(() => operated.reset());

it('the command line updates prices in all workers of a running gateway, and rolls them back', async () => {
  operated.configure('workers: 2', "(await import('tollgate/plugins/operations/catalogue')).catalogue(),");
  const gateway = await operated.start();
  await waitUntil(() => gateway.printed().split(/is ready at|a worker is ready/).length === 3);
  /** The prices read over several new connections, since the system deals connections out among workers. */
  const fetchPrices = async (): Promise<Set<string>> => {
    const fetchPrice = async (): Promise<string> => {
      const response = await fetch(`${gateway.url}/v1/models/openai/gpt-4o-mini`, {
        headers: { connection: 'close' },
      });
      return /"prompt":"([\d.]+)"/.exec(await response.text())?.[1] ?? '';
    };
    return new Set(await Promise.all(Array.from({ length: 12 }, fetchPrice)));
  };
  const hasOnly = (price: string) => async (): Promise<boolean> => {
    const read = await fetchPrices();
    return read.size === 1 && read.has(price);
  };
  expect(await fetchPrices()).toEqual(new Set(['0.00000015']));
  const feed = join(operated.folder, 'feed.json');
  const cost = { input: 0.2, output: 0.8, cache_read: 0.08 };
  writeFileSync(feed, JSON.stringify({ openai: { models: { mini: { id: 'gpt-4o-mini', cost } } } }));
  expect(await operated.verb('prices', 'update', feed)).toMatchObject({ applied: 1, matched: 1 });
  await waitUntil(hasOnly('0.0000002'));
  expect(await operated.verb('prices', 'undo')).toMatchObject({ state: 'undone' });
  await waitUntil(hasOnly('0.00000015'));
  rmSync(feed);
});
