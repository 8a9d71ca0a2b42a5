/**
 * Codex and OpenAI's SDK compact a conversation with a model of any wire: the vendor is asked for a summary,
 * the client gets one sealed item, and the item becomes a message when it comes back.
 */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { getModel, wires, type Crossing, type Wire } from '../support/four-wires.ts';
import { type Json } from '../support/json.ts';
import { joinStream, readData, readObjects } from '../support/listen.ts';
import { pixel } from '../support/vendor/improvise.ts';
import type { Scenario } from '../support/vendor/index.ts';
import { codex, command, harness, openAgents } from './agent-sessions.ts';

openAgents();

const trigger = { type: 'compaction_trigger' };
const summary = 'The user wants a list of the harbour. boats.txt names three boats.';

/** A session with a call, its result and a picture. */
const history = [
  ...codex.opening,
  { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'shell', arguments: JSON.stringify(command) },
  { type: 'function_call_output', call_id: 'call_1', output: 'boats.txt' },
  {
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: 'What does the map show?' },
      { type: 'input_image', image_url: `data:image/png;base64,${pixel}` },
    ],
  },
  {
    type: 'message',
    id: 'msg_1',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'A quay.', annotations: [] }],
  },
];

function script(wire: Wire, ...scenarios: [Scenario, ...Scenario[]]): void {
  harness.vendors[wire].script(getModel(wire, 'thinking').upstream, ...scenarios);
}

function ask(wire: Wire, input: readonly object[], stream = true, more: object = {}): Promise<Crossing> {
  const { id } = getModel(wire, 'thinking');
  return harness.ask('responses', id, { ...codex.body(input), ...more }, stream, codex.headers);
}

function readReply({ text }: Crossing, stream = true): Json {
  return stream ? joinStream('responses', text) : JSON.parse(text);
}

async function compact(wire: Wire, stream = true): Promise<Json> {
  script(wire, { reasoning: 'I look back.', text: summary });
  const crossing = await ask(wire, [...history, trigger], stream);
  expect(crossing.status, crossing.text).toBe(200);
  const [item, ...others] = readObjects(readReply(crossing, stream).output);
  expect(others).toEqual([]);
  return item ?? expect.unreachable();
}

const getKeys = (item: Json): string[] => Object.keys(item).toSorted();

describe.each(wires)('a model on %s', (wire) => {
  it.each([true, false])(
    'compacts a session of Codex into one sealed item (streamed: %s)',
    async (stream) => {
      const item = await compact(wire, stream);
      expect(getKeys(item)).toEqual(['encrypted_content', 'id', 'type']);
      expect(item).toMatchObject({ type: 'compaction', id: expect.stringMatching(/^cmp_/) });
      const content = String(item.encrypted_content);
      expect(content).toMatch(/^[\w-]{100,}$/);
      expect(Buffer.from(content, 'base64url').toString('latin1')).not.toContain('boats');
    },
  );

  it('is asked for the summary behind the whole session, and may call no tool', async () => {
    script(wire, { text: summary });
    const { sent, end } = await ask(wire, [...history, trigger]);
    const body = JSON.stringify(sent);
    for (const said of ['List the harbour.', 'boats.txt', 'A quay.', pixel]) expect(body).toContain(said);
    expect(body.indexOf('Your context is about to be cleared')).toBeGreaterThan(body.indexOf('A quay.'));
    expect(body).not.toContain('compaction_trigger');
    expect(body).not.toContain('web_search');
    expect(body).toMatch(/"tool_choice":("none"|\{"type":"none"\})|"mode":"NONE"/);
    expect(end).toMatchObject({ type: 'answered', outcome: 'completed', charge: { basis: 'usage' } });
  });

  it.each([true, false])(
    'writes in plain words, whatever form the call asks for (tools: %s)',
    async (has) => {
      script(wire, { text: summary });
      const schema = { type: 'object', properties: {}, additionalProperties: false };
      const crossing = await ask(wire, [...codex.opening, trigger], false, {
        ...(has ? {} : { tools: [{ type: 'web_search' }] }),
        tool_choice: { type: 'web_search_preview' },
        max_tool_calls: 3,
        text: { format: { type: 'json_schema', name: 'answer', strict: true, schema } },
      });
      expect([crossing.status, readReply(crossing, false).output]).toMatchObject([
        200,
        [{ type: 'compaction' }],
      ]);
      expect(JSON.stringify(crossing.sent)).not.toMatch(
        /json_schema|answer|search|max_tool_calls|responseSchema/,
      );
    },
  );

  it('tells the client what the summary used, as for any other call', async () => {
    script(wire, { text: summary });
    const crossing = await ask(wire, [...history, trigger]);
    const { usage } = readReply(crossing);
    const { end } = crossing;
    const { uses } = end.type === 'answered' ? end.charge : expect.unreachable();
    const count = (unit: string): number | undefined =>
      uses.find((use) => use.unit === unit && !use.modality)?.count;
    expect(usage).toMatchObject({ input_tokens: count('input'), output_tokens: count('output') });
    expect(count('output')).toBeGreaterThan(5);
  });

  it('announces the item with the first word, and numbers its events', async () => {
    script(wire, { text: summary });
    const events = readData((await ask(wire, [...history, trigger])).text);
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.compaction.compacting',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('reads the summary as a message when the item comes back', async () => {
    const item = await compact(wire);
    script(wire, { text: 'Three.' });
    const { status, text, sent, end } = await ask(wire, [
      ...codex.opening,
      item,
      { role: 'user', content: 'How many boats?' },
    ]);
    expect(status, text).toBe(200);
    const body = JSON.stringify(sent);
    expect(body).toContain(`It replaces the messages themselves.\\n\\n${summary}`);
    expect(body.indexOf('List the harbour.')).toBeLessThan(body.indexOf(summary));
    expect(body.indexOf(summary)).toBeLessThan(body.indexOf('How many boats?'));
    expect(end.losses.map(({ path }) => path)).not.toContain(`input[${codex.opening.length}]`);
  });

  it('compacts a session that was compacted before', async () => {
    const first = await compact(wire);
    script(wire, { text: 'Still three boats.' });
    const again = await ask(wire, [first, { role: 'user', content: 'Count again.' }, trigger]);
    expect(JSON.stringify(again.sent)).toContain(summary);
    expect(readObjects(readReply(again).output)).toMatchObject([{ type: 'compaction' }]);
  });

  it.each([true, false])('fails if the output limit cuts the summary (streamed: %s)', async (stream) => {
    script(wire, { text: Array.from({ length: 100 }, (_, index) => `word${index} `) });
    const { status, text, end } = await ask(wire, [...history, trigger], stream, { max_output_tokens: 20 });
    expect(text).not.toContain('encrypted_content":"d');
    expect(text).toContain('reached the output limit before it was complete: raise that limit.');
    if (stream) {
      const last = readData(text).at(-1);
      expect(last).toMatchObject({
        type: 'response.failed',
        response: { error: { code: 'invalid_prompt' } },
      });
    } else expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param: 'max_output_tokens' } }]);
    // The vendor has done the work.
    expect(end.type === 'answered' || end.type === 'failed' ? end.charge.cost : 0n).toBeGreaterThan(0n);
  });

  it('tells a client without a limit of its own to choose another model if the summary is cut', async () => {
    const cut = { 'chat-completions': 'length', responses: 'max_output_tokens', messages: 'max_tokens' };
    const finish = wire === 'generate-content' ? 'MAX_TOKENS' : cut[wire];
    script(wire, { text: summary, finish });
    const { status, text } = await ask(wire, [...history, trigger], false);
    expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param: null } }]);
    expect(text).toContain('choose a model that may write more');
  });

  it.each(['', '   '])('fails if the summary is empty: "%s"', async (text) => {
    script(wire, { reasoning: 'I look back.', text });
    const crossing = await ask(wire, [...history, trigger], false);
    expect(crossing.status).toBeGreaterThanOrEqual(400);
    expect(crossing.text).not.toContain('compaction"');
  });

  it("returns the user's messages and the item on the path of OpenAI's SDK", async () => {
    script(wire, { text: summary });
    const client = new OpenAI({ apiKey: harness.key, baseURL: `${harness.gateway.url}/v1`, maxRetries: 0 });
    const { id } = getModel(wire, 'thinking');
    const compacted = await client.responses.compact({
      model: id,
      instructions: 'You keep the harbour.',
      input: [
        { role: 'user', content: 'List the harbour.' },
        { role: 'assistant', content: 'Three boats.' },
        { role: 'user', content: [{ type: 'input_text', text: 'And the quay?' }] },
      ],
    });
    expect(compacted).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      object: 'response.compaction',
      created_at: expect.any(Number),
      output: [
        {
          type: 'message',
          role: 'user',
          status: 'completed',
          content: [{ type: 'input_text', text: 'List the harbour.' }],
        },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And the quay?' }] },
        { type: 'compaction', encrypted_content: expect.stringMatching(/^[\w-]{100,}$/) },
      ],
      usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
    });
    expect(compacted).not.toHaveProperty('status');
    script(wire, { text: 'Three.' });
    const answer = await client.responses.create({
      model: id,
      store: false,
      input: [...compacted.output, { role: 'user', content: 'How many?' }] as OpenAI.Responses.ResponseInput,
    });
    expect(answer.output_text).toBe('Three.');
    const body = harness.vendors[wire].requests.at(-1)?.body.toString();
    expect(body).toContain(summary);
    expect(body).toContain('And the quay?');
  });
});

it.each([
  ['was forged', (content: string) => `${content.slice(0, -4)}AAAA`],
  ['was cut', (content: string) => content.slice(0, 60)],
  ['belongs to another gateway', () => Buffer.from(`tg1${'x'.repeat(80)}`).toString('base64url')],
])('an item that %s is refused by the name of its field, and no vendor is called', async (_, change) => {
  const item = await compact('messages');
  const forged = { ...item, encrypted_content: change(String(item.encrypted_content)) };
  const { status, text, sent } = await ask('messages', [...codex.opening, forged]);
  const param = `input[${codex.opening.length}].encrypted_content`;
  expect([status, JSON.parse(text), sent]).toMatchObject([400, { error: { param } }, undefined]);
  expect(text).toContain('cannot be opened');
});

it.each(wires)(
  "a model on %s is not given a compaction of OpenAI's, and the error says what to do",
  async (wire) => {
    const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAABfromOpenai' };
    const { status, text, sent } = await ask(wire, [item, ...codex.opening]);
    const param = 'input[0].encrypted_content';
    expect([status, JSON.parse(text), sent]).toMatchObject([400, { error: { param } }, undefined]);
    expect(text).toContain('compact the conversation with this model');
  },
);

it.each([
  [{ type: 'compaction' }, 'input[0].encrypted_content'],
  [{ type: 'compaction', encrypted_content: 7 }, 'input[0].encrypted_content'],
])('a compaction without its content is refused: %o', async (item, param) => {
  const { status, text } = await ask('messages', [item, ...codex.opening]);
  expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param } }]);
});

it('a compaction on the path of its own is not streamed', async () => {
  const response = await fetch(`${harness.gateway.url}/v1/responses/compact`, {
    method: 'POST',
    headers: { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: getModel('messages').id, input: 'Ahoy', stream: true }),
  });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param: 'stream' } }]);
});

it.each(wires)('a vendor of %s is not sent what Codex notes in its items for OpenAI', async (wire) => {
  const note = 'internal_chat_message_metadata_passthrough';
  script(wire, { text: 'Aye.' });
  const input = codex.opening.map((item) => ({ ...item, [note]: { turn_id: '0199' } }));
  const { status, text, sent, end } = await ask(wire, input);
  expect(status, text).toBe(200);
  expect(JSON.stringify(sent)).not.toContain(note);
  expect(end.losses.map(({ path }) => path)).toEqual(
    expect.arrayContaining(input.map((_, index) => `input[${index}].${note}`)),
  );
});

it.each([true, false])(
  'a vendor that does not compact by itself is not asked to, and the client reads so (streamed: %s)',
  async (stream) => {
    script('responses', { text: 'Aye.' });
    const edits = [{ type: 'compaction', compact_threshold: 1000 }];
    const crossing = await ask('responses', codex.opening, stream, { context_management: edits });
    expect([crossing.status, crossing.headers.get('x-tollgate-dropped')]).toEqual([
      200,
      'context_management',
    ]);
    expect(crossing.sent).not.toHaveProperty('context_management');
  },
);
