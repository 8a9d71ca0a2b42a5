/**
 * Faults that an operator has to hear of: each writes a line to the log that says what to do, moves a metric,
 * and has an alert rule that reads this metric. `workers.test.ts` kills a worker, and `prices.test.ts`
 * breaks a feed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { createTroubledStore } from '../balance/database-outages.ts';
import { makeFolder } from '../support/folder.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { waitUntil } from '../support/operated.ts';
import { buildModelFacts } from '../support/test-provider.ts';

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each.close();
});

async function open(options: Parameters<typeof openHarness>[0]): Promise<Harness> {
  const harness = await openHarness(options);
  opened.push(harness);
  return harness;
}

async function readMetric({ gateway: { url } }: Harness, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((line) => line.startsWith(name)) ?? '';
  return Number(line.slice(name.length));
}

function hasLogged({ gateway: { log } }: Harness, words: string): boolean {
  return log.some((line) => line.includes(words));
}

it('the log reports once that PostgreSQL stops and once that it is back, and a metric shows it', async () => {
  const store = await createTroubledStore('stopped');
  opened.push(store);
  const harness = await open({ ledger: { store: store.options, lease: 0.3 }, plugins: [prometheus()] });
  expect(await readMetric(harness, 'tollgate_ledger_up ')).toBe(1);
  await store.begin();
  await waitUntil(() => hasLogged(harness, 'the ledger cannot be used and new calls get 503'));
  expect(await readMetric(harness, 'tollgate_ledger_up ')).toBe(0);
  await store.end();
  await waitUntil(() => hasLogged(harness, 'the ledger can be used again'));
  expect(await readMetric(harness, 'tollgate_ledger_up ')).toBe(1);
  expect(harness.gateway.log.filter((line) => line.includes('the ledger cannot be used'))).toHaveLength(1);
});

it('prices of an old date are in the log and in a metric', async () => {
  const file = join(makeFolder(), 'stale.json');
  const models = [buildModelFacts({ id: 'stale/one' })];
  writeFileSync(file, JSON.stringify({ vendor: 'stale', asOf: '2026-01-02', source: 'a test', models }));
  const stale = definePlugin({
    name: 'stale',
    options: z.strictObject({}),
    apply: ({ catalog }) =>
      catalog.offer(
        { name: 'stale', endpoints: {}, sign: (request) => request },
        readCatalogue(pathToFileURL(file)),
      ),
  });
  const harness = await open({ plugins: [stale(), catalogue(), prometheus()] });
  expect(harness.gateway.log.find((line) => line.includes('"stale"'))).toContain('tollgate prices update');
  expect(await readMetric(harness, 'tollgate_price_age_days{provider="stale"} ')).toBeGreaterThan(60);
});

const alertFile = join(import.meta.dirname, '../../examples/prometheus/alerts.yaml');
const expressions = z
  .object({ groups: z.tuple([z.object({ rules: z.array(z.object({ expr: z.string() })) })]) })
  .parse(parse(readFileSync(alertFile, 'utf8')))
  .groups[0].rules.map(({ expr }) => expr);

it('what an alert sees grow is there before it grows, or its first increase would be missed', async () => {
  const { gateway } = await open({ plugins: [prometheus()] });
  const series = (await (await fetch(`${gateway.url}/metrics`)).text()).split('\n');
  const grown = expressions.flatMap((expression) => [...expression.matchAll(/increase\((\w+)(\{[^}]*\})?/g)]);
  expect(grown.length).toBeGreaterThan(3);
  for (const [, name = '', labels = ''] of grown) {
    const [label = ''] = /"\w+"/.exec(labels) ?? [];
    expect(
      series.filter((line) => line.startsWith(name) && line.includes(label)),
      name,
    ).not.toEqual([]);
  }
});

it('each of these faults has an alert that says what to do', () => {
  for (const expression of [
    'increase(tollgate_worker_deaths_total[15m]) > 0',
    'min(tollgate_ledger_up) == 0',
    'min(tollgate_price_feed_ok) == 0',
    'max by (provider) (tollgate_price_age_days) > 60',
    'min by (provider) (tollgate_price_holidays_days) < 14',
  ])
    expect(expressions).toContain(expression);
});
