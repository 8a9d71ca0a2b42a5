/** Vertex: newer models take one content a call, and the older ones have the wire of all its models. */
import { expect, it } from 'vitest';
import { freePrice, type Target } from '../../core/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { googleVertex } from '../../plugins/providers/google-vertex.ts';
import { createHost } from '../support/host.ts';

const { protocols, providers, catalog } = createHost([
  embeddings(),
  googleVertex({ project: 'house', location: 'europe-west1' }),
]);

/** The addresses and bodies for two contents of a client of Google's. */
function send(id: string): { url: unknown; bodies: unknown[]; lost: string[] } {
  const [offer] = catalog.find(id);
  const [wire = ''] = offer?.model.protocols ?? [];
  const protocol = protocols.get(wire);
  const path = `/v1/models/${id}:batchEmbedContents`;
  const { client } = protocols.get('embed-content');
  const requests = ['ab', 'c'].map((text, at) => ({
    content: { parts: [{ text }] },
    taskType: 'RETRIEVAL_DOCUMENT',
    title: `title ${at}`,
    outputDimensionality: 256,
  }));
  const call = client.read({ requests }, '', client.match('POST', path) ?? { operation: 'generate' }, {});
  if (!offer) throw new Error(`no ${id}`);
  const {
    body,
    others = [],
    losses,
  } = protocol.upstream.encodeRequest(call.decode(), offer.model, undefined);
  const endpoint = providers.get('google-vertex').endpoints[wire];
  const target: Target = { ...offer, protocol, price: freePrice };
  const url = typeof endpoint === 'function' ? endpoint(target, 'generate', false) : endpoint;
  const bodies = [body, ...others].map((each): unknown => JSON.parse(JSON.stringify(each)));
  return { url, bodies, lost: losses.map(({ path: lost }) => lost) };
}

const place = 'projects/house/locations/europe-west1/publishers/google';
const models = `https://europe-west1-aiplatform.googleapis.com/v1/${place}/models`;

it('Gemini Embedding 2 gets each content by itself, and a field against cutting it', () => {
  const settings = { outputDimensionality: 256, autoTruncate: false };
  expect(send('google/gemini-embedding-2')).toEqual({
    url: `${models}/gemini-embedding-2:embedContent`,
    bodies: ['ab', 'c'].map((text, at) => ({
      content: { parts: [{ text }] },
      embedContentConfig: { ...settings, title: `title ${at}` },
    })),
    lost: ['purpose'],
  });
});

it.each([
  ['google/gemini-embedding-001', 2],
  ['google/text-embedding-005', 1],
])('%s gets two texts in so many predictions: %i', (id, requests) => {
  const instances = ['ab', 'c'].map((content, at) => ({
    content,
    task_type: 'RETRIEVAL_DOCUMENT',
    title: `title ${at}`,
  }));
  const parameters = { autoTruncate: false, outputDimensionality: 256 };
  const { url, bodies, lost } = send(id);
  expect(url).toBe(`${models}/${id.replace('google/', '')}:predict`);
  expect(bodies).toEqual(
    requests === 1
      ? [{ instances, parameters }]
      : instances.map((each) => ({ instances: [each], parameters })),
  );
  expect(lost).toEqual([]);
});
