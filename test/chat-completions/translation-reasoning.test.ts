import { describe, expect, it } from 'vitest';
import type { CanonicalEvent, ClientCall, Opaque, Turn } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { envelopeMark } from '../../plugins/shared/wire-kit/envelope.ts';
import { requireModel } from '../providers/catalogues.ts';
import { isObject } from '../support/json.ts';
import { ahoy, assistant, call, result, tool } from '../support/turns.ts';
import { makeCall, makeModel, encode } from './bodies.ts';

describe('sealed reasoning', () => {
  const sealed: Turn = assistant(
    {
      type: 'reasoning',
      text: 'hm',
      opaque: [{ vendor: 'anthropic', kind: 'signature', value: 'c2VhbA==' }],
    },
    'a',
  );
  const turns = [ahoy, sealed, ahoy];

  it('goes back to its own vendor byte for byte', () => {
    const { body, lost } = encode({ turns }, makeModel({ id: 'anthropic/claude' }));
    expect(body.messages).toMatchObject([
      {},
      {
        content: 'a',
        reasoning_details: [
          { type: 'reasoning.text', format: 'anthropic-claude-v1', text: 'hm', signature: 'c2VhbA==' },
        ],
      },
      {},
    ]);
    expect(lost).toEqual([]);
  });

  it('is reported as lost for another vendor, whichever protocol it came from', () => {
    expect(encode({ turns })).toMatchObject({
      body: { messages: [{}, { role: 'assistant', content: 'a' }, {}] },
      lost: ['turns[1].blocks[0]'],
    });
    const { turns: own } = makeCall({
      messages: [
        { role: 'user', content: 'x' },
        {
          role: 'assistant',
          content: 'a',
          reasoning_details: [{ type: 'reasoning.encrypted', data: 'xx', format: 'google-gemini-v1' }],
        },
      ],
    }).decode();
    expect(encode({ turns: own }).lost).toEqual(['turns[1].blocks[0]']);
  });

  it('is not replaced by unsealed text', () => {
    expect(encode({ turns: [assistant({ type: 'reasoning', text: 'hm' })] })).toMatchObject({
      body: { messages: [{ role: 'assistant', content: '' }] },
      lost: ['turns[0].blocks[0]'],
    });
  });

  it('goes back as text to its own vendor if the seal is empty', () => {
    const block = {
      type: 'reasoning',
      text: 'hm',
      opaque: [{ vendor: 'deepseek', kind: 'signature', value: '' }],
    } as const;
    const { body } = encode(
      {
        turns: [assistant({ ...block, opaque: [...block.opaque] }, 'a')],
      },
      makeModel({ id: 'deepseek/deepseek-v4-flash' }),
    );
    expect(body.messages).toEqual([{ role: 'assistant', content: 'a', reasoning_content: 'hm' }]);
  });
});

describe('a model that needs its reasoning back', () => {
  const deepseek = makeModel({
    id: 'deepseek/deepseek-v4-pro',
    capabilities: {
      reasoning: { style: 'effort', efforts: ['high', 'max'] },
      wire: { 'chat-completions': { extras: false, thinkingMode: true } },
    },
  });

  it('gets a blank in every assistant message if the reasoning is gone', () => {
    const { body } = encode(
      {
        turns: [ahoy, assistant(call('c1')), tool(result('c1', 'y')), assistant('a'), ahoy],
      },
      deepseek,
    );
    expect(body.messages).toMatchObject([
      {},
      { reasoning_content: ' ', tool_calls: [{ id: 'c1' }] },
      { role: 'tool' },
      { content: 'a', reasoning_content: ' ' },
      {},
    ]);
  });

  it('does not get what a client of this protocol left out', () => {
    const { turns } = makeCall({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: 'a' },
      ],
    }).decode();
    const { body } = protocol.upstream.encodeRequest({ ...makeCall().decode(), turns }, deepseek, undefined);
    expect(JSON.parse(JSON.stringify(body))).toMatchObject({
      messages: [{}, { role: 'assistant', content: 'a' }],
    });
    expect(JSON.stringify(body)).not.toContain('reasoning_content');
  });

  it('turns thinking off by its own field if the client wants no reasoning', () => {
    for (const reasoning of [{ effort: 'none' }, { budget: 0 }]) {
      const { body, lost } = encode({ reasoning }, deepseek);
      expect(body).toMatchObject({ thinking: { type: 'disabled' } });
      expect(body).not.toHaveProperty('reasoning_effort');
      expect(lost).toEqual([]);
    }
  });
});

describe.each([
  ['Together', {}, { reasoning: { enabled: true } }, { reasoning: { enabled: false } }],
  ['Kimi', { thinkingMode: true }, { thinking: { type: 'enabled' } }, { thinking: { type: 'disabled' } }],
  ['Alibaba', { enableThinking: true }, { enable_thinking: true }, { enable_thinking: false }],
] as const)("a model that only turns reasoning on and off, in %s's way", (_, flags, on, off) => {
  const model = makeModel({
    capabilities: {
      reasoning: { style: 'toggle', canDisable: true },
      wire: { 'chat-completions': { extras: false, ...flags } },
    },
  });

  it('turns it off without a loss', () => {
    for (const reasoning of [{ effort: 'none' }, { budget: 0 }])
      expect(encode({ reasoning }, model)).toMatchObject({ body: off, lost: [] });
  });

  it('turns it on without the effort, which is reported', () => {
    const { body, lost } = encode({ reasoning: { effort: 'low' } }, model);
    expect(body).toMatchObject(on);
    expect(body).not.toHaveProperty('reasoning_effort');
    expect(lost).toEqual(['reasoning.effort']);
    expect(encode({ reasoning: { budget: 2000 } }, model).lost).toEqual(['reasoning.budget']);
  });
});

it("an effort becomes the vendor's own word for reasoning, not none", () => {
  const model = makeModel({ capabilities: { reasoning: { style: 'effort', efforts: ['none', 'default'] } } });
  for (const [effort, sent] of [
    ['none', 'none'],
    ['low', 'default'],
    ['high', 'default'],
  ])
    expect(encode({ reasoning: { effort } }, model).body).toMatchObject({ reasoning_effort: sent });
});

describe('an envelope that a client sends back', () => {
  const signature = { vendor: 'anthropic', kind: 'signature', value: 'c2VhbA==' };
  const encrypted = { vendor: 'anthropic', kind: 'encrypted', value: 'eHg=' };
  const sealedCall = { vendor: 'google', kind: 'signature', value: 'Z2c=' };
  const returnStates = (...states: Opaque[]): ClientCall => {
    const events: CanonicalEvent[] = [
      { type: 'block-start', candidate: 0, block: 0, kind: 'reasoning' },
      { type: 'block-delta', candidate: 0, block: 0, text: 'hm' },
      { type: 'block-end', candidate: 0, block: 0, opaque: states },
      { type: 'block-start', candidate: 0, block: 1, kind: 'tool-call', id: 'c1', name: 'f' },
      { type: 'block-end', candidate: 0, block: 1, opaque: [sealedCall] },
      { type: 'finish', candidate: 0, reason: { unified: 'tool-calls', raw: 'tool_use' } },
    ];
    const reply = protocol.client.encodeReply(events, {
      id: 'k',
      model: 'anthropic/claude',
      created: 1,
      call: makeCall(),
    });
    const [choice]: unknown[] = isObject(reply) && Array.isArray(reply.choices) ? reply.choices : [];
    return makeCall({
      messages: [
        { role: 'user', content: 'x' },
        isObject(choice) ? choice.message : {},
        { role: 'tool', tool_call_id: 'c1', content: 'y' },
      ],
    });
  };

  it.each([[[signature]], [[encrypted]], [[signature, encrypted]]])(
    'opens to the state that was sealed: %j',
    (states) => {
      const read = returnStates(...states);
      expect(read.carriesState).toBe(true);
      const [reasoning, ...others] = read.decode().turns[1]?.blocks ?? [];
      expect(reasoning).toMatchObject({ type: 'reasoning', text: 'hm', opaque: states });
      expect(others).toMatchObject([{ type: 'tool-call', opaque: [sealedCall] }]);
    },
  );

  it('becomes entries in the format of its vendor', () => {
    const { body, lost } = encode(
      returnStates(signature, encrypted).decode(),
      makeModel({ id: 'anthropic/claude' }),
    );
    expect(body.messages).toMatchObject([
      {},
      {
        reasoning_details: [
          { type: 'reasoning.text', format: 'anthropic-claude-v1', text: 'hm', signature: 'c2VhbA==' },
          { type: 'reasoning.encrypted', format: 'anthropic-claude-v1', data: 'eHg=' },
        ],
        tool_calls: [{ id: 'c1' }],
      },
      {},
    ]);
    expect(JSON.stringify(body)).not.toContain('reasoning_content');
    expect(lost).toEqual(['turns[1].blocks[1].opaque']);
  });

  it('never reaches another vendor', () => {
    const { body, lost } = encode(returnStates(signature).decode(), makeModel({ id: 'google/gemini' }));
    expect(JSON.stringify(body)).not.toContain(envelopeMark);
    expect(body.messages).toMatchObject([
      {},
      { tool_calls: [{ extra_content: { google: { thought_signature: 'Z2c=' } } }] },
      {},
    ]);
    expect(JSON.stringify(body)).not.toMatch(/reasoning_|hm/);
    expect(lost).toEqual(['turns[1].blocks[0]']);
  });

  it.each([
    { vendor: 'deepseek', kind: 'signature', value: '' },
    { vendor: 'deepseek', kind: 'encrypted', value: 'eHg=' },
  ])('does not become a field of its call where a client put it there: %j', (state) => {
    const { body, lost } = encode(
      { turns: [ahoy, assistant(call('c1', 'f', { opaque: [state] })), tool(result('c1'))] },
      makeModel({ id: 'deepseek/model' }),
    );
    expect(JSON.stringify(body)).not.toContain('extra_content');
    expect(lost).toEqual(['turns[1].blocks[0].opaque']);
  });
});

describe("a chat client's wish for no reasoning, at Alibaba's models that only have a switch", () => {
  const model = requireModel('alibaba', 'qwen3.6-flash');
  const messages = [{ role: 'user', content: 'Ahoy' }];

  it.each([
    [{ reasoning_effort: 'none' }],
    [{ reasoning: { effort: 'none' } }],
    [{ reasoning: { max_tokens: 0 } }],
  ])('becomes the switch, since less is reserved: %j', (fields) => {
    const asked = makeCall({ messages, ...fields });
    expect(asked.suits?.(model)).toBe(false);
    const { body } = protocol.upstream.encodeRequest(asked.decode(), model, undefined);
    expect(body).toMatchObject({ enable_thinking: false });
    expect(JSON.stringify(body)).not.toMatch(/effort|max_tokens/);
  });

  it.each([[{ enable_thinking: false }], [{ enable_thinking: false, reasoning_effort: 'none' }], [{}]])(
    'passes as it is if it is none, or the switch itself: %j',
    (fields) => {
      expect(makeCall({ messages, ...fields }).suits?.(model)).toBe(true);
    },
  );
});
