/** A gateway with the demo provider, and calls to it. */
import { afterAll, beforeAll, expect } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { cost } from '../../plugins/routing/cost.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { keyHeaders } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';

let gateway: TestGateway;
export let key = '';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly body: unknown;
}

export async function post(path: string, body: object, headers: Record<string, string>): Promise<Answer> {
  const response = await postJson(gateway.url + path, body, headers);
  const text = await response.text();
  return {
    status: response.status,
    type: String(response.headers.get('content-type')),
    text,
    body: /^[[{]/.test(text) ? JSON.parse(text) : undefined,
  };
}

export const text = expect.any(String);
export const number = expect.any(Number);
export const said = expect.stringContaining('You said: Ahoy');

export function openService(): void {
  beforeAll(async () => {
    gateway = await startGateway({
      plugins: [
        ...keyHeaders(),
        chatCompletions(),
        responses(),
        generateContent(),
        images(),
        demo(),
        preferences(),
        cost(),
        balance({ firstCredit: '0' }),
      ],
    });
    key = await gateway.newKey({ account: 'tester', credit: '5' });
  });
  afterAll(() => gateway.close());
}
