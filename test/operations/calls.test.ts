/**
 * The memory of past calls is bounded by bytes as well as by number: a hostile client makes long ones for
 * free.
 */
import { beforeAll, expect, it } from 'vitest';
import { calls } from '../../plugins/operations/calls.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

let gateway: TestGateway;
beforeAll(async () => {
  const refusing = tappedVendor(
    'refusing',
    ['messages'],
    () => ({ status: 400, body: '{"type":"error","error":{"type":"invalid_request_error","message":"no"}}' }),
    { contextLength: 1_000_000 },
  );
  gateway = await startGateway({
    plugins: [acceptAnyKey(), chatCompletions(), messages(), refusing, calls({ most: 100 })],
  });
});

/** Returns the call's id. */
async function call(fields: object): Promise<string> {
  const body = JSON.stringify({
    model: 'house/model',
    messages: [{ role: 'user', content: 'Hello!' }],
    ...fields,
  });
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect(response.status).toBe(400);
  await response.arrayBuffer();
  return response.headers.get('x-request-id') ?? '';
}

async function fetchCall(id: string): Promise<{ status: number; length: number }> {
  const response = await fetch(`${gateway.url}/v1/calls/${id}`);
  return { status: response.status, length: (await response.text()).length };
}

it('the memory of past calls keeps only a part of the names in a refusal', async () => {
  const id = await call({ tool_choice: { type: 'function', function: { name: 'a'.repeat(500_000) } } });
  const { status, length } = await fetchCall(id);
  expect(status).toBe(200);
  expect(length).toBeLessThan(10_000);
});

it('the memory of past calls stays within its limit for calls with long lists of losses', async () => {
  const lossy = Object.fromEntries(
    Array.from({ length: 200 }, (_, index) => [`${index}${'a'.repeat(200)}`, 1]),
  );
  const first = await call(lossy);
  const { status, length } = await fetchCall(first);
  expect(status).toBe(200);
  expect(length).toBeGreaterThan(50_000);
  let last = '';
  for (let count = 0; count < 10; count += 1) last = await call(lossy);
  expect([(await fetchCall(first)).status, (await fetchCall(last)).status]).toEqual([404, 200]);
});
