/** A gateway with a provider of images, one of generate-content, an account and a key. */
import OpenAI, { toFile } from 'openai';
import { afterEach, beforeAll } from 'vitest';
import type { ConfigInput } from '../../core/config.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { google } from '../../plugins/providers/google.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startGenerateContentVendor } from '../support/vendor/generate-content.ts';
import { pixel, startImagesVendor, type ImageCall } from '../support/vendor/images.ts';
import type { Stage } from '../support/vendor/stage.ts';

export interface Gallery {
  readonly gateway: TestGateway;
  readonly painter: Stage<ImageCall>;
  readonly gemini: Stage<unknown>;
  readonly key: string;
  readonly client: OpenAI;
  /** Posts JSON, or a form, to a path of the gateway. */
  post(path: string, body: unknown): Promise<Response>;
  readUsed(): Promise<number>;
  close(): Promise<void>;
}

interface GalleryOptions {
  readonly credit?: string;
  readonly settings?: Partial<ConfigInput>;
  readonly plugins?: ConfigInput['plugins'];
}

export async function openGallery({
  credit = '100',
  settings = {},
  plugins = [],
}: GalleryOptions = {}): Promise<Gallery> {
  const painter = await startImagesVendor();
  const gemini = await startGenerateContentVendor();
  const gateway = await startGateway({
    ...settings,
    plugins: [
      bearer(),
      apiKeyHeader(),
      googleApiKey(),
      images(),
      chatCompletions(),
      responses(),
      messages(),
      generateContent(),
      openai({ apiKey: painter.key, baseUrl: painter.url }),
      google({ apiKey: gemini.key, baseUrl: gemini.url }),
      demo({ pace: 0 }),
      balance({ firstCredit: '0' }),
      ...plugins,
    ],
  });
  const key = await gateway.newKey({ account: 'tester', credit });
  const authorization = `Bearer ${key}`;
  return {
    gateway,
    painter,
    gemini,
    key,
    client: new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 }),
    post(path, body) {
      const isForm = body instanceof FormData;
      const headers = isForm ? { authorization } : { authorization, 'content-type': 'application/json' };
      return fetch(gateway.url + path, {
        method: 'POST',
        headers,
        body: isForm ? body : JSON.stringify(body),
      });
    },
    async readUsed() {
      const answer: unknown = await (
        await fetch(`${gateway.url}/v1/user/balance`, { headers: { authorization } })
      ).json();
      return typeof answer === 'object' && answer && 'used' in answer ? Number(answer.used) : NaN;
    },
    async close() {
      await gateway.close();
      await Promise.all([painter.close(), gemini.close()]);
    },
  };
}

export let gallery: Gallery;

/** Opens a gallery for the tests of a file. */
export function useGallery(): void {
  beforeAll(async () => void (gallery = await openGallery()));
  afterEach(() => {
    gallery.painter.unscript();
    gallery.gemini.unscript();
  });
}

export function makePng(shade = 9): Buffer {
  return Buffer.from(pixel(shade), 'base64');
}

/** The first bytes of a JPEG, which is all that the gateway checks. */
export const jpegBytes = Buffer.concat([
  Buffer.from('ffd8ffe000104a46494600010101', 'hex'),
  Buffer.alloc(64),
]);

export function makePngFile(name = 'picture.png', shade = 9): Promise<File> {
  return toFile(makePng(shade), name, { type: 'image/png' });
}

/** An edit as a form, with fields to add, change or leave out. */
export function buildEditForm(
  fields: Readonly<Record<string, string | undefined>> = {},
  files: readonly (readonly [string, Uint8Array, string])[] = [['image', makePng(), 'a.png']],
): FormData {
  const form = new FormData();
  const all = { model: 'openai/gpt-image-1.5', prompt: 'Make it night', quality: 'low', ...fields };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) form.append(name, value);
  for (const [name, bytes, filename] of files) form.append(name, new File([new Uint8Array(bytes)], filename));
  return form;
}

export const gpt = 'openai/gpt-image-1.5';
export const nano = 'google/gemini-2.5-flash-image';
