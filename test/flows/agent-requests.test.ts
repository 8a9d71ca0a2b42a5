/** What reaches an agent's own provider, and what agents ask beside their calls. */
import { type IncomingHttpHeaders } from 'node:http';
import { expect, it } from 'vitest';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { buildUserEntry, buildConversation } from '../support/continue-conversation.ts';
import { getModel, wires, type Crossing, type Wire } from '../support/four-wires.ts';
import { startGateway } from '../support/gateway.ts';
import { isObject } from '../support/json.ts';
import { hear } from '../support/listen.ts';
import { postJson } from '../support/post.ts';
import { acceptAnyKey } from '../support/test-provider.ts';
import {
  type Agent,
  ask,
  claudeCode,
  codex,
  command,
  geminiCli,
  openAgents,
  harness,
  shellSchema,
} from './agent-sessions.ts';

openAgents();

function readSent({ sent }: Crossing): Record<string, unknown> {
  return isObject(sent) ? sent : {};
}

it.each([
  ['Claude Code', claudeCode],
  ['Codex', codex],
  ['Gemini CLI', geminiCli],
])('the gateway passes the body of %s unchanged except for the name of the model', async (_, agent) => {
  const { client, opening } = agent;
  const { upstream } = getModel(client, 'thinking');
  harness.vendors[client].script(upstream, { text: 'Aye.' });
  const crossing = await ask(agent, client, opening);
  const expected = {
    ...agent.body(opening),
    ...(client === 'generate-content' ? {} : { model: upstream, stream: true }),
  };
  expect(readSent(crossing)).toEqual(JSON.parse(JSON.stringify(expected)));
  expect(crossing.end.losses).toEqual([]);
});

it.each<[string, Agent, IncomingHttpHeaders]>([
  [
    'Claude Code keeps its betas, known or not, its version, and what else it tells its vendor',
    claudeCode,
    {
      'anthropic-beta': claudeCode.headers['anthropic-beta'],
      'anthropic-version': '2023-06-01',
      'anthropic-dangerous-direct-browser-access': 'true',
    },
  ],
  ['Codex has none for its vendor', codex, {}],
  [
    'what a client asks of OpenAI goes to it',
    { ...codex, headers: { ...codex.headers, 'openai-beta': 'responses=experimental' } },
    { 'openai-beta': 'responses=experimental' },
  ],
  [
    'what marks the short form of Codex goes to it',
    { ...codex, headers: { ...codex.headers, 'x-openai-internal-codex-responses-lite': 'true' } },
    { 'x-openai-internal-codex-responses-lite': 'true' },
  ],
  ['Gemini CLI has none', geminiCli, {}],
])('%s; no other header of an agent reaches the provider', async (_, agent, kept) => {
  const { client } = agent;
  const recordHeaders = async (wire: Wire): Promise<IncomingHttpHeaders> => {
    harness.vendors[wire].script(getModel(wire, 'thinking').upstream, { text: 'Aye.' });
    await ask(agent, wire, agent.opening);
    return harness.vendors[wire].requests.at(-1)?.headers ?? {};
  };
  const ownWords = new Set([
    'host',
    'connection',
    'content-length',
    'content-type',
    'accept',
    'accept-encoding',
    'user-agent',
    'authorization',
    'x-api-key',
    'x-goog-api-key',
    'transfer-encoding',
    'accept-language',
    'sec-fetch-mode',
  ]);
  const headers = await recordHeaders(client);
  expect(Object.fromEntries(Object.entries(headers).filter(([name]) => !ownWords.has(name)))).toEqual(kept);
  expect([headers['user-agent'], headers['accept-encoding']]).toEqual(['tollgate', 'identity']);
  // On another wire no provider would understand them.
  const elsewhere = await recordHeaders(client === 'messages' ? 'responses' : 'messages');
  expect(Object.keys(elsewhere).filter((name) => name.includes('openai'))).toEqual([]);
  expect(elsewhere).not.toHaveProperty('anthropic-beta');
});

it.each(wires)('the gateway passes a field of %s that only a later provider knows', async (wire) => {
  const { id } = getModel(wire);
  const { text, end } = await harness.ask(wire, id, {
    ...(wire === 'messages' ? { max_tokens: 100 } : {}),
    x_later: { deep: [1] },
    ...buildConversation(wire, [buildUserEntry(wire, 'Ahoy')]),
  });
  // The strict provider does not know the field, and its error shows that the field was sent.
  expect(text).toMatch(/x_later/);
  expect(end.type === 'failed' && end.exchange.attempt.status).toBe(400);
  expect(end.losses).toEqual([]);
});

it('a strict configuration requires what older Codex omits from a message sent back', async () => {
  const { id } = getModel('responses');
  const again = {
    input: [
      ...codex.opening,
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I run it.' }] },
      { role: 'user', content: 'Well?' },
    ],
  };
  const strict = await startGateway({ plugins: [acceptAnyKey(), responses({ assistantItems: 'strict' })] });
  const response = await postJson(
    `${strict.url}/v1/responses`,
    { model: id, ...again },
    { authorization: 'Bearer any-key' },
  );
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param: 'input[3].id' } }]);
  await strict.close();
  const lenient = await harness.ask('responses', id, again);
  expect([lenient.status, lenient.headers.get('x-tollgate-defaulted')]).toEqual([
    200,
    'input[3].id,input[3].status',
  ]);
});

/** opencode by chat-completions: cache marks are on messages, parts and calls, as on Claude's own wire. */

const mark = { cache_control: { type: 'ephemeral' } };
const call = {
  id: 'call_1',
  type: 'function',
  function: { name: 'bash', arguments: JSON.stringify(command) },
};
const body = {
  tools: [
    {
      type: 'function',
      function: { name: 'bash', description: 'Runs a command.', parameters: shellSchema },
    },
  ],
  messages: [
    { role: 'system', content: 'You are an agent in a terminal.', ...mark },
    { role: 'user', content: [{ type: 'text', text: 'List the harbour.', ...mark }] },
    { role: 'assistant', content: 'I run it.', tool_calls: [{ ...call, ...mark }] },
    { role: 'tool', tool_call_id: 'call_1', content: 'boats.txt', ...mark },
  ],
};

it('the cache marks of opencode reach Claude where the client put them', async () => {
  const { id, upstream } = getModel('messages', 'thinking');
  harness.vendors.messages.script(upstream, { text: 'Three boats.' });
  const { status, sent, end } = await harness.ask('chat-completions', id, body, true);
  expect([status, end.losses]).toEqual([200, []]);
  expect(sent).toMatchObject({
    system: [{ text: 'You are an agent in a terminal.', ...mark }],
    messages: [
      { role: 'user', content: [{ text: 'List the harbour.', ...mark }] },
      { role: 'assistant', content: [{ type: 'text' }, { type: 'tool_use', ...mark }] },
      { role: 'user', content: [{ type: 'tool_result', ...mark }] },
    ],
  });
});

it('the cache marks of opencode reach Claude on tools too, and are reported as lost elsewhere', async () => {
  const marked = {
    tools: body.tools.map((tool) => ({ ...tool, ...mark })),
    messages: [{ role: 'user', content: 'List the harbour.' }],
  };
  const claude = getModel('messages', 'thinking');
  const gemini = getModel('generate-content');
  harness.vendors.messages.script(claude.upstream, { text: 'Three boats.' });
  harness.vendors['generate-content'].script(gemini.upstream, { text: 'Three boats.' });
  const reached = await harness.ask('chat-completions', claude.id, marked, true);
  expect(reached.sent).toMatchObject({ tools: [{ name: 'bash', ...mark }] });
  const missed = await harness.ask('chat-completions', gemini.id, marked);
  expect([reached, missed].map(({ end }) => end.losses.map(({ path }) => path))).toEqual([
    [],
    ['tools[0].cache_control'],
  ]);
});

it('the cache marks of opencode are reported as lost where the model caches by itself', async () => {
  const { id, upstream } = getModel('generate-content');
  harness.vendors['generate-content'].script(upstream, { text: 'Three boats.' });
  const { end } = await harness.ask('chat-completions', id, body);
  expect(end.losses.map(({ path }) => path)).toEqual([
    'messages[0].cache_control',
    'messages[1].content[0].cache_control',
    'messages[2].tool_calls[0].cache_control',
    'messages[3].cache_control',
  ]);
});

const show = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(harness.gateway.url + path, {
    ...init,
    headers: { 'x-api-key': 'any-key', ...claudeCode.headers, ...init.headers },
  });

it.each(wires)(
  'Claude Code counts the tokens of a conversation with a model of %s for free',
  async (wire) => {
    const { id } = getModel(wire, 'thinking');
    const { system, tools, messages, thinking } = JSON.parse(
      JSON.stringify(claudeCode.body(claudeCode.opening)),
    );
    const response = await show('/alpha/v1/messages/count_tokens?beta=true', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: id, system, tools, messages, thinking }),
    });
    const [status, body]: [number, unknown] = [response.status, await response.json()];
    expect([status, body]).toEqual([200, { input_tokens: expect.any(Number) }]);
    const end = (await harness.gateway.ended(harness.gateway.ends.length)).at(-1);
    expect(end).toMatchObject({ exchange: { operation: 'count' }, charge: { cost: 0n } });
  },
);

it('Claude Code gets replies when it lists a thousand models and says hello', async () => {
  expect((await show('/alpha/v1/models?limit=1000')).status).toBe(200);
  expect((await show('/alpha/api/hello', { method: 'HEAD' })).status).toBe(200);
});

it.each(wires)('Claude Code may ask again for a whole reply when its stream breaks on %s', async (wire) => {
  const { upstream, id } = getModel(wire, 'thinking');
  const events = { 'chat-completions': 3, responses: 6, messages: 5, 'generate-content': 2 }[wire];
  harness.vendors[wire].script(
    upstream,
    { text: ['I look ', 'at the ', 'harbour ', 'wall.'], cut: { how: 'end', events } },
    { text: 'Three boats.' },
  );
  const body = claudeCode.body(claudeCode.opening);
  const broken = await harness.ask('messages', id, body, true, claudeCode.headers);
  expect(broken.text).toContain('event: error');
  expect(broken.text).not.toContain('message_stop');
  const again = await harness.ask('messages', id, body, false, claudeCode.headers);
  expect([again.status, hear('messages', JSON.parse(again.text)).text]).toEqual([200, 'Three boats.']);
});

it.each(wires.filter((wire) => wire !== 'messages'))('`compaction` is refused for %s', async (wire) => {
  const messages = [{ role: 'user', content: 'x' }];
  const body = { max_tokens: 9, messages, compaction: { type: 'summarize' } };
  const { status, text, sent } = await harness.ask('messages', getModel(wire).id, body);
  expect([status, sent]).toEqual([400, undefined]);
  expect(text).toContain('understand \\"compaction\\"');
});
