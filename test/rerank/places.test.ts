/** Google's, Jina's, Voyage's and Hugging Face's APIs through a gateway: addresses, parts and charges. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { googleVertex } from '../../plugins/providers/google-vertex.ts';
import { jina } from '../../plugins/providers/jina.ts';
import { vllm } from '../../plugins/providers/vllm.ts';
import { voyage } from '../../plugins/providers/voyage.ts';
import { startSignIn, type SignIn } from '../support/cloud/google-sign-in.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { createHost } from '../support/host.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { answerGoogle, answerJina, answerTei, answerVoyage } from './vendors.ts';

let signIn: SignIn;
let vendor: ScriptedVendor;
let gateway: TestGateway;
let apiKey: string;

const ranking = '/v1/projects/house/locations/eu/rankingConfigs/default_ranking_config:rank';

beforeAll(async () => {
  signIn = await startSignIn();
  vendor = await startScriptedVendor((response, request, body) => {
    const { url, headers } = request;
    if (url === ranking && headers.authorization === `Bearer ${signIn.token}`)
      sendJson(response, answerGoogle(JSON.parse(body)));
    else if (url === '/rerank') sendJson(response, answerTei(JSON.parse(body)));
    else if (url === '/jina/rerank') sendJson(response, answerJina(JSON.parse(body), 70));
    else if (url === '/voyage/rerank') sendJson(response, answerVoyage(JSON.parse(body), 70));
    else sendJson(response, { data: [] }, url === '/v1/models' ? 200 : 404);
  });
  const { origin: baseUrl } = vendor;
  gateway = await startGateway({
    plugins: [
      bearer(),
      rerank(),
      googleVertex({ project: 'house', location: 'europe-west1', baseUrl, credentials: signIn.account }),
      vllm({
        baseUrl: `${baseUrl}/v1`,
        models: {
          'house/bge': {
            output: ['scores'],
            protocols: ['tei-rerank'],
            price: { input: '1', output: '0' },
          },
        },
      }),
      jina({ apiKey: 'jina-key', baseUrl: `${baseUrl}/jina` }),
      voyage({ apiKey: 'voyage-key', baseUrl: `${baseUrl}/voyage` }),
      balance({}),
    ],
  });
  apiKey = await gateway.newKey({ credit: '5' });
});
afterAll(() => Promise.all([gateway.close(), vendor.close(), signIn.close()]));

async function rank(model: string, documents: readonly string[]): Promise<Response> {
  return fetch(`${gateway.url}/v1/rerank`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, query: 'what is best', documents, top_n: 2, return_documents: false }),
  });
}

const replySchema = z.looseObject({ results: z.array(z.looseObject({ index: z.int() })) });
const many = Array.from({ length: 250 }, (_, at) => 'x'.repeat(1 + ((at * 77) % 250)));

it('Google gets 200 records at once, and a search is charged for each hundred', async () => {
  const before = vendor.bodies.length;
  const response = await rank('google/semantic-ranker-default-004', many);
  const { results } = replySchema.parse(await response.json());
  expect(results.map(({ index }) => many[index]?.length)).toEqual([250, 249]);
  expect(vendor.bodies.length - before).toBe(2);
  expect(response.headers.get('x-tollgate-cost')).toBe('0.003');
  expect(gateway.ends.at(-1)).toMatchObject({ charge: { basis: 'usage', suspect: false } });
});

it('Text Embeddings Inference gets 32 texts at once, and its tokens are estimated', async () => {
  const before = vendor.bodies.length;
  const response = await rank('house/bge', many);
  const { results } = replySchema.parse(await response.json());
  expect(results.map(({ index }) => many[index]?.length)).toEqual([250, 249]);
  expect(vendor.bodies.length - before).toBe(8);
  // A quarter of the bytes of the texts, and of the query beside each.
  const bytes = many.reduce((sum, { length }) => sum + length + 'what is best'.length, 0);
  expect(response.headers.get('x-tollgate-cost')).toBe(String(Math.ceil(bytes / 4) / 1e6));
  expect(gateway.ends.at(-1)).toMatchObject({ charge: { basis: 'estimate', suspect: false } });
});

it.each(['jina/jina-reranker-v3.5', 'voyage/rerank-3'])('%s is charged by its tokens', async (model) => {
  const response = await rank(model, ['ab', 'abcd', 'a']);
  expect(await response.json()).toMatchObject({
    model,
    results: [
      { index: 1, relevance_score: 4 / 1024 },
      { index: 0, relevance_score: 2 / 1024 },
    ],
    usage: { total_tokens: 70 },
  });
  expect(response.headers.get('x-tollgate-cost')).toBe('0.0000035');
});

it.each([
  ['global', 'https://discoveryengine.googleapis.com', 'global'],
  ['us', 'https://us-discoveryengine.googleapis.com', 'us'],
  ['us-central1', 'https://us-discoveryengine.googleapis.com', 'us'],
  ['europe-west4', 'https://eu-discoveryengine.googleapis.com', 'eu'],
  ['asia-east1', 'https://discoveryengine.googleapis.com', 'global'],
])('records from %s go to %s', (location, host, area) => {
  const { providers } = createHost([googleVertex({ project: 'house', location })]);
  expect(providers.find('google-vertex')?.endpoints['google-rank']).toBe(
    `${host}/v1/projects/house/locations/${area}/rankingConfigs/default_ranking_config:rank`,
  );
});
