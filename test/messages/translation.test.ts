import { describe, expect, it } from 'vitest';
import type { Block, CanonicalRequest, Tool, Turn } from '../../core/index.ts';
import { clientPath } from '../../core/loss.ts';
import { callWith, modelWith, protocol, send, version } from './bodies.ts';

const text = (said: string): Block => ({ type: 'text', text: said });
const user = (...blocks: Block[]): Turn => ({ role: 'user', blocks });
const assistant = (...blocks: Block[]): Turn => ({ role: 'assistant', blocks });
const call = (id: string, args = '{}'): Block => ({ type: 'tool-call', id, name: 'look', arguments: args });
const result = (callId: string, said = 'seen'): Block => ({
  type: 'tool-result',
  callId,
  content: [{ type: 'text', text: said }],
});
const look: Tool = { type: 'function', name: 'look', schema: { type: 'object', properties: {} } };
const turns = (...list: Turn[]): Partial<CanonicalRequest> => ({ turns: list });
const older = modelWith({
  capabilities: { reasoning: { style: 'budget' }, wire: { messages: { midSystem: false } } },
});
const adaptive = modelWith({
  capabilities: { reasoning: { style: 'adaptive', efforts: ['low', 'medium', 'high', 'max'] } },
});
const png = 'iVBORw0KGgoAAAANSUhEUg==';

describe('a conversation from another protocol', () => {
  it('sends leading instructions as the system prompt, in blocks only if they are marked or several', () => {
    expect(send(turns({ role: 'system', blocks: [text('Be brief.')] }, user(text('Hi')))).body.system).toBe(
      'Be brief.',
    );
    const cached: Block = { type: 'text', text: 'Be brief.', cache: {} };
    expect(
      send(
        turns(
          { role: 'developer', blocks: [cached] },
          { role: 'system', blocks: [text('And kind.')] },
          user(text('Hi')),
        ),
      ).body.system,
    ).toEqual([
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'And kind.' },
    ]);
  });

  it("keeps later instructions in their place: as such, or marked within the user's text", () => {
    const list = turns(
      user(text('Hi')),
      assistant(text('Yes?')),
      { role: 'developer', blocks: [text('Be brief.')] },
      user(text('Well')),
    );
    expect(send(list).body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Yes?' }] },
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      { role: 'user', content: [{ type: 'text', text: 'Well' }] },
    ]);
    const { body, lost } = send(list, older);
    expect(body.messages).toMatchObject([
      {},
      {},
      { role: 'user', content: [{ text: '<system>\nBe brief.\n</system>' }, { text: 'Well' }] },
    ]);
    expect(lost).toEqual(['turns[2].role']);
  });

  it('with an image by URL is refused if the provider fetches none', () => {
    const shown = turns(
      user(text('What is it?'), {
        type: 'media',
        kind: 'image',
        source: { type: 'url', url: 'https://x.example/a.png' },
        at: 'messages[0].content[1]',
      }),
    );
    expect(send(shown).body.messages).toMatchObject([{ content: [{}, { source: { type: 'url' } }] }]);
    expect(() => send(shown, modelWith({ capabilities: { imageUrls: false } }))).toThrow(
      expect.objectContaining({
        code: 'unsupported_parameter',
        details: expect.objectContaining({ param: 'messages[0].content[1]' }),
      }),
    );
  });

  it("shows the model's own pictures in a user turn, and reports each by its own path", () => {
    const picture: Block = {
      type: 'media',
      kind: 'image',
      source: { type: 'base64', data: png },
      mediaType: 'image/png',
    };
    const { body, lost } = send(
      turns(user(text('Draw')), assistant(text('Here.'), picture, picture), user(text('More'))),
    );
    expect(body.messages).toMatchObject([
      {},
      { role: 'assistant', content: [{ text: 'Here.' }] },
      {
        role: 'user',
        content: [
          { text: 'What the assistant showed:' },
          { type: 'image' },
          { type: 'image' },
          { text: 'More' },
        ],
      },
    ]);
    expect(lost).toEqual(['turns[1].blocks[1]', 'turns[1].blocks[2]']);
  });

  it('puts all results of a step into one message, first', () => {
    const steps = turns(
      user(text('Go')),
      assistant(call('a'), call('b')),
      { role: 'tool', blocks: [result('a')] },
      { role: 'system', blocks: [text('Quick.')] },
      { role: 'tool', blocks: [result('b', 'b')] },
      user(text('Well?')),
    );
    const { body } = send({ ...steps, tools: [look] });
    expect(body.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', input: {} }, { id: 'b' }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'seen' },
          { type: 'tool_result', tool_use_id: 'b', content: 'b' },
        ],
      },
      { role: 'system' },
      { role: 'user', content: [{ type: 'text', text: 'Well?' }] },
    ]);
    // If the user carries system text, it comes after them.
    expect(send({ ...steps, tools: [look] }, older).body.messages).toMatchObject([
      {},
      {},
      {
        role: 'user',
        content: [
          { tool_use_id: 'a' },
          { tool_use_id: 'b' },
          { type: 'text', text: '<system>\nQuick.\n</system>' },
          { text: 'Well?' },
        ],
      },
    ]);
  });

  it('never contains empty text or a turn that is empty without it, but keeps calls beside it', () => {
    const { body } = send({
      ...turns(
        user(text('Go')),
        assistant(text(' \n'), call('a')),
        { role: 'tool', blocks: [result('a', '')] },
        assistant(text('')),
        user(text('Well?')),
      ),
      tools: [look],
    });
    expect(body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Go' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a' },
          { type: 'text', text: 'Well?' },
        ],
      },
    ]);
  });

  it('gives tool calls ids and arguments that this wire accepts, digit for digit', () => {
    const odd = 'functions.look:0';
    const { body, lost } = send({
      ...turns(
        user(text('Go')),
        assistant(call(odd, '{"id":12345678901234567890,"x":1.0}'), call('b', 'not json'), call('c', '')),
        { role: 'tool', blocks: [result(odd)] },
      ),
      tools: [look],
    });
    const json = JSON.stringify(
      protocol.upstream.encodeRequest(
        { model: 'm', stream: false, turns: [assistant(call(odd, '{"id":12345678901234567890,"x":1.0}'))] },
        modelWith(),
        undefined,
      ).body,
    );
    expect(json).toContain('{"id":12345678901234567890,"x":1.0}');
    expect(body.messages).toMatchObject([
      {},
      { content: [{ id: 'toolu_ec0002042636dd8a' }, { input: { _raw: 'not json' } }, { input: {} }] },
      { content: [{ tool_use_id: 'toolu_ec0002042636dd8a' }] },
    ]);
    expect(lost).toEqual(['turns[1].blocks[1].arguments']);
  });

  it('marks failed results, and keeps pictures in results', () => {
    const image: Block = {
      type: 'media',
      kind: 'image',
      source: { type: 'base64', data: png },
      mediaType: 'image/jpeg',
    };
    const { body } = send(
      turns(user(text('Go')), assistant(call('a')), {
        role: 'tool',
        blocks: [
          { type: 'tool-result', callId: 'a', isError: true, content: [{ type: 'text', text: 'x' }, image] },
        ],
      }),
    );
    // The type follows from the data: the provider refuses a wrong one.
    expect(body.messages).toMatchObject([
      {},
      {},
      {
        content: [
          {
            is_error: true,
            content: [
              { type: 'text', text: 'x' },
              { type: 'image', source: { media_type: 'image/png' } },
            ],
          },
        ],
      },
    ]);
  });

  it.each<[Block, object]>([
    [
      { type: 'media', kind: 'image', source: { type: 'url', url: 'https://a.example/x' } },
      { type: 'image', source: { type: 'url', url: 'https://a.example/x' } },
    ],
    [
      { type: 'media', kind: 'document', source: { type: 'base64', data: 'JVBERi0x' }, filename: 'a.pdf' },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' },
        title: 'a.pdf',
      },
    ],
    [
      {
        type: 'media',
        kind: 'document',
        source: { type: 'base64', data: 'YWhveQ==' },
        mediaType: 'text/csv',
      },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ahoy' } },
    ],
    [
      { type: 'media', kind: 'document', source: { type: 'file', vendor: 'anthropic', id: 'f1' } },
      { type: 'document', source: { type: 'file', file_id: 'f1' } },
    ],
    [
      { type: 'refusal', text: 'No.' },
      { type: 'text', text: 'No.' },
    ],
  ])("sends %j in this wire's form", (block, wire) => {
    expect(send(turns(user(block))).body.messages).toEqual([{ role: 'user', content: [wire] }]);
  });

  it.each<[Block, RegExp]>([
    [
      {
        type: 'media',
        kind: 'video',
        source: { type: 'url', url: 'https://a.example/x' },
        at: 'contents[0].parts[1]',
      },
      /takes no video/,
    ],
    [
      { type: 'media', kind: 'audio', source: { type: 'base64', data: 'x' }, at: 'contents[0].parts[1]' },
      /takes no audio/,
    ],
    [
      {
        type: 'media',
        kind: 'image',
        source: { type: 'base64', data: 'Qk0=' },
        mediaType: 'image/bmp',
        at: 'contents[0].parts[1]',
      },
      /JPEG, PNG, GIF or WebP/,
    ],
    [
      { type: 'media', kind: 'image', source: { type: 'url', url: 'gs://x' }, at: 'contents[0].parts[1]' },
      /https addresses only/,
    ],
    [
      {
        type: 'media',
        kind: 'document',
        source: { type: 'file', vendor: 'openai', id: 'f1' },
        at: 'contents[0].parts[1]',
      },
      /kept by openai/,
    ],
    [
      {
        type: 'media',
        kind: 'document',
        source: { type: 'base64', data: 'UEs=' },
        mediaType: 'application/zip',
        at: 'contents[0].parts[1]',
      },
      /PDF or text/,
    ],
  ])("refuses %j by the client's name for it", (block, message) => {
    expect(() => send(turns(user(block)))).toThrow(
      expect.objectContaining({
        code: 'unsupported_parameter',
        message: expect.stringMatching(message),
        details: { param: 'contents[0].parts[1]' },
      }),
    );
  });

  it('keeps the last four cache marks, and reports the others and a lifetime this wire lacks', () => {
    const marked = (ttl?: '5m' | '30m' | '1h'): Block => ({ type: 'text', text: 'x', cache: { ttl } });
    const { body, lost } = send(
      turns(user(marked('1h'), marked(), marked('5m'), marked('30m'), marked('1h'))),
    );
    const marks = [
      {},
      { cache_control: { type: 'ephemeral' } },
      ...['5m', '5m', '1h'].map((ttl) => ({ cache_control: { type: 'ephemeral', ttl } })),
    ];
    expect(body.messages).toEqual([
      { role: 'user', content: marks.map((mark) => ({ type: 'text', text: 'x', ...mark })) },
    ]);
    expect(lost).toEqual(['turns[0].blocks[0].cache', 'turns[0].blocks[3].cache.ttl']);
  });
});

describe('the output limit', () => {
  it("is the model's own if the client states none, and the granted one before all", () => {
    expect(send({}).body.max_tokens).toBe(64_000);
    expect(send({ outputLimit: 50 }).body.max_tokens).toBe(50);
    expect(send({ outputLimit: 50 }, modelWith(), 20).body.max_tokens).toBe(20);
    expect(send({ outputLimit: 100_000 })).toMatchObject({
      body: { max_tokens: 64_000 },
      lost: ['outputLimit'],
    });
  });
});

describe('sampling', () => {
  it('is passed on, a temperature above 1 as 1', () => {
    expect(send({ temperature: 0.3, topK: 5, stop: ['x'] })).toMatchObject({
      body: { temperature: 0.3, top_k: 5, stop_sequences: ['x'] },
      lost: [],
    });
    expect(send({ temperature: 1.4 })).toMatchObject({
      body: { temperature: 1 },
      losses: [{ path: 'temperature', reason: 'sent as 1, the highest there is' }],
    });
  });

  it('is omitted and reported if the model does not accept it, not both, or not with reasoning', () => {
    const plain = modelWith({ capabilities: { sampling: false } });
    expect(send({ temperature: 0.3, topP: 0.5, topK: 3, stop: [' ', 'x'] }, plain)).toMatchObject({
      body: { stop_sequences: ['x'] },
      lost: ['temperature', 'topP', 'topK'],
    });
    expect(send({ temperature: 0.3, topP: 0.5 })).toMatchObject({
      body: { temperature: 0.3 },
      lost: ['topP'],
    });
    expect(send({ topP: 0.5 }, modelWith({ supportedParameters: ['temperature'] })).lost).toEqual(['topP']);
    const { body, lost } = send({ temperature: 0.3, topK: 4, reasoning: { effort: 'low' } });
    expect([body.temperature, body.top_k, lost]).toEqual([undefined, undefined, ['temperature', 'topK']]);
  });

  it('that this wire cannot express is reported', () => {
    const rest: Partial<CanonicalRequest> = {
      serviceTier: 'flex',
      modalities: ['text', 'audio'],
      candidates: 2,
      frequencyPenalty: 1,
      presencePenalty: 1,
      seed: 0,
      logprobs: {},
      verbosity: 'low',
      metadata: { a: 'b' },
      cacheKey: 'k',
    };
    expect(send(rest).lost).toEqual(Object.keys(rest));
    expect(send({ serviceTier: 'constructor' })).toMatchObject({
      body: expect.not.objectContaining({ service_tier: expect.anything() }),
      lost: ['serviceTier'],
    });
    expect(send({ user: 'u1', serviceTier: 'default', modalities: ['text'], candidates: 1 })).toMatchObject({
      body: { metadata: { user_id: 'u1' }, service_tier: 'standard_only' },
      lost: [],
    });
  });
});

it('an answer that is not text is refused by the name of the field', () => {
  expect(() => send({ modalities: ['audio'] })).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ param: 'modalities' }) }),
  );
});

describe('a prefilled answer', () => {
  const begun = [user(text('Ahoy')), assistant({ type: 'text', text: 'Once ' })];
  const goOn = {
    role: 'user',
    content: [{ type: 'text', text: '<system>\nGo on from where the assistant stopped.\n</system>' }],
  };
  const newer = modelWith({
    capabilities: { reasoning: { style: 'adaptive' }, wire: { messages: { prefill: false } } },
  });

  it('is continued by models that can, without reasoning', () => {
    const { body, lost } = send({ turns: begun, reasoning: { effort: 'low' } });
    expect([body.messages, body.thinking, lost]).toEqual([
      [
        { role: 'user', content: [text('Ahoy')] },
        { role: 'assistant', content: [text('Once')] },
      ],
      undefined,
      ['turns[1]', 'reasoning'],
    ]);
  });

  it('is followed by a user turn if the model refuses to end with it, and the loss is reported', () => {
    const { body, lost } = send({ turns: begun, reasoning: { effort: 'low' } }, newer);
    expect([body.messages, body.thinking, lost]).toEqual([
      [{}, { role: 'assistant', content: [text('Once ')] }, goOn].with(0, {
        role: 'user',
        content: [text('Ahoy')],
      }),
      { type: 'adaptive', display: 'summarized' },
      ['turns[1]'],
    ]);
  });

  it('is recognised after system text too, unlike a call that waits for its result', () => {
    const midway = modelWith({ capabilities: { wire: { messages: { midSystem: true, prefill: false } } } });
    expect(
      send({ turns: [...begun, { role: 'system', blocks: [text('Be brief.')] }] }, midway).body.messages,
    ).toMatchObject([{}, { role: 'assistant' }, { role: 'system' }, goOn]);
    const called = assistant({ type: 'tool-call', id: 'a', name: 'look', arguments: '{}' });
    expect(send({ turns: [user(text('Go')), called] }, newer).body.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
    ]);
  });
});

describe('reasoning', () => {
  it.each([
    [{ effort: 'minimal' }, 1024],
    [{ effort: 'low' }, 2048],
    [{ effort: 'medium' }, 8192],
    [{ effort: 'high' }, 24576],
    [{ effort: 'max' }, 48_000],
    [{ budget: 5000 }, 5000],
    [{ budget: -1 }, 8192],
    [{ display: 'full' as const }, 8192],
  ])('of %j is a budget of %i if the model counts tokens', (reasoning, tokens) => {
    const { body } = send({ reasoning });
    expect(body.thinking).toMatchObject({ type: 'enabled', budget_tokens: tokens });
  });

  it.each([
    [{ effort: 'minimal' }, 'low', ['reasoning.effort']],
    [{ effort: 'medium' }, 'medium', []],
    [{ effort: 'xhigh' }, 'high', ['reasoning.effort']],
    [{ budget: 30_000 }, 'high', ['reasoning.budget']],
    [{ budget: -1 }, undefined, ['reasoning.budget']],
    [{ display: 'full' as const }, undefined, []],
  ])('of %j is the effort %s if the model decides itself', (reasoning, effort, told) => {
    const { body, lost } = send({ reasoning }, adaptive);
    expect(body.thinking).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(body.output_config).toEqual(effort === undefined ? undefined : { effort });
    expect(lost).toEqual(told);
  });

  it('of none is switched off, set as low as possible, or omitted', () => {
    expect(send({ reasoning: { effort: 'none' } }).body.thinking).toEqual({ type: 'disabled' });
    expect(send({ reasoning: { budget: 0 } }, adaptive).body.thinking).toEqual({ type: 'disabled' });
    const always = modelWith({ capabilities: { reasoning: { style: 'adaptive', canDisable: false } } });
    expect(send({ reasoning: { effort: 'none' } }, always)).toMatchObject({
      body: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
      lost: ['reasoning'],
    });
    const never = modelWith({ capabilities: { reasoning: { style: 'none' } } });
    expect(send({ reasoning: { effort: 'none' } }, never)).toMatchObject({ lost: [] });
    expect(send({ reasoning: { effort: 'high' } }, never)).toMatchObject({ lost: ['reasoning'] });
  });

  it('is not enabled for a client that only asks to hide it', () => {
    const hidden = { reasoning: { display: 'none' as const }, temperature: 0.3 };
    for (const model of [
      modelWith(),
      adaptive,
      modelWith({ capabilities: { reasoning: { style: 'none' } } }),
    ]) {
      const { body, lost } = send(hidden, model);
      expect([body.thinking, body.temperature, lost]).toEqual([undefined, 0.3, []]);
    }
  });

  it.each([
    [modelWith(), { thinking: { budget_tokens: 8192 } }],
    [adaptive, { output_config: { effort: 'medium' } }],
  ])('of an unknown effort is a medium one, and the loss is reported', (model, body) => {
    expect(send({ reasoning: { effort: 'utmost' } }, model)).toMatchObject({
      body,
      lost: ['reasoning.effort'],
    });
  });

  it('stays below the output limit, and is omitted if there is no room', () => {
    expect(send({ reasoning: { effort: 'high' }, outputLimit: 4096 })).toMatchObject({
      body: { thinking: { budget_tokens: 3072 } },
      lost: ['reasoning.effort'],
    });
    expect(send({ reasoning: { budget: 2000 }, outputLimit: 2000 })).toMatchObject({
      body: { thinking: { budget_tokens: 1500 } },
      lost: ['reasoning.budget'],
    });
    expect(send({ reasoning: { effort: 'low' }, outputLimit: 1024 }).lost).toEqual(['reasoning']);
  });

  it('is omitted for a forced tool, and if the reasoning of a tool loop is gone', () => {
    const forced = send({ reasoning: { effort: 'low' }, tools: [look], toolChoice: { mode: 'required' } });
    expect([forced.body.thinking, forced.lost]).toEqual([undefined, ['reasoning']]);
    const loop = turns(user(text('Go')), assistant(call('a')), { role: 'tool', blocks: [result('a')] });
    expect(send({ ...loop, tools: [look], reasoning: { effort: 'low' } }).lost).toEqual(['reasoning']);
    expect(send({ ...loop, tools: [look], reasoning: { effort: 'low' } }, adaptive).lost).toEqual([]);
    const sealed: Block = {
      type: 'reasoning',
      text: 'Hm.',
      opaque: [{ vendor: 'anthropic', kind: 'signature', value: 's' }],
    };
    const whole = turns(user(text('Go')), assistant(sealed, call('a')), {
      role: 'tool',
      blocks: [result('a')],
    });
    expect(send({ ...whole, tools: [look], reasoning: { effort: 'low' } })).toMatchObject({
      body: { thinking: { type: 'enabled' } },
      lost: [],
    });
  });

  it('requests no visible reasoning if the client wants none', () => {
    expect(send({ reasoning: { effort: 'low', display: 'none' } }, adaptive).body.thinking).toEqual({
      type: 'adaptive',
      display: 'omitted',
    });
  });
});

describe('signed reasoning', () => {
  const reasoning = (
    ...opaque: { vendor: string; kind: string; value: string }[]
  ): Partial<CanonicalRequest> =>
    turns(
      user(text('x')),
      assistant({ type: 'reasoning', text: 'Hm.', opaque }, text('Yes.')),
      user(text('y')),
    );

  it('returns to its own provider unchanged', () => {
    const { body, lost } = send(
      reasoning(
        { vendor: 'anthropic', kind: 'signature', value: 's1' },
        { vendor: 'anthropic', kind: 'encrypted', value: 'd1' },
      ),
    );
    expect(body.messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's1' },
          { type: 'redacted_thinking', data: 'd1' },
          { type: 'text' },
        ],
      },
      {},
    ]);
    expect(lost).toEqual([]);
  });

  it('of another provider, and reasoning without a signature, never reaches it', () => {
    for (const opaque of [[{ vendor: 'openai', kind: 'encrypted', value: 'x' }], []]) {
      const { body, lost } = send(reasoning(...opaque));
      expect(JSON.stringify(body)).not.toContain('Hm.');
      expect(lost).toEqual(['turns[1].blocks[0]']);
    }
  });
});

describe('tools', () => {
  const answer = (tools: Tool[], more: Partial<CanonicalRequest> = {}): ReturnType<typeof send> =>
    send({ tools, ...more });

  it('get an object schema, and a name that the wire accepts', () => {
    const { body } = answer([
      { type: 'function', name: 'a.b:c', description: 'd' },
      {
        type: 'function',
        name: 'look',
        schema: { properties: { x: {} }, additionalProperties: false },
        strict: true,
      },
    ]);
    expect(body.tools).toEqual([
      {
        name: expect.stringMatching(/^a_b_c_[0-9a-f]{16}$/),
        description: 'd',
        input_schema: { type: 'object', properties: {} },
      },
      {
        name: 'look',
        input_schema: { type: 'object', properties: { x: {} }, additionalProperties: false },
        strict: true,
      },
    ]);
  });

  it('with free text are offered as functions with that text as their argument', () => {
    const grammar = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
    const { body, lost } = answer(
      [{ type: 'custom', name: 'patch', description: 'Patch.', format: grammar }],
      {
        turns: [
          user(text('Go')),
          assistant({ type: 'tool-call', id: 'a', name: 'patch', arguments: '*** Begin', custom: true }),
        ],
      },
    );
    expect(body.tools).toMatchObject([
      {
        name: 'patch',
        description: 'Patch.\n\nThe input follows this grammar (lark):\nstart: "a"',
        input_schema: { required: ['input'] },
      },
    ]);
    expect(body.messages).toMatchObject([{}, { content: [{ input: { input: '*** Begin' } }] }]);
    expect(lost).toEqual(['tools[0].format']);
  });

  it.each<[NonNullable<CanonicalRequest['toolChoice']>, object]>([
    [{ mode: 'auto' }, { type: 'auto' }],
    [{ mode: 'none' }, { type: 'none' }],
    [{ mode: 'required' }, { type: 'any' }],
    [
      { mode: 'one', names: ['look'] },
      { type: 'tool', name: 'look' },
    ],
    [{ mode: 'subset', names: ['look'], required: true }, { type: 'any' }],
    [{ mode: 'subset', names: ['look'] }, { type: 'auto' }],
  ])('are chosen by %j', (toolChoice, wire) => {
    const { body } = answer([look, { type: 'function', name: 'other' }], { toolChoice });
    expect(body.tool_choice).toEqual(wire);
    expect(body.tools).toHaveLength(toolChoice.mode === 'subset' ? 1 : 2);
  });

  it('of Google are offered beside the callable functions', () => {
    const search: Tool = {
      type: 'hosted',
      protocol: 'generate-content',
      kind: 'web-search',
      value: { googleSearch: {} },
    };
    const { body, lost } = answer([look, { type: 'function', name: 'other' }, search], {
      toolChoice: { mode: 'subset', names: ['look'] },
    });
    expect([body.tools, lost]).toMatchObject([[{ name: 'look' }, { type: 'web_search_20250305' }], []]);
  });

  it('are called one at a time if the client wants that', () => {
    expect(answer([look], { parallelToolCalls: false }).body.tool_choice).toEqual({
      type: 'auto',
      disable_parallel_tool_use: true,
    });
    expect(
      answer([look], { parallelToolCalls: false, toolChoice: { mode: 'required' } }).body.tool_choice,
    ).toEqual({ type: 'any', disable_parallel_tool_use: true });
    expect(
      answer([look], { parallelToolCalls: false, toolChoice: { mode: 'none' } }).body.tool_choice,
    ).toEqual({ type: 'none' });
  });

  it('of another provider are reported as lost, except a search both sides have', () => {
    const search: Tool = {
      type: 'hosted',
      protocol: 'responses',
      kind: 'web-search',
      value: { type: 'web_search' },
    };
    const { body, lost } = send({ tools: [search, look] }, modelWith({ capabilities: { hosted: [] } }));
    expect([body.tools, lost]).toMatchObject([[{ name: 'look' }], ['tools[0]']]);
    const { body: searching } = send({ tools: [search] });
    expect(searching.tools).toEqual([{ type: 'web_search_20250305', name: 'web_search' }]);
  });
});

describe('structured output', () => {
  it('carries its name and its description in the schema, unless that has its own', () => {
    const schema = { type: 'object', properties: {} };
    const sent = (own: object): unknown =>
      send({
        format: { type: 'schema', name: 'tides', description: 'Times.', schema: { ...schema, ...own } },
      }).body.output_config;
    expect(sent({})).toMatchObject({ format: { schema: { title: 'tides', description: 'Times.' } } });
    expect(sent({ title: 'Own', description: 'Mine.' })).toMatchObject({
      format: { schema: { title: 'Own', description: 'Mine.' } },
    });
  });

  it('is a schema with closed objects, with constraints the wire cannot check in the prompt', () => {
    const properties = {
      age: { type: 'integer', minimum: 3, description: 'Years' },
      kind: {
        oneOf: [
          { type: 'string', format: 'email' },
          { type: 'string', format: 'x' },
        ],
      },
      list: { type: 'array', minItems: 2, items: { type: 'object', properties: {} } },
    };
    const schema = { type: 'object', $schema: 'x', properties };
    expect(send({ format: { type: 'schema', name: 'n', schema } })).toMatchObject({
      lost: ['format.schema'],
      body: {
        output_config: {
          format: {
            type: 'json_schema',
            schema: {
              type: 'object',
              additionalProperties: false,
              properties: {
                age: { type: 'integer', description: 'Years\n\n{minimum: 3}' },
                kind: {
                  anyOf: [
                    { type: 'string', format: 'email' },
                    { type: 'string', description: '{format: "x"}' },
                  ],
                },
                list: {
                  type: 'array',
                  description: '{minItems: 2}',
                  items: { type: 'object', properties: {}, additionalProperties: false },
                },
              },
            },
          },
        },
      },
    });
  });

  it('is reported only if the schema differs from the requested one', () => {
    const closed = {
      type: 'object',
      properties: { age: { type: 'integer' } },
      required: ['age'],
      additionalProperties: false,
    };
    expect(send({ format: { type: 'schema', schema: { $schema: 'x', ...closed } } }).lost).toEqual([]);
    expect(
      send({ format: { type: 'schema', schema: { ...closed, additionalProperties: true } } }).lost,
    ).toEqual(['format.schema']);
  });

  it('without a schema asks for any JSON object that is not empty', () => {
    expect(send({ format: { type: 'schema', name: 'n', schema: undefined } })).toMatchObject({
      body: { system: 'Answer with one valid JSON object and nothing else.' },
      lost: ['format'],
    });
  });

  it('that the wire or the model lacks goes into the prompt, and the loss is reported', () => {
    const json = send({
      format: { type: 'json' },
      turns: [{ role: 'system', blocks: [text('Be brief.')] }, user(text('x'))],
    });
    expect([json.body.system, json.lost]).toEqual([
      'Be brief.\n\nAnswer with one valid JSON object and nothing else.',
      ['format'],
    ]);
    const plain = modelWith({ capabilities: { structuredOutput: false } });
    expect(send({ format: { type: 'schema', schema: { type: 'object' } } }, plain)).toMatchObject({
      body: { system: expect.stringContaining('{"type":"object"}') },
      lost: ['format'],
    });
  });
});

describe('a request of this protocol on another', () => {
  it('knows the path of each field', () => {
    const { turns: list, tools } = callWith({
      system: [{ type: 'text', text: 's' }],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'y' }] },
          ],
        },
      ],
    }).decode();
    expect([
      list.map(({ at }) => at),
      list.flatMap(({ blocks }) => blocks.map(({ at }) => at)),
      tools?.map(({ at }) => at),
    ]).toEqual([
      ['system', 'messages[0]'],
      ['system[0]', 'messages[0].content[0]', 'messages[0].content[1]'],
      ['tools[0]'],
    ]);
    const [, message] = list;
    expect(message?.blocks[1]).toMatchObject({ content: [{ at: 'messages[0].content[1].content[0]' }] });
  });

  it("keeps the digits of a tool's input", () => {
    const body =
      '{"model":"a/b","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use",' +
      '"id":"a","name":"look","input":{"id":12345678901234567890}}]}]}';
    const [turn] = protocol.client
      .read(JSON.parse(body), body, { operation: 'generate' }, version)
      .decode().turns;
    expect(turn?.blocks).toMatchObject([{ arguments: '{"id":12345678901234567890}' }]);
  });

  it.each([
    [{ thinking: { type: 'enabled', budget_tokens: 4000 }, max_tokens: 5000 }, { budget: 4000 }],
    [
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'max' } },
      { effort: 'max', display: 'summary' },
    ],
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'max' } }, { effort: 'none' }],
    [{ output_config: { effort: 'low' } }, { effort: 'low' }],
    [{}, undefined],
  ])('asks for reasoning by %j', (fields, reasoning) => {
    expect(callWith(fields).decode().reasoning).toEqual(reasoning);
  });

  it.each([
    [{ thinking: { type: 'disabled' } }, 'thinking'],
    [{ output_config: { effort: 'low' } }, 'output_config.effort'],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }, 'output_config.effort'],
  ])('names an effort as the client did that asked by %j', (fields, name) => {
    expect(clientPath('reasoning.effort', callWith(fields).decode(), protocol.client.fieldNames)).toBe(name);
  });

  it('has its fields under their canonical names', () => {
    const request = callWith({
      temperature: 1,
      top_p: 0.5,
      top_k: 3,
      stop_sequences: ['x'],
      metadata: { user_id: 'u' },
      service_tier: 'standard_only',
      tools: [
        { name: 'look', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    }).decode();
    expect(request).toMatchObject({
      temperature: 1,
      topP: 0.5,
      topK: 3,
      stop: ['x'],
      user: 'u',
      serviceTier: 'default',
      outputLimit: 100,
      parallelToolCalls: false,
      tools: [{ type: 'function' }, { type: 'hosted', kind: 'web-search' }],
      toolChoice: { mode: 'required' },
      format: { type: 'schema', schema: { type: 'object' } },
    });
  });
});
