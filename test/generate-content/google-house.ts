/** A gateway and Google's SDK, with a fake of Google that gives one reply and keeps what it was asked. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { GoogleGenAI } from '@google/genai';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { google } from '../../plugins/providers/google.ts';
import { openHouse, type House } from '../support/house.ts';

interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface GoogleHouse {
  readonly house: House;
  readonly ai: GoogleGenAI;
  readonly asked: Asked[];
  reply: { readonly type: string; readonly body: string; readonly status?: number };
  post(path: string, body: unknown, key?: string): Promise<Response>;
  close(): Promise<void>;
}

export async function openGoogleHouse(): Promise<GoogleHouse> {
  const asked: Asked[] = [];
  const vendor = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    asked.push({ path: request.url ?? '', headers: request.headers, body });
    const { type, status = 200, body: said } = opened.reply;
    response.writeHead(status, { 'content-type': type }).end(said);
  }).listen(0, '127.0.0.1');
  await once(vendor, 'listening');
  const address = vendor.address();
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  const house = await openHouse({
    plugins: [googleApiKey(), generateContent(), google({ apiKey: 'googles-key', baseUrl })],
  });
  const { url } = house.gateway;
  const opened: GoogleHouse = {
    house,
    ai: new GoogleGenAI({ apiKey: house.key, httpOptions: { baseUrl: `${url}/beta` } }),
    asked,
    reply: { type: 'application/json', body: '{}' },
    post(path, body, key = house.key) {
      return fetch(`${url}/beta/v1beta/models/${path}`, {
        method: 'POST',
        headers: { 'x-goog-api-key': key },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
    },
    async close() {
      await house.close();
      vendor.close();
    },
  };
  return opened;
}
