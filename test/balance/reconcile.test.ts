/** A vendor's bill against a ledger of made calls: the exports and APIs of each vendor, and what differs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { listCommands } from '../../plugins/meters/balance/operator/table.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { request } from '../contract/bench.ts';
import { makeFolder } from '../support/folder.ts';
import { serveBills } from './billing-vendor.ts';
import { openAccount, quote, settlement } from './calls.ts';
import { openTemporary } from './ledger-file.ts';
import { ledgers } from './postgres-database.ts';

interface Made {
  readonly at: string;
  readonly model: string;
  /** What the vendor bills, in USD. */
  readonly usd: number;
  readonly usage: Readonly<Record<string, number>>;
}

let made = 0;

/** Books calls that are charged twice what the vendor bills. */
async function book(store: Store, calls: readonly Made[]): Promise<void> {
  for (const { at, model, usd, usage } of calls) {
    made += 1;
    const id = `call-${made}`;
    const target = { model, provider: model.split('/')[0] ?? '' };
    const quotes = [{ ...quote(1000n), ...target }];
    const end = Date.parse(at);
    await store.reserve(request(id, 'a', { quotes, at: end - 5 }));
    const vendor = BigInt(Math.round(usd * 1e9));
    const { input = 0, output = 0 } = usage;
    const used = { ...target, vendor, input, output, usage: JSON.stringify(usage), at: end };
    await store.settle(settlement(id, 2n * vendor, used));
  }
}

type Opened = Awaited<ReturnType<(typeof ledgers)[number][1]>>;

async function open(
  calls: readonly Made[],
  openLedger: () => Promise<Opened> = openTemporary,
): Promise<Store> {
  const { store, dispose } = await openLedger();
  onTestFinished(() => dispose());
  await openAccount(store, 'a', 10n ** 15n);
  await book(store, calls);
  return store;
}

const foundSchema = z.looseObject({
  ok: z.boolean(),
  differences: z.array(z.looseObject({ day: z.string(), model: z.string(), what: z.string() })),
});

/** Runs the command on a ledger. */
async function reconcile(store: Store, words: readonly string[], options: Record<string, string> = {}) {
  const offer = {
    listModels: () => [],
    lookAtListings: async () => undefined,
    find: () => [],
    listProtocols: () => [],
  };
  const commands = listCommands(async () => ({ ...store, close: async () => undefined }), {
    offer,
    erase: async () => undefined,
  });
  const command = commands.find(({ name }) => name.startsWith('reconcile '));
  const result = await command?.run(words, options, () => undefined);
  const found = foundSchema.parse(result?.json);
  const differences = found.differences.map(({ day, model, what }) => [day, model, what]);
  return { ...found, differences, text: result?.text, failed: result?.failed };
}

const folder = makeFolder();

function write(name: string, lines: readonly string[]): string {
  const file = join(folder, name);
  writeFileSync(file, lines.join('\r\n'));
  return file;
}

const openAiCalls: Made[] = [
  {
    at: '2026-11-02T08:00:00Z',
    model: 'openai/gpt-5.4',
    usd: 1.25,
    usage: { input: 500_000, output: 50_000 },
  },
  {
    at: '2026-11-02T23:59:00Z',
    model: 'openai/gpt-5.4',
    usd: 0.25,
    usage: { input: 100_000, output: 10_000 },
  },
  {
    at: '2026-11-03T10:00:00Z',
    model: 'openai/gpt-5.4-mini',
    usd: 0.55,
    usage: { input: 900_000, output: 90_000, webSearches: 5 },
  },
  { at: '2026-11-03T11:00:00Z', model: 'anthropic/claude-haiku-4-5', usd: 9, usage: { input: 9, output: 9 } },
];

const costHeadings =
  'start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,line_item,project_name';
const [second, third] = ['1793577600,1793664000', '1793664000,1793750400'];
const openAiCosts = [
  costHeadings,
  `1793491200,${second.split(',')[0]},2026-11-01T00:00:00+00:00,2026-11-02T00:00:00+00:00,,,,`,
  `${second},2026-11-02T00:00:00+00:00,,0.90000000000000000000000,usd,"gpt-5.4-2026-03-05, input","A, ""b"""`,
  `${second},2026-11-02T00:00:00+00:00,,0.6,usd,"gpt-5.4-2026-03-05, output",`,
  `${third},2026-11-03T00:00:00+00:00,,0.3,usd,"priority | gpt-5.4-mini-2026-03-17, input, long context",`,
  `${third},2026-11-03T00:00:00+00:00,,0.2,usd,"gpt-5.4-mini-2026-03-17 text, output",`,
  `${third},2026-11-03T00:00:00+00:00,,5e-2,usd,web search tool calls,`,
];
const openAiUsage = [
  'start_time,end_time,num_model_requests,model,input_tokens,output_tokens',
  `${second},2,gpt-5.4-2026-03-05,600000,60000`,
  `${third},1,gpt-5.4-mini-2026-03-17,900000,90000`,
];

describe.each(ledgers)('with a ledger in %s', (_, openLedger) => {
  it('a bill that agrees by day and model is found to agree, whatever the calls were charged', async () => {
    const store = await open(openAiCalls, openLedger);
    const files = [write('costs.csv', openAiCosts), write('usage.csv', openAiUsage)];
    const found = await reconcile(store, ['openai', ...files]);
    expect(found).toMatchObject({
      ok: true,
      failed: false,
      from: '2026-11-02',
      to: '2026-11-03',
      zone: 'UTC',
      bill: { cost: '2.05', input: 1_500_000, output: 150_000 },
      ledger: { cost: '2.05', input: 1_500_000, output: 150_000 },
      differences: [],
    });
    expect(found.text).toBe(
      'openai, 2026-11-02 to 2026-11-03, in UTC: the bill is 2.05 USD, the ledger has 2.05.\n' +
        'A model of a day may differ by 1 % of the bill, or by 0.01 USD or 100 tokens if that is more.\n' +
        'They agree.',
    );
  });

  it('a bill that differs is a fault, and each difference is named', async () => {
    const store = await open(
      [
        ...openAiCalls,
        { at: '2026-11-04T10:00:00Z', model: 'openai/gpt-5.4', usd: 1, usage: { input: 1000, output: 10 } },
        { at: '2026-11-02T10:00:00Z', model: 'openai/o9', usd: 0.4, usage: { input: 1000, output: 10 } },
      ],
      openLedger,
    );
    const files = [
      write('more-costs.csv', [
        ...openAiCosts.map((line) => line.replace(',0.6,usd', ',0.9,usd')),
        `${third},2026-11-03T00:00:00+00:00,,0.7,usd,"gpt-image-2, output",`,
        '1793836800,,,,3,usd,"gpt-5.4, input",',
      ]),
      write(
        'less-usage.csv',
        openAiUsage.map((line) => line.replace(',900000,90000', ',800000,90000')),
      ),
    ];
    const found = await reconcile(store, ['openai', ...files]);
    expect(found).toMatchObject({ ok: false, failed: true, hint: null });
    expect(found.differences).toEqual([
      ['2026-11-02', 'openai/gpt-5.4', 'tokens agree and money does not'],
      ['2026-11-02', 'openai/o9', 'only the ledger has it'],
      ['2026-11-03', 'openai/gpt-5.4-mini', 'tokens differ'],
      ['2026-11-03', 'gpt-image-2', 'only the bill has it'],
      ['2026-11-04', 'all models', 'only the ledger has it'],
      ['2026-11-05', 'all models', 'only the bill has it'],
    ]);
    expect(found.text).toMatch(
      /\nDAY +MODEL +BILL USD +LEDGER USD .*\n2026-11-02 +openai\/gpt-5\.4 +1\.8 +1\.5 /,
    );
  });
});

const admin = 'sk-admin-1';

it("OpenAI's API is asked page by page with the admin key, and so are its pages in a file", async () => {
  const buckets = (...results: object[][]) =>
    results.map((each, index) => ({
      object: 'bucket',
      start_time: 1793577600 + index * 86_400,
      end_time: 1793664000 + index * 86_400,
      results: each,
    }));
  const cost = (value: number, item: string) => ({
    object: 'organization.costs.result',
    amount: { value, currency: 'usd' },
    line_item: item,
    project_id: null,
  });
  const use = (model: string, input: number, output: number) => ({
    object: 'organization.usage.completions.result',
    input_tokens: input,
    output_tokens: output,
    input_cached_tokens: 9,
    num_model_requests: 2,
    model,
  });
  const costs = buckets(
    [cost(0.9, 'gpt-5.4-2026-03-05, input'), cost(0.6, 'gpt-5.4-2026-03-05, output')],
    [cost(0.5, 'gpt-5.4-mini-2026-03-17, input'), cost(0.05, 'web search tool calls')],
  );
  const usage = buckets([use('gpt-5.4-2026-03-05', 600_000, 60_000)], [use('gpt-5.4-mini', 900_000, 90_000)]);
  const vendor = await serveBills(
    {
      '/v1/organization/costs': { group: 'line_item', data: costs },
      '/v1/organization/usage/completions': { group: 'model', data: usage },
      '/v1/organization/usage/embeddings': { group: 'model', data: buckets([], []) },
    },
    ({ headers }) => headers.authorization === `Bearer ${admin}`,
    ['start_time', 'end_time'],
  );
  vi.stubEnv('OPENAI_ADMIN_KEY', admin);
  const store = await open(openAiCalls);
  const period = { from: '2026-11-02', to: '2026-11-03' };
  const found = await reconcile(store, ['openai'], { ...period, api: `${vendor.origin}/v1/organization/` });
  expect(found).toMatchObject({ ok: true, ...period, bill: { cost: '2.05', input: 1_500_000 } });
  expect(vendor.asked).toEqual(
    ['costs', 'costs', 'usage/completions', 'usage/completions', 'usage/embeddings', 'usage/embeddings'].map(
      (path) => `/v1/organization/${path} 1793577600 1793750400`,
    ),
  );
  const pages = [costs, usage].map((data) => ({ object: 'page', data, has_more: false, next_page: null }));
  const file = write('pages.json', [JSON.stringify(pages)]);
  expect(await reconcile(store, ['openai', file])).toMatchObject({ ok: true, ...period });
});

const claudeCalls: Made[] = [
  {
    at: '2026-11-02T08:00:00Z',
    model: 'anthropic/claude-haiku-4.5',
    usd: 1.2445,
    usage: { input: 1_000_000, cacheRead: 300_000, cacheWrite1h: 100_000, output: 50_000, webSearches: 1 },
  },
];

it("Anthropic's API states cents and counts each kind of input", async () => {
  const bucket = (result: object) => ({
    starting_at: '2026-11-02T00:00:00Z',
    ending_at: '2026-11-03T00:00:00Z',
    results: [result],
  });
  const tokens = { currency: 'USD', cost_type: 'tokens', model: 'claude-haiku-4-5-20251001' };
  const vendor = await serveBills(
    {
      '/v1/organizations/cost_report': {
        group: 'description',
        data: [
          bucket({ ...tokens, amount: '98.45', token_type: 'uncached_input_tokens' }),
          bucket({ ...tokens, amount: '25.0', token_type: 'output_tokens' }),
          bucket({
            currency: 'USD',
            amount: '1',
            cost_type: 'web_search',
            description: 'Web Search',
            model: null,
          }),
        ],
      },
      '/v1/organizations/usage_report/messages': {
        group: 'model',
        data: [
          bucket({
            uncached_input_tokens: 600_000,
            cache_creation: { ephemeral_1h_input_tokens: 100_000, ephemeral_5m_input_tokens: 0 },
            cache_read_input_tokens: 300_000,
            output_tokens: 50_000,
            server_tool_use: { web_search_requests: 1 },
            model: 'claude-haiku-4-5-20251001',
          }),
        ],
      },
    },
    ({ headers }) => headers['x-api-key'] === admin && headers['anthropic-version'] === '2023-06-01',
    ['starting_at', 'ending_at'],
  );
  const store = await open(claudeCalls);
  const options = { from: '2026-11-02', to: '2026-11-02', api: `${vendor.origin}/v1/organizations` };
  vi.stubEnv('ANTHROPIC_ADMIN_KEY', admin);
  expect(await reconcile(store, ['anthropic'], options)).toMatchObject({
    ok: true,
    bill: { cost: '1.2445', input: 1_000_000, output: 50_000 },
  });
  expect(vendor.asked[0]).toBe('/v1/organizations/cost_report 2026-11-02T00:00:00Z 2026-11-03T00:00:00Z');
  vi.stubEnv('ANTHROPIC_ADMIN_KEY', 'sk-user');
  await expect(reconcile(store, ['anthropic'], options)).rejects.toThrow(
    /^http:\S+cost_report replied with status 401: ANTHROPIC_ADMIN_KEY has to be an admin key$/,
  );
  vi.stubEnv('ANTHROPIC_ADMIN_KEY', '');
  await expect(reconcile(store, ['anthropic'], options)).rejects.toThrow('set ANTHROPIC_ADMIN_KEY');
  vi.stubEnv('ANTHROPIC_ADMIN_KEY', admin);
  await vendor.close();
  await expect(reconcile(store, ['anthropic'], options)).rejects.toThrow(
    /^http:\S+ could not be reached: \w/,
  );
});

it("the files of Anthropic's console have dollars and the names that people read", async () => {
  const store = await open(claudeCalls);
  const costs = write('claude-costs.csv', [
    '\u{feff}usage_date_utc,model,workspace,usage_type,context_window,token_type,cost_usd,cost_type',
    '2026-11-02,Claude Haiku 4.5,Default,message,≤ 200k,input_no_cache,0.9845,token',
    '2026-11-02,Claude Haiku 4.5,Default,message,≤ 200k,output,0.25,token',
    '2026-11-02,,Default,message,,,0.01,web_search',
  ]);
  const tokens = write('claude-tokens.csv', [
    'usage_date_utc,model_version,usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,' +
      'usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens,web_search_count',
    '2026-11-02 07:00,claude-haiku-4-5-20251001,500000,0,100000,300000,50000,1',
    '2026-11-02 08:00,claude-haiku-4-5-20251001,100000,0,0,0,0,0',
  ]);
  expect(await reconcile(store, ['anthropic', costs, tokens])).toMatchObject({ ok: true, differences: [] });
  expect((await reconcile(store, ['anthropic', tokens])).text).toMatch(/\nThey agree\.$/);
});

const geminiCalls: Made[] = [
  // 23:00 of the day before in California.
  {
    at: '2026-11-03T07:00:00Z',
    model: 'google/gemini-3.5-flash',
    usd: 1,
    usage: { input: 9000, output: 500 },
  },
  {
    at: '2026-11-03T09:00:00Z',
    model: 'google/gemini-3.5-flash-lite',
    usd: 2,
    usage: { input: 8000, output: 10 },
  },
  {
    at: '2026-11-03T09:00:00Z',
    model: 'google-vertex/gemini-3.5-flash',
    usd: 3,
    usage: { input: 100, output: 7000 },
  },
];

const preamble = ['Invoice number,1', 'Currency,USD', 'Total amount due,"$1,000.00"'];
const googleHeadings =
  'Project name,Service description,SKU description,Credit type,Cost type,Usage start date,Usage end date,' +
  'Usage amount,Usage unit,Unrounded cost ($),Cost ($)';

function buildGoogleRow(
  sku: string,
  days: string,
  amount: string,
  usd: string,
  service = 'Gemini API',
): string {
  return `p,${service},${sku},,Usage,${days},"${amount}",count,${usd},0.00`;
}

const [secondOnly, thirdOnly] = ['2026-11-02,2026-11-02', '2026-11-03,2026-11-03'];

it("Google's cost table is compared by the days of Pacific time, without machines and credits", async () => {
  const store = await open(geminiCalls);
  const rows = [
    buildGoogleRow('Generate content input token count gemini 3.5 flash text', secondOnly, '9,000', '0.4'),
    buildGoogleRow(
      'Generate content output token count gemini 3.5 flash short input text',
      secondOnly,
      '500',
      '0.6',
    ),
    buildGoogleRow('Generate content input token count gemini 3.5 flash lite text', thirdOnly, '8,000', '2'),
    buildGoogleRow('Gemini 3.5 Flash Text Output - Predictions', thirdOnly, '7000', '3', 'Vertex AI'),
    buildGoogleRow('N1 Instance Core', thirdOnly, '10', '44', 'Compute Engine'),
    'p,Gemini API,A credit,Promotion,Usage,2026-11-03,2026-11-03,,,-5,-5',
  ];
  const table = write('table.csv', [...preamble, googleHeadings, ...rows]);
  expect(await reconcile(store, ['google', table])).toMatchObject({
    ok: true,
    zone: 'America/Los_Angeles',
    from: '2026-11-02',
    to: '2026-11-03',
    bill: { cost: '6' },
  });
  const exported = write('export.csv', [
    'usage_start_time,service.description,sku.description,cost,usage.amount,currency',
    '2026-11-02 07:00:00 UTC,Gemini API,Generate content input token count gemini 3.5 flash text,1,9000,USD',
    '2026-11-03 09:00:00 UTC,Gemini API,Generate content input token count gemini 3.5 flash lite,2,8000,USD',
    '2026-11-03 09:00:00 UTC,Vertex AI,Gemini 3.5 Flash Text Output - Predictions,3,7500,USD',
  ]);
  const shifted = await reconcile(store, ['google', exported]);
  expect(shifted).toMatchObject({
    ok: false,
    zone: 'UTC',
    hint: expect.stringContaining('over all days they agree'),
  });
  expect(shifted.text).toMatch(/is the bill in this zone\?$/);
});

it('a bill with lines of several days is compared as a whole', async () => {
  const store = await open(geminiCalls);
  const month = '2026-11-01,2026-11-05';
  const table = write('month.csv', [
    googleHeadings,
    buildGoogleRow('Generate content input token count gemini 3.5 flash text', month, '9100', '4'),
    buildGoogleRow('Generate content input token count gemini 3.5 flash lite text', month, '8000', '2.5'),
  ]);
  const found = await reconcile(store, ['google', table], { tolerance: '30' });
  expect(found).toMatchObject({
    by: 'period',
    from: '2026-11-01',
    to: '2026-11-05',
    zone: 'America/Los_Angeles',
  });
  expect(found.differences).toEqual([['2026-11-01', 'google/gemini-3.5-flash', 'tokens differ']]);
  await expect(reconcile(store, ['google', table], { from: '2026-11-02' })).rejects.toThrow(
    'the bill has a line from 2026-11-01 to 2026-11-05: leave out --from and --to',
  );
});

it('what is wrong with a bill or an option is named', async () => {
  const store = await open([]);
  const fault = (words: readonly string[], options: Record<string, string> = {}) =>
    reconcile(store, words, options).then(
      () => 'none',
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );
  expect(await fault(['acme', 'x.csv'])).toBe('<vendor>: the vendors are openai, anthropic, google');
  expect(await fault(['google'])).toBe('<vendor>: it has no API of costs, so name a file that it exports');
  expect(await fault(['openai', 'none.csv'])).toMatch(/^none\.csv: ENOENT/);
  expect(await fault(['openai', 'x.csv'], { from: 'May' })).toBe('--from: it is no day, as 2027-01-31');
  expect(await fault(['openai', 'x.csv'], { tolerance: 'x' })).toBe(
    '--tolerance: it is no number of per cent',
  );
  const tryFile = (vendor: string, ...lines: string[]) => fault([vendor, write('bad.csv', lines)]);
  expect(await tryFile('openai', 'a,b', '1,2')).toMatch(
    /bad\.csv: it has no column with days, named start_time/,
  );
  expect(await tryFile('openai', costHeadings, 'May,,,,1,usd,"a, input",')).toBe('"May" is no day');
  expect(await tryFile('openai', costHeadings, `${second},,,1.2.3,usd,"a, input",`)).toBe(
    '"1.2.3" is no amount',
  );
  expect(await tryFile('openai', costHeadings, `${second},,,1,eur,"a, input",`)).toMatch(
    /the bill is in eur/,
  );
  expect(await tryFile('openai', costHeadings, `${second},,,1,usd,,`)).toMatch(
    /it has no models: export costs by line item/,
  );
  expect(await tryFile('openai', costHeadings, `"${'x'.repeat(2_000_000)}`)).toMatch(
    /a row has more than 1 MiB/,
  );
  expect(
    await tryFile('google', 'Currency,AUD', googleHeadings, buildGoogleRow('a', secondOnly, '1', '1')),
  ).toMatch(/the bill is in AUD/);
  expect(await tryFile('google', googleHeadings.replace('Cost ($)', 'Cost (€)'))).toMatch(
    /Cost \(€\)" is not in USD/,
  );
  expect(await tryFile('google', googleHeadings)).toBe('the bill has no line about a model');
  const today = new Date().toISOString().slice(0, 10);
  const begun = `${Date.parse(today) / 1000},,,,1,usd,"a, input",`;
  expect(await tryFile('openai', costHeadings, begun)).toMatch(/ \(today counts if --to names it\)$/);
  expect(await fault(['openai', write('bad.json', ['{"data":[{"results":1}]}'])])).toMatch(
    /no page of a usage API/,
  );
});
