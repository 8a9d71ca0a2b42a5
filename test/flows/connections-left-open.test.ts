/** A Google provider that leaves its connection open after a reply. The protocol has no last event. */
import { beforeAll, expect, it } from 'vitest';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';

const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };

function chunk(text: string, more: object = {}): string {
  const candidate = { index: 0, content: { role: 'model', parts: [{ text }] }, ...more };
  return `data: ${JSON.stringify({ candidates: [candidate], usageMetadata })}\n\n`;
}

let vendor: ScriptedVendor;
let gateway: TestGateway;
const closed: Promise<void>[] = [];

beforeAll(async () => {
  vendor = await startScriptedVendor((response) => {
    closed.push(new Promise((resolve) => void response.on('close', resolve)));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk('It is '));
    response.write(chunk('me.', { finishReason: 'STOP' }));
    const source = { web: { uri: 'https://a.example/', title: 'A' } };
    setTimeout(() => response.write(chunk('', { groundingMetadata: { groundingChunks: [source] } })), 100);
  });
  gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      ...textProtocols(),
      testProvider({ name: 'house', endpoints: { 'generate-content': vendor.origin } }),
    ],
  });
});

it('keeps no client waiting, loses no chunk that follows the reason, and is disconnected', async () => {
  const messages = [{ role: 'user', content: 'Who is it?' }];
  const contents = [{ role: 'user', parts: [{ text: 'Who is it?' }] }];
  const [own, array, translated] = await Promise.all(
    [
      postJson(`${gateway.url}/beta/v1beta/models/house/model:streamGenerateContent?alt=sse`, { contents }),
      postJson(`${gateway.url}/beta/v1beta/models/house/model:streamGenerateContent`, { contents }),
      postJson(`${gateway.url}/v1/chat/completions`, { model: 'house/model', messages, stream: true }),
    ].map(async (response) => (await response).text()),
  );
  expect(own).toMatch(/It is .*me\..*a\.example/s);
  expect(JSON.parse(array ?? '')).toHaveLength(3);
  expect(translated).toMatch(/It is .*me\..*"finish_reason":"stop".*\[DONE\]/s);
  const ended = { outcome: 'completed', error: undefined, charge: { basis: 'usage', cost: 9000n } };
  expect(await gateway.ended(3)).toMatchObject([ended, ended, ended]);
  await Promise.all(closed);
});
