import { harbour } from 'harbour-provider';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { startGateway, testProvider } from 'tollgate/testing';
import { expect, it } from 'vitest';

testProvider({
  name: 'harbour',
  plugin: harbour,
  env: { key: 'HARBOUR_API_KEY', baseUrl: 'HARBOUR_BASE_URL' },
  address: 'https://harbour.invalid/v1',
  paths: { 'chat-completions': { generate: '/chat/completions' } },
  credential: { authorization: 'Bearer vendor-key' },
  models: 'catalogue',
});

it("stands in a gateway of the test's own", async () => {
  const gateway = await startGateway({ plugins: [chatCompletions(), harbour({ apiKey: 'key' })] });
  const reply = await fetch(`${gateway.url}/v1/models`);
  expect(JSON.stringify(await reply.json())).toContain('harbour/small');
  await gateway.close();
});
