/**
 * Reasoning of earlier turns whose signature its provider no longer accepts: the gateway omits it once and
 * reports the loss.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { openVendorHarness, type VendorHarness } from '../support/vendor-harness.ts';

let harness: VendorHarness;
beforeAll(async () => {
  harness = await openVendorHarness();
});
afterEach(() => harness.vendors.unscript());

const forged = Buffer.from('forged').toString('base64');
const tool = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } };

interface Asked {
  readonly path: string;
  readonly body: object;
  /** Where the client wrote the reasoning. */
  readonly lost: string;
  /** What the provider must not receive again. */
  readonly seal: string;
}

const buildMessages = (turns: readonly object[], more: object = {}): Asked => ({
  path: '/alpha/v1/messages',
  body: {
    model: 'anthropic/claude-sonnet-4-5',
    max_tokens: 4000,
    thinking: { type: 'enabled', budget_tokens: 2000 },
    messages: turns,
    ...more,
  },
  lost: 'messages[1].content[0]',
  seal: forged,
});
const thought = { type: 'thinking', thinking: 'Hm.', signature: forged };

const calls: Readonly<Record<string, Asked>> = {
  'a thinking block': buildMessages([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [thought, { type: 'text', text: 'Hello.' }] },
    { role: 'user', content: 'And?' },
  ]),
  'a thinking block in a tool loop': buildMessages(
    [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [thought, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Nothing.' }] },
    ],
    { tools: [tool] },
  ),
  'an encrypted reasoning item': {
    path: '/v1/responses',
    body: {
      model: 'openai/gpt-5-mini',
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: forged },
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
        },
        { role: 'user', content: 'And?' },
      ],
    },
    lost: 'input[1]',
    seal: forged,
  },
  'a thought signature': {
    path: '/beta/v1beta/models/google/gemini-3-flash-preview:generateContent',
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'Look.' }] },
        { role: 'model', parts: [{ functionCall: { name: 'look', args: {} }, thoughtSignature: forged }] },
        { role: 'user', parts: [{ functionResponse: { name: 'look', response: { output: 'Nothing.' } } }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'look', description: 'Looks.' }] }],
    },
    lost: 'contents[1].parts[0]',
    seal: forged,
  },
};

function post({ path, body }: Asked): Promise<Response> {
  const headers = {
    authorization: `Bearer ${harness.key}`,
    'x-api-key': harness.key,
    'x-goog-api-key': harness.key,
    'anthropic-version': '2023-06-01',
    'content-type': 'application/json',
  };
  return postJson(harness.gateway.url + path, body, headers);
}

describe.each(Object.entries(calls))('%s with a refused signature', (_, asked) => {
  it('is omitted, and the same target gets one more attempt', async () => {
    const [ends, requests] = [harness.gateway.ends.length, harness.journal().length];
    const response = await post(asked);
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    expect(response.headers.get('x-tollgate-dropped')).toContain(asked.lost);
    const sent = harness
      .journal()
      .slice(requests)
      .map(({ received }) => received.body.toString());
    expect(sent.map((body) => body.includes(asked.seal))).toEqual([true, false]);
    const end = (await harness.gateway.ended(ends + 1))[ends];
    expect(end?.attempts.map(({ status, withoutReasoning }) => [status, withoutReasoning])).toEqual([
      [400, false],
      [200, true],
    ]);
  });
});

it('a provider that refuses the call without the reasoning too has its error passed on', async () => {
  const refusal = {
    reply: {
      status: 400,
      body: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
        },
      },
    },
  };
  harness.vendors.anthropic.script('*', refusal);
  const requests = harness.journal().length;
  const [asked] = Object.values(calls);
  const response = asked && (await post(asked));
  expect([response?.status, harness.journal().length - requests]).toEqual([400, 2]);
});
