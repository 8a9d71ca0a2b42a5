/** A gateway and Google's SDK, with a fake of Google that gives one reply and keeps what it was asked. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { GoogleGenAI } from '@google/genai';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { google } from '../../plugins/providers/google.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { serve } from '../support/serve.ts';

interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface GoogleHouse {
  readonly harness: Harness;
  readonly ai: GoogleGenAI;
  readonly asked: Asked[];
  reply: { readonly type: string; readonly body: string; readonly status?: number };
  post(path: string, body: unknown, key?: string): Promise<Response>;
  close(): Promise<void>;
}

export async function openGoogleHouse(): Promise<GoogleHouse> {
  const requests: Asked[] = [];
  const vendor = await serve(
    createServer(async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync(request)).toString();
      requests.push({ path: request.url ?? '', headers: request.headers, body });
      const { type, status = 200, body: said } = opened.reply;
      response.writeHead(status, { 'content-type': type }).end(said);
    }),
  );
  const harness = await openHarness({
    plugins: [googleApiKey(), generateContent(), google({ apiKey: 'googles-key', baseUrl: vendor.origin })],
  });
  const { url } = harness.gateway;
  const opened: GoogleHouse = {
    harness,
    ai: new GoogleGenAI({ apiKey: harness.key, httpOptions: { baseUrl: `${url}/beta` } }),
    asked: requests,
    reply: { type: 'application/json', body: '{}' },
    post(path, body, key = harness.key) {
      return fetch(`${url}/beta/v1beta/models/${path}`, {
        method: 'POST',
        headers: { 'x-goog-api-key': key },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
    },
    async close() {
      await harness.close();
      await vendor.close();
    },
  };
  return opened;
}
