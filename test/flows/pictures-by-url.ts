/** A server of pictures, and calls that name them by URL. */
import { afterAll, afterEach, beforeAll } from 'vitest';
import { fetchImages } from '../../plugins/operations/fetch-images.ts';
import { type Wire } from '../support/families.ts';
import { startPictureServer, type PictureServer } from '../support/picture-server.ts';
import { postJson } from '../support/post.ts';
import { openVendorHarness, type VendorHarness } from '../support/vendor-harness.ts';

export let server: PictureServer;
export let harness: VendorHarness;

const paths: Readonly<Record<Wire, (model: string) => string>> = {
  'chat-completions': () => '/v1/chat/completions',
  responses: () => '/v1/responses',
  messages: () => '/alpha/v1/messages',
  'generate-content': (model) => `/beta/v1beta/models/${model}:generateContent`,
};

/** A question with pictures, as a client of each protocol writes it. */
export function buildBody(wire: Wire, model: string, urls: readonly string[]): object {
  if (wire === 'chat-completions')
    return {
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            ...urls.map((url) => ({ type: 'image_url', image_url: { url } })),
          ],
        },
      ],
    };
  if (wire === 'responses')
    return {
      model,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            ...urls.map((url) => ({ type: 'input_image', image_url: url })),
          ],
        },
      ],
    };
  const buildSource = (url: string): object =>
    url.startsWith('data:')
      ? { type: 'base64', media_type: 'image/png', data: url.slice(url.indexOf(',') + 1) }
      : { type: 'url', url };
  if (wire === 'messages')
    return {
      model,
      max_tokens: 50,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            ...urls.map((url) => ({ type: 'image', source: buildSource(url) })),
          ],
        },
      ],
    };
  const buildPart = (url: string): object =>
    url.startsWith('data:')
      ? { inlineData: { mimeType: 'image/png', data: url.slice(url.indexOf(',') + 1) } }
      : { fileData: { fileUri: url } };
  return { contents: [{ role: 'user', parts: [{ text: 'What is it?' }, ...urls.map(buildPart)] }] };
}

export async function send(
  wire: Wire,
  model: string,
  urls: readonly string[],
): Promise<{ status: number; body: unknown }> {
  const headers = {
    authorization: `Bearer ${harness.key}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
  };
  const response = await postJson(
    harness.gateway.url + paths[wire](model),
    buildBody(wire, model, urls),
    headers,
  );
  return { status: response.status, body: await response.json() };
}

export const getPictureUrl = (): string => `${server.origin}/picture.png`;

export function openPictures(): void {
  beforeAll(async () => {
    server = await startPictureServer();
    harness = await openVendorHarness([
      fetchImages({
        http: true,
        privateHosts: ['127.0.0.1'],
        ports: [server.port],
        providers: ['anthropic'],
        maxImages: 12,
        parallel: 1,
        timeout: 3,
        maxBytes: 100_000,
        heldBytes: 400_000,
      }),
    ]);
  });
  afterAll(async () => {
    await harness.close();
    await server.close();
  });
  afterEach(() => {
    server.asked.splice(0);
    harness.vendors.unscript();
  });
}
