/**
 * A picture that a client names by URL reaches a provider that accepts only bytes, where the operator allows
 * it; each fault is reported at its field.
 */
import { describe, expect, it } from 'vitest';
import { fetchImages } from '../../plugins/operations/fetch-images.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { openGallery } from '../images/gallery.ts';
import { readCall, wires } from '../support/families.ts';
import { png } from '../support/picture-server.ts';
import { buildBody, harness, openPictures, getPictureUrl, send, server } from './pictures-by-url.ts';

openPictures();

const getLastBody = (): string => harness.journal().at(-1)?.received.body.toString() ?? '';
const bytes = png.toString('base64');

describe('a picture named by URL', () => {
  it.each(['chat-completions', 'responses', 'messages'] as const)(
    'reaches Google as bytes from a %s client',
    async (wire) => {
      expect(await send(wire, 'google/gemini-2.5-flash', [getPictureUrl()])).toMatchObject({ status: 200 });
      expect(getLastBody()).toContain(JSON.stringify({ inlineData: { mimeType: 'image/png', data: bytes } }));
      expect([getLastBody().includes(server.origin), server.asked.length]).toEqual([false, 1]);
    },
  );

  it.each(['messages', 'chat-completions', 'generate-content'] as const)(
    'reaches a provider that the options list as bytes, from a %s client too',
    async (wire) => {
      expect(await send(wire, 'anthropic/claude-sonnet-4-5', [getPictureUrl()])).toMatchObject({
        status: 200,
      });
      expect(getLastBody()).toContain(
        JSON.stringify({ type: 'base64', media_type: 'image/png', data: bytes }),
      );
    },
  );

  it('reaches an image model, which edits it', async () => {
    const gallery = await openGallery({
      plugins: [fetchImages({ http: true, privateHosts: ['127.0.0.1'], ports: [server.port] })],
    });
    let files: unknown;
    gallery.painter.script('gpt-image-1.5', ({ request }) => {
      files = request.files.map(({ field, bytes: sent }) => [field, sent.toString('base64')]);
      return {};
    });
    const response = await gallery.post(
      '/v1/chat/completions',
      buildBody('chat-completions', 'openai/gpt-image-1.5', [getPictureUrl()]),
    );
    expect([response.status, files]).toEqual([200, [['image', bytes]]]);
    const edit = { model: 'openai/gpt-image-1.5', prompt: 'Night', images: [{ image_url: getPictureUrl() }] };
    files = undefined;
    expect((await gallery.post('/v1/images/edits', edit)).status).toBe(200);
    expect(files).toEqual([['image', bytes]]);
    await gallery.close();
  });

  it('is passed on to providers that fetch it, and from clients of their own protocol', async () => {
    await send('chat-completions', 'openai/gpt-4o-mini', [getPictureUrl()]);
    expect(getLastBody()).toContain(getPictureUrl());
    await send('generate-content', 'google/gemini-2.5-flash', [getPictureUrl()]);
    expect(getLastBody()).toContain(getPictureUrl());
    expect(server.asked).toEqual([]);
  });

  it('is fetched once, however often requests and retries name it', async () => {
    harness.vendors.google.script('gemini-2.5-flash', { reply: { status: 503, body: {} } });
    await send('chat-completions', 'google/gemini-2.5-flash', [
      getPictureUrl(),
      getPictureUrl(),
      getPictureUrl(),
    ]);
    expect(server.asked).toHaveLength(1);
  });
});

it.each(wires)('the reservation for a picture is the same by URL as by bytes: %s', (wire) => {
  const readSize = (url: string): unknown => readCall(wire, buildBody(wire, 'house/model', [url])).size;
  const [address, data] = [readSize('https://a.example/b.png'), readSize(`data:image/png;base64,${bytes}`)];
  expect([address, data]).toMatchObject([
    { images: 1, mediaBytes: 0 },
    { images: 1, mediaBytes: 0 },
  ]);
});

describe('the catalogue', () => {
  it.each(['amazon-bedrock', 'google-vertex'])('of %s says which models accept only bytes', (name) => {
    const models = readCatalogue(new URL(`../../plugins/providers/catalogue/${name}.json`, import.meta.url));
    const claudes = models.filter(({ id }) => id.startsWith('anthropic/'));
    expect(claudes.length).toBeGreaterThan(3);
    // Bedrock takes only bytes for every model, and Vertex AI only for those of Anthropic.
    const bytesOnly = name === 'amazon-bedrock' ? models : claudes;
    expect(models.filter(({ capabilities }) => !capabilities.imageUrls)).toEqual(bytesOnly);
  });
});
