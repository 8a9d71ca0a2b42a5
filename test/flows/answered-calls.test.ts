/**
 * Histories whose tool calls and results are not where other protocols require them, against providers that
 * refuse misplaced ones.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { openVendorHarness, type VendorHarness } from '../support/vendor-harness.ts';

let harness: VendorHarness;
beforeAll(async () => void (harness = await openVendorHarness()));
afterAll(() => harness.close());

const parameters = { type: 'object', properties: {}, additionalProperties: false };
const unanswered = {
  tools: [{ type: 'function', name: 'look', parameters, strict: true }],
  input: [
    { role: 'user', content: 'Look twice.' },
    ...['a', 'b'].map((id) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' })),
    { type: 'function_call_output', call_id: 'a', output: 'seen' },
    { role: 'user', content: 'Never mind.' },
  ],
};
const together = {
  tools: [{ functionDeclarations: [{ name: 'look', parameters: { type: 'OBJECT', properties: {} } }] }],
  contents: [
    { role: 'user', parts: [{ text: 'Look.' }] },
    {
      role: 'model',
      parts: [
        { functionCall: { name: 'look', args: {} } },
        { functionResponse: { name: 'look', response: { output: 'seen' } } },
        { text: 'I looked.' },
      ],
    },
    { role: 'user', parts: [{ text: 'And?' }] },
  ],
};

async function post(
  path: string,
  body: object,
): Promise<readonly [status: number, dropped: string, sent: string]> {
  const headers = { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' };
  const response = await postJson(harness.gateway.url + path, body, headers);
  await response.text();
  return [
    response.status,
    response.headers.get('x-tollgate-dropped') ?? '',
    harness.journal().at(-1)?.received.body.toString() ?? '',
  ];
}

it.each(['anthropic/claude-sonnet-4-5', 'google/gemini-2.5-flash', 'deepseek/deepseek-chat'])(
  '%s accepts a conversation that continued without the result of a call',
  async (model) => {
    const [status, dropped, sent] = await post('/v1/responses', { model, ...unanswered });
    expect([status, dropped]).toEqual([200, expect.stringContaining('input[2]')]);
    expect(sent.match(/was not answered/g)).toHaveLength(1);
  },
);

const orphaned = {
  tools: unanswered.tools,
  input: [
    { type: 'function_call_output', call_id: 'x', output: 'seen before' },
    { role: 'user', content: 'What was it?' },
    { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'y', output: 'seen elsewhere' },
    { type: 'function_call_output', call_id: 'a', output: 'seen' },
  ],
};

it.each(['anthropic/claude-sonnet-4-5', 'google/gemini-2.5-flash', 'deepseek/deepseek-chat'])(
  '%s accepts results whose calls the client has cut off, and both are reported',
  async (model) => {
    const [status, dropped, sent] = await post('/v1/responses', { model, ...orphaned });
    expect([status, dropped]).toEqual([200, expect.stringMatching(/input\[0\].*input\[3\]/)]);
    expect(sent).toMatch(/missing_call.*seen before.*seen elsewhere/s);
  },
);

it.each(['anthropic/claude-sonnet-4-5', 'openai/gpt-4o-mini', 'deepseek/deepseek-chat'])(
  '%s accepts a call and its result from one turn of a Gemini model',
  async (model) => {
    expect((await post(`/beta/v1beta/models/${model}:generateContent`, together))[0]).toBe(200);
  },
);

it("passes the provider's own error about such a conversation to a client of its protocol", async () => {
  const [status, dropped, sent] = await post('/v1/responses', { model: 'openai/gpt-4o-mini', ...unanswered });
  expect([status, dropped]).toEqual([400, '']);
  expect(sent).not.toContain('was not answered');
});

const searched = {
  tools: [
    { type: 'tool_search', execution: 'client' },
    { type: 'function', name: 'look', parameters, strict: true },
  ],
  input: [
    { role: 'user', content: 'Find a tool.' },
    {
      type: 'tool_search_call',
      call_id: 'search',
      execution: 'client',
      status: 'completed',
      arguments: { goal: 'look' },
    },
    { type: 'function_call_output', call_id: 'search', output: 'look' },
    { role: 'user', content: 'Go on.' },
  ],
};

it.each(['anthropic/claude-sonnet-4-5', 'google/gemini-2.5-flash', 'deepseek/deepseek-chat'])(
  '%s receives neither a tool search nor its output, and the gateway reports both losses',
  async (model) => {
    const [status, dropped, sent] = await post('/v1/responses', { model, ...searched });
    expect([status, dropped]).toEqual([200, expect.stringMatching(/input\[1\].*input\[2\]/)]);
    expect(sent).not.toContain('search');
  },
);
