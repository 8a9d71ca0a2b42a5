/**
 * Sealed reasoning goes back to the vendor that sealed it. OpenAI and xAI share this protocol, but cannot
 * read each other's state.
 */
import { describe, expect, it } from 'vitest';
import { writeSealed, type Owner } from '../../plugins/protocols/responses/encoding.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { families, readCall } from '../support/families.ts';
import { expectLinear } from '../support/linear.ts';
import { makeCall, makeModel } from './bodies.ts';

const grok = makeModel({ id: 'xai/grok-4.3' });
const reply = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'grok-4.3',
  output: [
    {
      id: 'rs_1',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: 'bm90IGZlcm5ldA',
    },
    {
      id: 'fc_1',
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'look',
      arguments: '{}',
    },
  ],
};
const ask = {
  model: 'xai/grok-4.3',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Look.' }],
  tools: [{ name: 'look', input_schema: { type: 'object' } }],
};

function listSealed(body: unknown): unknown[] {
  const items: unknown = typeof body === 'object' && body !== null && 'input' in body ? body.input : [];
  return Array.isArray(items)
    ? items.flatMap((item: object) => ('encrypted_content' in item ? [item.encrypted_content] : []))
    : [];
}

describe('state that xAI sealed', () => {
  const events = protocol.upstream.decodeReply(reply, readCall('messages', ask), grok);
  const said = families.messages.protocol.client.encodeReply(events, {
    id: 'k',
    model: grok.id,
    created: 1,
    call: readCall('messages', ask),
  });
  const content: unknown =
    typeof said === 'object' && said !== null && 'content' in said ? said.content : undefined;
  const next = {
    ...ask,
    messages: [
      ...ask.messages,
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'Seen.' }] },
    ],
  };
  const request = readCall('messages', next).decode();

  it('returns to xAI byte for byte through a client of another protocol', () => {
    expect(listSealed(protocol.upstream.encodeRequest(request, grok, undefined).body)).toEqual([
      'bm90IGZlcm5ldA',
    ]);
  });

  it('is never sent to OpenAI, and is reported as lost', () => {
    const { body, losses } = protocol.upstream.encodeRequest(
      request,
      makeModel({ id: 'openai/gpt-5.5' }),
      undefined,
    );
    expect([listSealed(body), losses.map(({ code }) => code)]).toEqual([[], ['state']]);
  });
});

describe('a conversation that moved from OpenAI to xAI', () => {
  const input = [
    { role: 'user', content: 'Hi' },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAABn' },
    { role: 'assistant', content: 'Ahoy' },
    { role: 'user', content: 'Go on' },
  ];

  it('leaves the verbatim lane and loses its sealed reasoning', () => {
    const call = makeCall({ model: 'xai/grok-4.3', input });
    expect(call.carriesState).toBe(true);
    expect(listSealed(protocol.upstream.encodeRequest(call.decode(), grok, undefined).body)).toEqual([]);
  });

  it('stays in the verbatim lane at the vendor that sealed its reasoning', () => {
    expect(makeCall({ model: 'openai/gpt-5.5', input }).carriesState).toBe(false);
    expect(
      makeCall({
        model: 'xai/grok-4.3',
        input: [{ ...input[1], encrypted_content: 'bm90IGZlcm5ldA' }, input[3]],
      }).carriesState,
    ).toBe(false);
  });
});

describe('state in envelopes', () => {
  const state = (value: string, owner: Owner): object => ({
    type: 'reasoning',
    summary: [],
    encrypted_content: writeSealed({ vendor: 'google', kind: 'signature', value }, owner),
  });
  const call = (id: string): object => ({
    type: 'function_call',
    call_id: id,
    name: 'look',
    arguments: '{}',
  });
  const decodeValues = (...input: object[]): unknown =>
    makeCall({ input })
      .decode()
      .turns.map(({ blocks }) =>
        blocks.map((block) => ('opaque' in block ? block.opaque?.map(({ value }) => value) : undefined)),
      );

  it('goes to one call: the next with its id, or the last one if none follows', () => {
    expect(
      decodeValues(
        state('1', { call: 'a' }),
        call('a'),
        state('2', { call: 'a' }),
        call('a'),
        call('b'),
        state('3', { call: 'a' }),
      ),
    ).toEqual([[['1'], ['2', '3'], undefined]]);
  });

  it('is assigned to its calls in linear time', async () => {
    await expectLinear((count) => {
      const input = [
        ...Array.from({ length: count }, () => state('1', { call: 'a' })),
        ...Array.from({ length: count }, () => call('a')),
      ];
      const [turn] = makeCall({ input }).decode().turns;
      expect(turn?.blocks.filter((block) => 'opaque' in block)).toHaveLength(1);
    }, 1000);
  });
});
