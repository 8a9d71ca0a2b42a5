/** Prices that were not checked for long: where the gateway warns, and from which day on. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, it, vi } from 'vitest';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { findPriceAges } from '../../plugins/operations/catalogue/price-dates.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { makeFolder } from '../support/folder.ts';
import { createHost, type TestHost } from '../support/host.ts';

const model = {
  upstream: 'one',
  name: 'One',
  description: 'A model.',
  created: '2026-01-01',
  contextLength: 1000,
  outputLimit: 100,
  input: ['text'],
  output: ['text'],
  price: { input: '1', output: '2' },
};

function offer({ catalog }: TestHost, vendor: string, asOf: string): void {
  const file = join(makeFolder(), `${vendor}.json`);
  const models = [{ ...model, id: `${vendor}/one` }];
  writeFileSync(file, JSON.stringify({ vendor, asOf, source: 'a test', models }));
  const provider = { name: vendor, endpoints: {}, sign: (request: never): never => request };
  catalog.offer(provider, readCatalogue(pathToFileURL(file)));
}

function createPriceHost(options: Parameters<typeof catalogue>[0] = {}): TestHost {
  const host = createHost([catalogue(options)]);
  offer(host, 'fresh', '2026-11-10');
  offer(host, 'stale', '2026-07-02');
  return host;
}

async function listFindings({ examinations }: TestHost): Promise<unknown> {
  return (await Promise.all([...examinations.list()].map(({ examine }) => examine()))).flat();
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it('the price age counts days from the oldest price of each provider', () => {
  const ages = findPriceAges(createPriceHost().catalog, Date.parse('2026-11-22T23:00Z'));
  expect(ages).toEqual([
    { provider: 'fresh', asOf: '2026-11-10', days: 12 },
    { provider: 'stale', asOf: '2026-07-02', days: 143 },
  ]);
});

it('the gateway warns at the start, doctor says what to do, and a metric shows the age', async () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-22T12:00Z'), toFake: ['Date'] });
  const host = createPriceHost();
  const warn = vi.spyOn(host.logger, 'warn');
  await host.calls.ready.promise();
  expect(warn.mock.calls.map(([facts]) => facts)).toEqual([
    { provider: 'stale', asOf: '2026-07-02', days: 143 },
  ]);
  expect(await listFindings(host)).toEqual([
    {
      subject: 'prices',
      state: 'note',
      message: 'older than 60 days: stale of 2026-07-02',
      remedy: expect.stringContaining('tollgate prices update'),
    },
  ]);
  const text = await host.metrics.metrics();
  expect(text).toContain('tollgate_price_age_days{provider="fresh"} 12');
  expect(text).toContain('tollgate_price_age_days{provider="stale"} 143');
});

it.each([
  [143, 'well'],
  [142, 'note'],
] as const)('an option sets another limit: %i days', async (maxAge, state) => {
  vi.useFakeTimers({ now: Date.parse('2026-11-22T12:00Z'), toFake: ['Date'] });
  expect(await listFindings(createPriceHost({ prices: { maxAge } }))).toMatchObject([
    { subject: 'prices', state },
  ]);
});

it('prices that an operator states cause no warning', async () => {
  const host = createHost([catalogue()]);
  expect(findPriceAges(host.catalog, Date.now())).toEqual([]);
  expect(await listFindings(host)).toEqual([]);
});
