/** `npm run prices:check` names what others state differently from the catalogue. */
import { createServer } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { checkModel, type Model, type ModelFacts } from '../../core/index.ts';
import { readLiteLlm } from '../../plugins/operations/catalogue/litellm.ts';
import { readCases } from '../support/cases.ts';
import { serve } from '../support/serve.ts';
import { buildModelFacts } from '../support/test-provider.ts';
import {
  compareVendor,
  formatFindings,
  readVendorListing,
  selectRows,
  type Finding,
  type Others,
} from './compare.ts';
import { fetchListings } from './sources.ts';

const today = '2026-11-26';

/** A price file like LiteLLM's, of models that no vendor has. */
const priceFile = readCases<object>('compare.json', import.meta.url);

function buildModel(upstream: string, facts: Partial<ModelFacts> = {}): Model {
  return checkModel(buildModelFacts({ id: `house/${upstream}`, upstream, ...facts }));
}

const price = { input: '1', output: '2' };
const catalogue = [
  buildModel('plain'),
  buildModel('dear', {
    contextLength: 400_000,
    price: {
      ...price,
      cacheWrite30m: '1.25',
      cacheWrite12h: '2.4',
      tiers: [{ above: 272_000, input: '2', output: '3' }],
      modes: { fast: { input: '2', output: '4' } },
    },
  }),
  buildModel('cheap'),
  buildModel('ruled', { price: { ...price, rules: [{ name: 'peak', from: '2026-01-01', times: '2' }] } }),
  buildModel('painter', { price: { input: '1', output: '2.5' } }),
  buildModel('ours', { unconfirmed: 'no vendor says so' }),
  buildModel('past', { expires: '2026-11-25' }),
];

const facts = readLiteLlm(selectRows(priceFile, today)).get('house');

function compare(others: Others): string[] {
  return compareVendor('house', catalogue, others, today).map(
    ({ kind, model, detail }: Finding) => `${kind} ${model}: ${detail}`,
  );
}

afterEach(() => vi.unstubAllEnvs());

it('a price file says what is dearer, cheaper, new and gone, and what is unconfirmed is named too', () => {
  expect(compare({ facts })).toEqual([
    'dearer dear: input 1 → 1.5',
    'dearer dear: input above 272000 2 → 2.5',
    'dearer dear: output served fast 4 → 5',
    'dearer dear: cacheWrite12h 2.4 → 2.5',
    'cheaper cheap: cacheRead 1 → 0.1',
    'new cheap: rates served ultrafast',
    'dearer painter: output 2.5 → 3',
    'gone ours: the price file lacks it',
    'unconfirmed ours: no vendor says so',
    'new unheard: in the price file',
  ]);
});

it('a price file says nothing of a vendor that it does not know, except what is unconfirmed', () => {
  expect(compare({})).toEqual(['unconfirmed ours: no vendor says so']);
});

it('a price file becomes lines by kind, with the models of which the same is said together', () => {
  const found = compareVendor(
    'house',
    [buildModel('one'), buildModel('two'), ...catalogue],
    { facts },
    today,
  );
  const lines = formatFindings(found).split('\n');
  expect(lines[0]).toBe('new         house: rates served ultrafast: cheap');
  expect(lines).toContain('gone        house: the price file lacks it: one, two, ours');
  expect(lines.at(-2)).toBe('unconfirmed house: no vendor says so: ours');
});

describe('the list of a vendor', () => {
  it('says which models are new and gone, and which end before the catalogue says', () => {
    const listing = readVendorListing({
      data: [
        { id: 'plain', shutdown_date: '2027-01-14' },
        { id: 'dear', shutdown_date: null },
        { id: 'cheap' },
        { id: 'ruled' },
        { id: 'painter' },
        { id: 'fresh' },
      ],
    });
    expect(compare({ listing })).toEqual([
      'ends plain: the vendor shuts it down on 2027-01-14; the catalogue says nothing',
      'unconfirmed ours: no vendor says so',
      'gone ours: the vendor does not list it',
      'new fresh: in the list of the vendor',
    ]);
    const dated = [buildModel('plain', { expires: '2027-01-13' })];
    expect(compareVendor('house', dated, { listing }, today).filter(({ kind }) => kind === 'ends')).toEqual(
      [],
    );
  });

  it.each([
    ['OpenAI', { object: 'list', data: [{ id: 'm' }] }],
    ['Google', { models: [{ name: 'models/m' }] }],
    ['Together', [{ id: 'm' }]],
  ])('is read in the form of %s', (_, content) => {
    expect([...readVendorListing(content)]).toEqual([['m', undefined]]);
  });

  it('is asked for with the key in the environment, and a vendor without one is not asked', async () => {
    const asked: string[] = [];
    const vendor = await serve(
      createServer(({ url, headers }, response) => {
        const { authorization, 'x-api-key': key, 'x-goog-api-key': google } = headers;
        asked.push(`${url} ${String(authorization ?? key ?? google)}`);
        const wrong = url?.startsWith('/wrong');
        response.writeHead(wrong ? 401 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ data: [{ id: 'm', shutdown_date: '2027-01-01' }] }));
      }),
    );
    for (const [name, path] of [
      ['OPENAI', '/v1'],
      ['ANTHROPIC', ''],
      ['MISTRAL', '/wrong'],
    ]) {
      vi.stubEnv(`${name}_API_KEY`, 'key');
      vi.stubEnv(`${name}_BASE_URL`, vendor.origin + path);
    }
    vi.stubEnv('GEMINI_API_KEY', 'key');
    vi.stubEnv('GOOGLE_GEMINI_BASE_URL', vendor.origin);
    vi.stubEnv('GROQ_API_KEY', undefined);
    const faults: string[] = [];
    const listings = await fetchListings(
      ['openai', 'anthropic', 'google', 'mistral', 'groq'],
      (name, error) => void faults.push(`${name} ${String(error)}`),
    );
    expect(asked.toSorted()).toEqual([
      '/v1/models Bearer key',
      '/v1/models?limit=1000 key',
      '/v1beta/models?pageSize=1000 key',
      '/wrong/models Bearer key',
    ]);
    expect([...listings.keys()].toSorted()).toEqual(['anthropic', 'google', 'openai']);
    expect(listings.get('openai')?.get('m')).toBe('2027-01-01');
    expect(faults).toEqual([expect.stringMatching(/^mistral .* answered 401$/)]);
  });
});
