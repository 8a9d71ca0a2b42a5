import { describe, expect, it } from 'vitest';
import type { CanonicalRequest, Model, Opaque, Turn } from '../../core/index.ts';
import { clientPath } from '../../core/loss.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { isObject } from '../support/json.ts';
import { callWith, modelWith } from './bodies.ts';

const user: Turn = { role: 'user', blocks: [{ type: 'text', text: 'Ahoy' }] };

/** Encodes a request, as another protocol's client might send it, for a model. */
function encode(
  request: Partial<CanonicalRequest>,
  model: Model = modelWith(),
  limit?: number,
): { body: Record<string, unknown>; lost: string[] } {
  const { body, losses } = protocol.upstream.encodeRequest(
    { model: 'a/b', stream: false, turns: [user], ...request },
    model,
    limit,
  );
  const plain: unknown = JSON.parse(JSON.stringify(body));
  if (!isObject(plain)) throw new Error('no body');
  return { body: plain, lost: losses.map(({ path }) => path) };
}

function input(...turns: Turn[]): unknown {
  return encode({ turns }).body.input;
}

function heard(mediaType: string): Turn {
  return {
    role: 'user',
    blocks: [{ type: 'media', kind: 'audio', source: { type: 'base64', data: 'UklGRg==' }, mediaType }],
  };
}

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

const seal = (vendor: string): Opaque => ({ vendor, kind: 'encrypted', value: 'c2VhbA==' });
const call = { type: 'tool-call', id: 'c1', name: 'f', arguments: '{"n":1.0}' } as const;

describe('turns as items', () => {
  it('writes a turn as messages, calls and results, in order', () => {
    expect(
      input(
        { role: 'system', blocks: [{ type: 'text', text: 'Be brief.' }] },
        {
          role: 'user',
          blocks: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'assistant', blocks: [{ type: 'text', text: 'c' }, call, { type: 'text', text: 'd' }] },
        {
          role: 'user',
          blocks: [
            { type: 'tool-result', callId: 'c1', content: [{ type: 'text', text: '1' }] },
            { type: 'text', text: 'Well?' },
          ],
        },
      ),
    ).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'a' },
          { type: 'input_text', text: 'b' },
        ],
      },
      { role: 'assistant', content: 'c' },
      { type: 'function_call', name: 'f', call_id: 'c1', arguments: '{"n":1.0}' },
      { role: 'assistant', content: 'd' },
      { type: 'function_call_output', call_id: 'c1', output: '1' },
      { role: 'user', content: 'Well?' },
    ]);
  });

  it('puts nothing between a call and its result if the assistant wrote no text', () => {
    const result: Turn = { role: 'user', blocks: [{ type: 'tool-result', callId: 'c1', content: [] }] };
    expect(input({ role: 'assistant', blocks: [call, { type: 'text', text: '' }] }, result)).toMatchObject([
      { type: 'function_call' },
      { type: 'function_call_output' },
    ]);
    expect(input(user, { role: 'assistant', blocks: [{ type: 'text', text: '' }] }, user)).toMatchObject([
      { role: 'user' },
      { role: 'user' },
    ]);
  });

  it("keeps media inside a tool's result", () => {
    const result: Turn = {
      role: 'tool',
      blocks: [
        {
          type: 'tool-result',
          callId: 'c1',
          content: [
            { type: 'text', text: 'A chart:' },
            {
              type: 'media',
              kind: 'image',
              source: { type: 'base64', data: 'AAAA' },
              mediaType: 'image/png',
            },
            {
              type: 'media',
              kind: 'document',
              source: { type: 'base64', data: 'BBBB' },
              mediaType: 'application/pdf',
            },
          ],
        },
      ],
    };
    expect(input(result)).toEqual([
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [
          { type: 'input_text', text: 'A chart:' },
          { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_file', file_data: 'data:application/pdf;base64,BBBB', filename: 'document.pdf' },
        ],
      },
    ]);
  });

  it('sends documents as data, as a URL, or as text if they are text', () => {
    const document = (
      source: Extract<Turn['blocks'][number], { type: 'media' }>['source'],
      mediaType?: string,
    ): unknown =>
      input({
        role: 'user',
        blocks: [{ type: 'media', kind: 'document', source, mediaType, title: 'Tides' }],
      });
    expect(document({ type: 'url', url: 'https://a.example/t.pdf' })).toMatchObject([
      { content: [{ type: 'input_file', file_url: 'https://a.example/t.pdf' }] },
    ]);
    expect(
      document({ type: 'base64', data: Buffer.from('2 m').toString('base64') }, 'text/plain'),
    ).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
    expect(
      document({ type: 'base64', data: Buffer.from('2 m').toString('base64') }, 'application/json'),
    ).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
    expect(document({ type: 'text', text: '2 m' })).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
  });

  it("sends an assistant's media as the user's, and reports it", () => {
    const { body, lost } = encode({
      turns: [
        user,
        {
          role: 'assistant',
          blocks: [
            { type: 'text', text: 'Here.' },
            {
              type: 'media',
              kind: 'image',
              source: { type: 'base64', data: 'AAAA' },
              mediaType: 'image/png',
            },
          ],
        },
        user,
      ],
    });
    expect(body.input).toMatchObject([
      {},
      { role: 'assistant', content: 'Here.' },
      {
        role: 'user',
        content: [{ type: 'input_text' }, { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }],
      },
      {},
    ]);
    expect(lost).toEqual(['turns[1].blocks[1]']);
  });

  it("puts a document's context before the document", () => {
    const { body, lost } = encode({
      turns: [
        {
          role: 'user',
          blocks: [
            {
              type: 'media',
              kind: 'document',
              source: { type: 'url', url: 'https://a.example/t.pdf' },
              context: 'Of May.',
            },
          ],
        },
      ],
    });
    expect(body.input).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Of May.' },
          { type: 'input_file', file_url: 'https://a.example/t.pdf' },
        ],
      },
    ]);
    expect(lost).toEqual(['turns[0].blocks[0].context']);
  });

  it('refuses a call if the answer would be worthless without lost content', () => {
    const turn =
      (block: Turn['blocks'][number]): (() => unknown) =>
      () =>
        input({ role: 'user', blocks: [block] });
    expect(turn({ type: 'media', kind: 'video', source: { type: 'url', url: 'https://x' } })).toThrow(
      /no video/,
    );
    expect(
      turn({ type: 'media', kind: 'document', source: { type: 'file', vendor: 'anthropic', id: 'file_1' } }),
    ).toThrow(/kept by anthropic/);
  });

  it('sends an OpenAI file to OpenAI, and to no other provider of this protocol', () => {
    const turns: Turn[] = [
      {
        role: 'user',
        blocks: [
          { type: 'media', kind: 'document', source: { type: 'file', vendor: 'openai', id: 'file-1' } },
        ],
      },
    ];
    expect(encode({ turns }).body.input).toEqual([
      { role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] },
    ]);
    expect(() => encode({ turns }, modelWith({ id: 'xai/grok-4.3' }))).toThrow(/kept by openai/);
  });

  it('shortens a long call id in the same way on the call and its result', () => {
    const id = `toolu_${'x'.repeat(100)}`;
    const read = input(
      { role: 'assistant', blocks: [{ ...call, id }] },
      { role: 'tool', blocks: [{ type: 'tool-result', callId: id, content: [] }] },
    );
    const [first, second]: unknown[] = Array.isArray(read) ? read : [];
    const ids = [first, second].map((item) => (isObject(item) ? String(item.call_id) : ''));
    expect(ids[0]).toBe(ids[1]);
    expect(ids[0]?.length).toBeLessThanOrEqual(64);
  });

  it('writes the call and the result of a custom tool as items of their own types', () => {
    expect(
      input(
        { role: 'assistant', blocks: [{ ...call, custom: true, arguments: 'free text' }] },
        {
          role: 'tool',
          blocks: [{ type: 'tool-result', callId: 'c1', content: [{ type: 'text', text: 'x' }] }],
        },
      ),
    ).toEqual([
      { type: 'custom_tool_call', name: 'f', call_id: 'c1', input: 'free text' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'x' },
    ]);
  });
});

describe('sealed reasoning', () => {
  const turns = (...opaque: Opaque[]): Turn[] => [
    user,
    {
      role: 'assistant',
      blocks: [
        { type: 'reasoning', text: 'hm', ...(opaque.length > 0 ? { opaque } : {}) },
        { type: 'text', text: 'a' },
      ],
    },
    user,
  ];

  it('goes back byte for byte to the vendor that wrote it', () => {
    const { body, lost } = encode({ turns: turns(seal('openai')) });
    expect(body.input).toEqual([
      { role: 'user', content: 'Ahoy' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'c2VhbA==' },
      { role: 'assistant', content: 'a' },
      { role: 'user', content: 'Ahoy' },
    ]);
    expect(lost).toEqual([]);
  });

  it.each([[[seal('anthropic')]], [[]]])(
    'is dropped and reported if another vendor sealed it, or none did: %j',
    (opaque) => {
      const { body, lost } = encode({ turns: turns(...opaque) });
      expect(JSON.stringify(body)).not.toContain('hm');
      expect(lost).toEqual(['turns[1].blocks[0]']);
    },
  );

  it('does not go back without the item that followed it', () => {
    const { body, lost } = encode({
      turns: [
        user,
        {
          role: 'assistant',
          blocks: [
            { type: 'text', text: 'a' },
            { type: 'reasoning', text: '', opaque: [seal('openai')] },
            { type: 'foreign', protocol: 'messages', value: {} },
          ],
        },
        user,
      ],
    });
    expect(body.input).toEqual([
      { role: 'user', content: 'Ahoy' },
      { role: 'assistant', content: 'a' },
      { role: 'user', content: 'Ahoy' },
    ]);
    expect(lost).toEqual(['turns[1].blocks[2]', 'turns[1].blocks[1]']);
  });

  it('is reported as lost if it is the signature of a call', () => {
    const { body, lost } = encode({
      turns: [
        user,
        {
          role: 'assistant',
          blocks: [{ ...call, opaque: [{ vendor: 'google', kind: 'signature', value: 'x' }] }],
        },
      ],
    });
    expect(body.input).toMatchObject([{}, { type: 'function_call' }]);
    expect(lost).toEqual(['turns[1].blocks[0].opaque']);
  });
});

describe('settings', () => {
  it('asks the provider to store nothing and to return sealed reasoning', () => {
    expect(encode({}).body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
    expect(
      encode({ logprobs: { top: 3 } }, modelWith({ capabilities: { reasoning: { style: 'none' } } })).body,
    ).toMatchObject({ store: false, include: ['message.output_text.logprobs'], top_logprobs: 3 });
    expect(encode({}, modelWith({ capabilities: { reasoning: { style: 'none' } } })).body).not.toHaveProperty(
      'include',
    );
  });

  it('reports fields that this protocol does not have', () => {
    const { body, lost } = encode({
      topK: 5,
      stop: ['x'],
      seed: 1,
      frequencyPenalty: 1,
      presencePenalty: 1,
      candidates: 2,
      modalities: ['text', 'audio'],
      user: 'u',
    });
    expect(lost).toEqual(['topK', 'frequencyPenalty', 'presencePenalty', 'seed', 'candidates', 'modalities']);
    expect(Object.keys(body).toSorted()).toEqual(['include', 'input', 'model', 'store', 'user']);
    expect(encode({ candidates: 1, modalities: ['text'] }).lost).toEqual([]);
  });

  it.each<[string, Partial<CanonicalRequest>, Model, string]>([
    ['nothing but a picture', { modalities: ['image'] }, modelWith(), 'modalities'],
    ['sound of a kind it does not take', { turns: [heard('audio/flac')] }, modelWith(), 'turns[0].blocks[0]'],
    [
      'sound to a model that does not hear',
      { turns: [heard('audio/wav')] },
      modelWith({ input: ['text'] }),
      'turns[0].blocks[0]',
    ],
    [
      'grounding in maps',
      {
        tools: [
          {
            type: 'hosted',
            protocol: 'generate-content',
            kind: 'other',
            value: { googleMaps: {} },
            at: 'tools[0].googleMaps',
          },
        ],
      },
      modelWith(),
      'tools[0].googleMaps',
    ],
  ])('refuses a call whose answer would be worthless: %s', (_, asked, model, param) => {
    expect(thrownBy(() => encode(asked, model))).toMatchObject({
      code: 'unsupported_parameter',
      details: { param },
    });
  });

  it('reports an unfinished answer that the model does not continue', () => {
    expect(
      encode({ turns: [user, { role: 'assistant', blocks: [{ type: 'text', text: 'Once' }] }] }).lost,
    ).toEqual(['turns[1].role']);
    expect(encode({ turns: [user, { role: 'assistant', blocks: [call] }] }).lost).toEqual([]);
  });

  it('omits sampling settings that the model does not take', () => {
    const { body, lost } = encode(
      { temperature: 1, topP: 0.5 },
      modelWith({ capabilities: { sampling: false } }),
    );
    expect([body.temperature, body.top_p, lost]).toEqual([undefined, undefined, ['temperature', 'topP']]);
    expect(encode({ temperature: 1 }).body).toMatchObject({ temperature: 1 });
  });

  it('lowers an output limit to the maximum of the model, or raises it to the minimum with a report', () => {
    expect(encode({ outputLimit: 100 }, modelWith(), 50).body).toMatchObject({ max_output_tokens: 50 });
    const { body, lost } = encode({ outputLimit: 1 });
    expect([body.max_output_tokens, lost]).toEqual([16, ['outputLimit']]);
  });

  it('fits the effort to the model, and reports a budget as the effort it becomes', () => {
    const model = modelWith({
      capabilities: { reasoning: { style: 'effort', efforts: ['low', 'medium', 'high'] } },
    });
    expect(encode({ reasoning: { effort: 'minimal' } }, model)).toMatchObject({
      body: { reasoning: { effort: 'low' } },
      lost: ['reasoning.effort'],
    });
    expect(encode({ reasoning: { budget: 8000, display: 'full' } }, model)).toMatchObject({
      body: { reasoning: { effort: 'medium', summary: 'auto' } },
      lost: ['reasoning.budget'],
    });
    const plain = modelWith({ capabilities: { reasoning: { style: 'none' } } });
    for (const reasoning of [{ effort: 'high' }, { display: 'summary' }] as const)
      expect(encode({ reasoning }, plain).lost).toEqual(['reasoning']);
    for (const reasoning of [{ effort: 'none' }, { display: 'none' }] as const)
      expect(encode({ reasoning }, plain).lost).toEqual([]);
    expect(encode({ reasoning: { budget: -1 } }, model).lost).toEqual([]);
  });

  it('writes a schema flat and with a name', () => {
    expect(
      encode({ format: { type: 'schema', schema: { type: 'object' } }, verbosity: 'low' }).body.text,
    ).toEqual({
      format: { type: 'json_schema', name: 'answer', schema: { type: 'object' } },
      verbosity: 'low',
    });
    expect(
      encode({ format: { type: 'json' } }, modelWith({ capabilities: { structuredOutput: false } })).lost,
    ).toEqual(['format']);
    expect(encode({ format: { type: 'schema', schema: undefined } }).body.text).toEqual({
      format: { type: 'json_schema', name: 'answer', schema: { type: 'object' } },
    });
  });

  it('asks in an instruction for a schema that is not of an object', () => {
    const { body, lost } = encode({
      format: { type: 'schema', schema: { type: 'array', items: { type: 'string' } } },
    });
    expect(body.input).toEqual([
      {
        role: 'system',
        content:
          'Answer with valid JSON alone, which keeps to this schema:\n' +
          '{"type":"array","items":{"type":"string"}}',
      },
      { role: 'user', content: 'Ahoy' },
    ]);
    expect([body.text, lost]).toEqual([undefined, ['format.schema']]);
  });

  it('translates service tiers and shortens long user names', () => {
    expect(encode({ serviceTier: 'standard_only' }).body.service_tier).toBe('default');
    expect(encode({ serviceTier: 'first-class' }).lost).toEqual(['serviceTier']);
    expect(String(encode({ user: 'u'.repeat(65) }).body.user)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('tools', () => {
  it('are not strict by default', () => {
    expect(
      encode({
        tools: [
          { type: 'function', name: 'f' },
          {
            type: 'function',
            name: 'g',
            schema: { type: 'object', additionalProperties: false },
            strict: true,
          },
        ],
      }).body.tools,
    ).toEqual([
      { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
      {
        type: 'function',
        name: 'g',
        parameters: { type: 'object', additionalProperties: false },
        strict: true,
      },
    ]);
  });

  it('get a valid name if OpenAI would refuse theirs, which is translated back in replies', () => {
    const tools = [{ type: 'function' as const, name: 'weather.at:sea' }];
    const { body } = encode({
      tools,
      toolChoice: { mode: 'one', names: ['weather.at:sea'] },
      turns: [user, { role: 'assistant', blocks: [{ ...call, name: 'weather.at:sea' }] }],
    });
    const written = /"name":"(weather_at_sea_[0-9a-f]{8})"/.exec(JSON.stringify(body.tools))?.[1];
    expect(body.tool_choice).toEqual({ type: 'function', name: written });
    expect(body.input).toMatchObject([{}, { name: written }]);
    const call2 = {
      ...callWith(),
      decode: (): CanonicalRequest => ({ model: 'a/b', stream: false, turns: [], tools }),
    };
    const events = protocol.upstream.decodeReply(
      {
        status: 'completed',
        output: [{ type: 'function_call', call_id: 'c', name: written, arguments: '{}' }],
      },
      call2,
    );
    expect(events.find((event) => event.type === 'block-start')).toMatchObject({ name: 'weather.at:sea' });
  });

  it("become web_search if another protocol's search; other hosted tools are reported as lost", () => {
    const { body, lost } = encode({
      tools: [
        {
          type: 'hosted',
          protocol: 'chat-completions',
          kind: 'web-search',
          value: { search_context_size: 'low', filters: {}, user_location: { type: 'approximate' } },
        },
        { type: 'hosted', protocol: 'messages', kind: 'other', value: { type: 'web_fetch_20250910' } },
      ],
      toolChoice: { mode: 'subset', names: [], required: true },
    });
    expect(body.tools).toEqual([
      { type: 'web_search', search_context_size: 'low', user_location: { type: 'approximate' } },
    ]);
    expect(lost).toEqual(['tools[1]']);
  });

  it('lose a choice among no tools, which is reported if it required a call', () => {
    const asked = (request: Partial<CanonicalRequest>): unknown[] => {
      const { body, lost } = encode(request);
      return [body.tool_choice, lost];
    };
    expect(asked({ toolChoice: { mode: 'auto' }, parallelToolCalls: false })).toEqual([undefined, []]);
    expect(asked({ toolChoice: { mode: 'required' } })).toEqual([undefined, ['toolChoice']]);
    const tools: CanonicalRequest['tools'] = [{ type: 'function', name: 'f' }];
    expect(asked({ toolChoice: { mode: 'one', names: ['bash'] }, tools })).toEqual([
      undefined,
      ['toolChoice'],
    ]);
    expect(asked({ toolChoice: { mode: 'subset', names: ['f', 'bash'], required: true }, tools })).toEqual([
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
      ['toolChoice'],
    ]);
  });

  it("keep a Gemini client's search allowed next to a choice of functions", () => {
    const tools: CanonicalRequest['tools'] = [
      { type: 'function', name: 'f' },
      { type: 'function', name: 'g' },
      { type: 'hosted', protocol: 'generate-content', kind: 'web-search', value: { googleSearch: {} } },
    ];
    const { body } = encode({ tools, toolChoice: { mode: 'subset', names: ['f'], required: false } });
    expect(body.tool_choice).toEqual({
      type: 'allowed_tools',
      mode: 'auto',
      tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }],
    });
  });

  it('keep a cache breakpoint on a result, and report one on a call as lost', () => {
    const turns: Turn[] = [
      { role: 'assistant', blocks: [{ ...call, cache: {} }] },
      {
        role: 'tool',
        blocks: [{ type: 'tool-result', callId: 'c1', content: [{ type: 'text', text: '1' }], cache: {} }],
      },
    ];
    const { body, lost } = encode(
      { turns },
      modelWith({ capabilities: { wire: { responses: { cacheMarks: true } } } }),
    );
    expect(body.input).toMatchObject([
      {},
      { output: [{ type: 'input_text', text: '1', prompt_cache_breakpoint: { mode: 'explicit' } }] },
    ]);
    expect(lost).toEqual(['turns[0].blocks[0].cache']);
  });

  it('have a flat grammar that is nested in the canonical form', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' };
    const { tools } = callWith({ tools: [{ type: 'custom', name: 'p', format }] }).decode();
    expect(tools).toMatchObject([
      { format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } } },
    ]);
    expect(
      encode({
        tools: [
          {
            type: 'custom',
            name: 'p',
            format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } },
          },
        ],
      }).body.tools,
    ).toEqual([{ type: 'custom', name: 'p', format }]);
  });
});

describe('a token count', () => {
  it('sends only the fields that OpenAI counts', () => {
    const asked = protocol.count?.encodeRequest(
      {
        model: 'a/b',
        stream: false,
        turns: [user],
        outputLimit: 100,
        temperature: 1,
        tools: [{ type: 'function', name: 'f' }],
      },
      modelWith(),
    ).body;
    expect(Object.keys(isObject(asked) ? asked : {}).toSorted()).toEqual(['input', 'model', 'tools']);
  });
});

describe('losses', () => {
  it.each([
    ['outputLimit', 'max_output_tokens'],
    ['format', 'text.format'],
    ['reasoning.display', 'reasoning.summary'],
    ['turns[0].blocks[0].opaque', 'input[1].content[0].encrypted_content'],
    ['tools[0].strict', 'tools[0].tools[0].strict'],
    ['turns[0].blocks[0].item.phase', 'input[1].phase'],
  ])("names the canonical path %s as the client's path %s", (path, expected) => {
    const request = callWith({
      input: [
        { type: 'reasoning', summary: [] },
        { role: 'assistant', content: [{ type: 'output_text', text: 'x' }] },
      ],
      tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f' }] }],
    }).decode();
    expect(
      clientPath('user', callWith({ safety_identifier: 's' }).decode(), protocol.client.fieldNames),
    ).toBe('safety_identifier');
    const [reasoning, text] = request.turns[0]?.blocks ?? [];
    const turns: Turn[] = [{ role: 'assistant', blocks: text && reasoning ? [text, reasoning] : [] }];
    expect(clientPath(path, { ...request, turns }, protocol.client.fieldNames)).toBe(expected);
  });

  it('reports fields that only this protocol has, but not those that agents send needlessly', () => {
    const request = callWith({
      store: false,
      include: ['reasoning.encrypted_content'],
      truncation: 'disabled',
      client_metadata: { a: '1' },
      input: [
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'assistant',
          phase: 'commentary',
          content: [{ type: 'output_text', text: 'x', annotations: [], logprobs: [] }],
        },
      ],
    }).decode();
    expect(Object.keys(request.vendor?.responses ?? {})).toEqual(['client_metadata']);
    expect(request.turns[0]?.blocks[0]?.vendor).toEqual({ responses: { item: { phase: 'commentary' } } });
  });
});

describe('stop sequences', () => {
  it('are applied to the reply by the gateway, and refused if there are too many', () => {
    const request = (count: number): CanonicalRequest => ({
      model: 'a/b',
      stream: false,
      turns: [user],
      stop: Array.from({ length: count }, (_, place) => `end ${place}`),
    });
    expect(protocol.upstream.encodeRequest(request(1000), modelWith(), undefined).stops).toHaveLength(1000);
    expect(
      thrownBy(() => protocol.upstream.encodeRequest(request(1001), modelWith(), undefined)),
    ).toMatchObject({ code: 'unsupported_parameter', details: { param: 'stop' } });
  });
});
