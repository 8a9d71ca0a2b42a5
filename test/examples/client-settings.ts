/** A gateway with the demo model, and the ready settings of clients with its address and key filled in. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { keyHeaders } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';

const folder = join(import.meta.dirname, '../../examples/clients');
const asWritten = { origin: 'http://127.0.0.1:8787', key: 'sk-your-key' };
let gateway: TestGateway;
export let key: string;

export function openClients(): void {
  beforeAll(async () => {
    const plugins = [
      ...keyHeaders(),
      chatCompletions(),
      responses(),
      messages(),
      generateContent(),
      demo({ pace: 0 }),
      balance(),
    ];
    gateway = await startGateway({ plugins });
    key = await gateway.newKey({ credit: '5' });
  });
  afterAll(() => gateway.close());
}

/** A settings file, with this gateway's address and key where it has those of its reader. */
export function readSettings(path: string): string {
  const text = readFileSync(join(folder, path), 'utf8');
  return text.replaceAll(asWritten.origin, gateway.url).replaceAll(asWritten.key, key);
}

/** JSON with comments on lines of their own, as Gemini CLI and opencode take it. */
export function parseCommented(text: string): unknown {
  return JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, ''));
}

export async function post(url: string, headers: Record<string, string>, body: object): Promise<string> {
  const response = await postJson(url, body, headers);
  const text = await response.text();
  expect([response.status, response.status === 200 ? '' : text]).toEqual([200, '']);
  return text;
}

/** The frames of a stream, each as its lines; Google ends its lines with two characters. */
export function splitFrames(text: string): string[][] {
  const ended = text.replaceAll('\r\n', '\n').trimEnd();
  return ended.split('\n\n').map((frame) => frame.split('\n'));
}

export const hello = 'Say pong.';
