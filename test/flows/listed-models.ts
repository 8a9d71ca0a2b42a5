/** A gateway with a few models, and its listings. */
import { beforeAll } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { deepseek } from '../../plugins/providers/deepseek.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';

export const secret = 'sk-canary-of-the-vendor';
export const upstream = 'http://upstream-canary.invalid/v1';
export const gone = { id: 'house/old', expires: '2020-01-31', successor: 'house/model' };
export let gateway: TestGateway;

/** A key that may call only the models of one owner. */
export let limitedKey: string;

export function openListings(): void {
  beforeAll(async () => {
    gateway = await startGateway({
      plugins: [
        bearer(),
        acceptAnyKey(),
        balance({ firstCredit: '0' }),
        chatCompletions(),
        messages(),
        generateContent(),
        openai({ apiKey: secret, baseUrl: upstream }),
        deepseek({ apiKey: [secret, `${secret}-2`], baseUrl: upstream }),
        testProvider({
          name: 'provider-canary',
          endpoints: { 'chat-completions': upstream },
          models: [
            { upstream: 'inner-canary', aliases: ['house/alias'] },
            { id: 'house/family/deep:free', upstream: 'inner-canary-2', expires: '2099-12-31' },
            gone,
          ],
        }),
      ],
    });
    limitedKey = await gateway.newKey({ models: 'deepseek/*' });
  });
}
