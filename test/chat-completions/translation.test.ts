import { describe, expect, it } from 'vitest';
import type { CanonicalEvent, CanonicalRequest, ClientCall, Model, Opaque, Turn } from '../../core/index.ts';
import { clientPath } from '../../core/loss.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { envelopeMark } from '../../plugins/shared/wire-kit/envelope.ts';
import { decodeAll } from '../contract/replies.ts';
import { isObject } from '../support/json.ts';
import { callWith, modelWith } from './bodies.ts';

const user: Turn = { role: 'user', blocks: [{ type: 'text', text: 'Ahoy' }] };

/** Encodes a request of another protocol's client for a model. */
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

function messages(...turns: Turn[]): unknown {
  return encode({ turns }).body.messages;
}

const thinker = modelWith({
  id: 'deepseek/deepseek-v4-flash',
  capabilities: {
    reasoning: { style: 'effort', efforts: ['high', 'max'], canDisable: true },
    wire: { 'chat-completions': { thinkingMode: true } },
  },
});
const plainModel = modelWith({
  capabilities: { reasoning: { style: 'none' }, wire: { 'chat-completions': { extras: false } } },
});

describe('messages', () => {
  it('hold plain text as one string, however many blocks it has', () => {
    expect(
      messages(
        {
          role: 'system',
          blocks: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        {
          role: 'assistant',
          blocks: [
            { type: 'text', text: 'c' },
            { type: 'text', text: 'd' },
          ],
        },
      ),
    ).toEqual([
      { role: 'system', content: 'a\n\nb' },
      { role: 'assistant', content: 'cd' },
    ]);
  });

  it('hold each tool result alone, and the media of results after the last one', () => {
    const image = {
      type: 'media',
      kind: 'image',
      source: { type: 'base64', data: 'AAAA' },
      mediaType: 'image/png',
    } as const;
    expect(
      messages(
        {
          role: 'assistant',
          blocks: [
            { type: 'tool-call', id: 'c1', name: 'f', arguments: '{"n":1.0}' },
            { type: 'tool-call', id: 'c2', name: 'f', arguments: '{}' },
          ],
        },
        {
          role: 'user',
          blocks: [
            { type: 'tool-result', callId: 'c1', content: [{ type: 'text', text: 'A chart:' }, image] },
          ],
        },
        {
          role: 'user',
          blocks: [
            { type: 'tool-result', callId: 'c2', content: [] },
            { type: 'text', text: 'Well?' },
          ],
        },
      ),
    ).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"n":1.0}' } },
          { id: 'c2', type: 'function', function: { name: 'f', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'A chart:\n\nSee file 1.' },
      { role: 'tool', tool_call_id: 'c2', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'This is file 1:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
      { role: 'user', content: 'Well?' },
    ]);
  });

  it('include the media of the last result', () => {
    const read = messages({
      role: 'tool',
      blocks: [
        {
          type: 'tool-result',
          callId: 'c1',
          content: [{ type: 'media', kind: 'image', source: { type: 'url', url: 'https://x' } }],
        },
      ],
    });
    expect(read).toMatchObject([
      { role: 'tool', content: 'See file 1.' },
      { role: 'user', content: [{}, { type: 'image_url', image_url: { url: 'https://x' } }] },
    ]);
  });

  it('turn a developer into a system for providers without that role', () => {
    const turn: Turn = { role: 'developer', blocks: [{ type: 'text', text: 'a' }] };
    expect(messages(turn)).toEqual([{ role: 'developer', content: 'a' }]);
    expect(encode({ turns: [turn] }, plainModel).body.messages).toEqual([{ role: 'system', content: 'a' }]);
  });

  it('hold documents as data, and text documents as text', () => {
    const document = (
      source: Extract<Turn['blocks'][number], { type: 'media' }>['source'],
      mediaType?: string,
    ): Turn => ({
      role: 'user',
      blocks: [{ type: 'media', kind: 'document', source, mediaType, title: 'Tides' }],
    });
    expect(messages(document({ type: 'base64', data: 'JVBE' }, 'application/pdf'))).toMatchObject([
      {
        content: [
          { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'Tides' } },
        ],
      },
    ]);
    expect(
      messages(document({ type: 'base64', data: Buffer.from('2 m').toString('base64') }, 'text/plain')),
    ).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
    expect(
      messages(document({ type: 'base64', data: Buffer.from('2 m').toString('base64') }, 'application/json')),
    ).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
    expect(messages(document({ type: 'text', text: '2 m' }))).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
  });

  it('let the user show the media of the assistant, after the results of its calls', () => {
    const image = {
      type: 'media',
      kind: 'image',
      source: { type: 'base64', data: 'iVBORw0KGgo=' },
      mediaType: 'image/png',
    } as const;
    const { body, lost } = encode({
      turns: [
        {
          role: 'assistant',
          blocks: [
            { type: 'text', text: 'Look.' },
            { ...image, source: { ...image.source } },
            { type: 'tool-call', id: 'c1', name: 'f', arguments: '{}' },
          ],
        },
        {
          role: 'tool',
          blocks: [{ type: 'tool-result', callId: 'c1', content: [{ type: 'text', text: 'r' }] }],
        },
      ],
    });
    expect(body.messages).toMatchObject([
      { role: 'assistant', content: 'Look.', tool_calls: [{ id: 'c1' }] },
      { role: 'tool', content: 'r' },
      {
        role: 'user',
        content: [
          { text: 'What the assistant showed:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
    ]);
    expect(lost).toEqual(['turns[0].blocks[1]']);
  });

  it('are refused if they lack content that the answer depends on', () => {
    const turn =
      (block: Turn['blocks'][number]): (() => unknown) =>
      () =>
        messages({ role: 'user', blocks: [block] });
    expect(turn({ type: 'media', kind: 'video', source: { type: 'url', url: 'https://x' } })).toThrow(
      /no video/,
    );
    expect(
      turn({ type: 'media', kind: 'document', source: { type: 'file', vendor: 'anthropic', id: 'file_1' } }),
    ).toThrow(/kept by anthropic/);
  });

  it('hold a file id of OpenAI only for OpenAI', () => {
    const turns: Turn[] = [
      {
        role: 'user',
        blocks: [
          { type: 'media', kind: 'document', source: { type: 'file', vendor: 'openai', id: 'file-1' } },
        ],
      },
    ];
    expect(encode({ turns }).body.messages).toEqual([
      { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] },
    ]);
    expect(() =>
      encode(
        { turns },
        modelWith({
          id: 'mistralai/mistral-large',
          capabilities: { wire: { 'chat-completions': { extras: false } } },
        }),
      ),
    ).toThrow(/kept by openai/);
  });
});

describe('sealed reasoning', () => {
  const sealed: Turn = {
    role: 'assistant',
    blocks: [
      {
        type: 'reasoning',
        text: 'hm',
        opaque: [{ vendor: 'anthropic', kind: 'signature', value: 'c2VhbA==' }],
      },
      { type: 'text', text: 'a' },
    ],
  };
  const turns = [user, sealed, user];

  it('goes back to its own vendor byte for byte', () => {
    const { body, lost } = encode({ turns }, modelWith({ id: 'anthropic/claude' }));
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
    const { turns: own } = callWith({
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
    expect(
      encode({ turns: [{ role: 'assistant', blocks: [{ type: 'reasoning', text: 'hm' }] }] }),
    ).toMatchObject({
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
        turns: [
          {
            role: 'assistant',
            blocks: [
              { ...block, opaque: [...block.opaque] },
              { type: 'text', text: 'a' },
            ],
          },
        ],
      },
      modelWith({ id: 'deepseek/deepseek-v4-flash' }),
    );
    expect(body.messages).toEqual([{ role: 'assistant', content: 'a', reasoning_content: 'hm' }]);
  });
});

describe('a model that needs its reasoning back', () => {
  const deepseek = modelWith({
    id: 'deepseek/deepseek-v4-pro',
    capabilities: {
      reasoning: { style: 'effort', efforts: ['high', 'max'] },
      wire: { 'chat-completions': { extras: false, thinkingMode: true } },
    },
  });
  const call = { type: 'tool-call', id: 'c1', name: 'f', arguments: '{}' } as const;
  const result: Turn = {
    role: 'tool',
    blocks: [{ type: 'tool-result', callId: 'c1', content: [{ type: 'text', text: 'y' }] }],
  };

  it('gets a blank in every assistant message if the reasoning is gone', () => {
    const { body } = encode(
      {
        turns: [
          user,
          { role: 'assistant', blocks: [call] },
          result,
          { role: 'assistant', blocks: [{ type: 'text', text: 'a' }] },
          user,
        ],
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
    const { turns } = callWith({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: 'a' },
      ],
    }).decode();
    const { body } = protocol.upstream.encodeRequest({ ...callWith().decode(), turns }, deepseek, undefined);
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

describe('an envelope that a client sends back', () => {
  const signature = { vendor: 'anthropic', kind: 'signature', value: 'c2VhbA==' };
  const encrypted = { vendor: 'anthropic', kind: 'encrypted', value: 'eHg=' };
  const call = { vendor: 'google', kind: 'signature', value: 'Z2c=' };
  const kept = (...states: Opaque[]): ClientCall => {
    const events: CanonicalEvent[] = [
      { type: 'block-start', candidate: 0, block: 0, kind: 'reasoning' },
      { type: 'block-delta', candidate: 0, block: 0, text: 'hm' },
      { type: 'block-end', candidate: 0, block: 0, opaque: states },
      { type: 'block-start', candidate: 0, block: 1, kind: 'tool-call', id: 'c1', name: 'f' },
      { type: 'block-end', candidate: 0, block: 1, opaque: [call] },
      { type: 'finish', candidate: 0, reason: { unified: 'tool-calls', raw: 'tool_use' } },
    ];
    const reply = protocol.client.encodeReply(events, {
      id: 'k',
      model: 'anthropic/claude',
      created: 1,
      call: callWith(),
    });
    const [choice]: unknown[] = isObject(reply) && Array.isArray(reply.choices) ? reply.choices : [];
    return callWith({
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
      const read = kept(...states);
      expect(read.carriesState).toBe(true);
      const [reasoning, ...others] = read.decode().turns[1]?.blocks ?? [];
      expect(reasoning).toMatchObject({ type: 'reasoning', text: 'hm', opaque: states });
      expect(others).toMatchObject([{ type: 'tool-call', opaque: [call] }]);
    },
  );

  it('becomes entries in the format of its vendor', () => {
    const { body, lost } = encode(kept(signature, encrypted).decode(), modelWith({ id: 'anthropic/claude' }));
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
    const { body, lost } = encode(kept(signature).decode(), modelWith({ id: 'google/gemini' }));
    expect(JSON.stringify(body)).not.toContain(envelopeMark);
    expect(body.messages).toMatchObject([
      {},
      { tool_calls: [{ extra_content: { google: { thought_signature: 'Z2c=' } } }] },
      {},
    ]);
    expect(JSON.stringify(body)).not.toMatch(/reasoning_|hm/);
    expect(lost).toEqual(['turns[1].blocks[0]']);
  });
});

describe('names and ids that this protocol does not take', () => {
  const long = 'x'.repeat(80);
  const request: Partial<CanonicalRequest> = {
    tools: [
      { type: 'function', name: 'mcp.files/read' },
      { type: 'function', name: long },
      { type: 'function', name: 'plain-1' },
    ],
    toolChoice: { mode: 'one', names: ['mcp.files/read'] },
    turns: [
      {
        role: 'assistant',
        blocks: [{ type: 'tool-call', id: long, name: 'mcp.files/read', arguments: '{}' }],
      },
      { role: 'tool', blocks: [{ type: 'tool-result', callId: long, content: [] }] },
    ],
  };
  const sent = encode(request).body;

  it('are replaced consistently everywhere, and no others are', () => {
    const [first, second, third] = Array.isArray(sent.tools)
      ? sent.tools.map((tool: unknown) =>
          isObject(tool) && isObject(tool.function) ? String(tool.function.name) : '',
        )
      : [];
    expect(first).toMatch(/^mcp_files_read_[0-9a-f]{16}$/);
    expect(second).toMatch(/^x{47}_[0-9a-f]{16}$/);
    expect(third).toBe('plain-1');
    expect(sent.tool_choice).toEqual({ type: 'function', function: { name: first } });
    const id = expect.stringMatching(/^call_[0-9a-f]{16}$/);
    expect(sent.messages).toMatchObject([
      { tool_calls: [{ id, function: { name: first } }] },
      { tool_call_id: id },
    ]);
  });

  it('come back to the client as it wrote them', () => {
    const [tool]: unknown[] = Array.isArray(sent.tools) ? sent.tools : [];
    const name = isObject(tool) && isObject(tool.function) ? tool.function.name : undefined;
    const client: ClientCall = {
      ...callWith(),
      decode: () => ({ model: 'a/b', stream: false, turns: [user], ...request }),
    };
    const reply = {
      choices: [
        {
          index: 0,
          message: { tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: '{}' } }] },
          finish_reason: 'tool_calls',
        },
      ],
    };
    expect(protocol.upstream.decodeReply(reply, client)).toContainEqual(
      expect.objectContaining({ type: 'block-start', name: 'mcp.files/read' }),
    );
  });
});

describe('a loss', () => {
  it('is reported by its path in the client body', () => {
    const request = callWith({
      messages: [
        { role: 'system', content: 'a' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'b' },
            { type: 'text', text: 'c', x_new: 1 },
          ],
        },
      ],
      tools: [{ type: 'function', function: { name: 'f' }, x_tool: 1 }],
      logit_bias: { 1: 1 },
    }).decode();
    const words = [
      'turns[1].blocks[1].x_new',
      'tools[0].x_tool',
      'topP',
      'reasoning.budget',
      'logit_bias',
    ].map((path) => clientPath(path, request, protocol.client.fieldNames));
    expect(words).toEqual([
      'messages[1].content[1].x_new',
      'tools[0].x_tool',
      'top_p',
      'reasoning.max_tokens',
      'logit_bias',
    ]);
  });
});

/** The request, the model, the fields that reach it, and the paths reported as lost. */
const fitted: [
  asked: Partial<CanonicalRequest>,
  model: Model,
  sent: Record<string, unknown>,
  lost: string[],
][] = [
  [{ topK: 40 }, modelWith(), {}, ['topK']],
  [
    { temperature: 0.5, topP: 0.1, frequencyPenalty: 1, presencePenalty: 1, logprobs: { top: 2 }, seed: 3 },
    modelWith({ capabilities: { sampling: false } }),
    { seed: 3 },
    ['temperature', 'topP', 'frequencyPenalty', 'presencePenalty', 'logprobs', 'logprobs.top'],
  ],
  [
    { stop: ['x'], seed: 1, temperature: 1 },
    modelWith({ supportedParameters: ['temperature', 'tools'] }),
    { temperature: 1 },
    ['seed'],
  ],
  [{ stop: ['a', 'b', 'c', 'd', 'e'] }, modelWith(), { stop: ['a', 'b', 'c', 'd'] }, []],
  [{ stop: [] }, modelWith(), {}, []],
  [{ reasoning: { budget: 2000 } }, modelWith(), { reasoning_effort: 'low' }, ['reasoning.budget']],
  [
    { reasoning: { effort: 'xhigh' } },
    modelWith({ capabilities: { reasoning: { style: 'effort', efforts: ['low', 'medium', 'high'] } } }),
    { reasoning_effort: 'high' },
    ['reasoning.effort'],
  ],
  [
    { reasoning: { effort: 'minimal' } },
    modelWith({ capabilities: { reasoning: { style: 'effort', efforts: ['max', 'low', 'high'] } } }),
    { reasoning_effort: 'low' },
    ['reasoning.effort'],
  ],
  [
    { reasoning: { effort: 'xhigh' } },
    modelWith({ capabilities: { reasoning: { style: 'effort', efforts: ['max', 'low', 'high'] } } }),
    { reasoning_effort: 'high' },
    ['reasoning.effort'],
  ],
  [{ reasoning: { effort: 'low' } }, plainModel, {}, ['reasoning']],
  [{ reasoning: { effort: 'none' } }, plainModel, {}, []],
  [{ reasoning: { budget: 0, display: 'none' } }, thinker, { thinking: { type: 'disabled' } }, []],
  [{ reasoning: { effort: 'low' } }, thinker, { reasoning_effort: 'high' }, ['reasoning.effort']],
  [{ reasoning: { display: 'none' } }, plainModel, {}, []],
  [{ reasoning: { display: 'none' } }, modelWith(), {}, ['reasoning.display']],
  [
    { verbosity: 'low', metadata: { a: 'b' }, serviceTier: 'flex', cacheKey: 'k', user: 'u' },
    plainModel,
    { user: 'u' },
    ['verbosity', 'metadata', 'serviceTier', 'cacheKey'],
  ],
  [
    { verbosity: 'low', metadata: { a: 'b' }, serviceTier: 'flex', cacheKey: 'k' },
    modelWith(),
    { verbosity: 'low', metadata: { a: 'b' }, service_tier: 'flex', prompt_cache_key: 'k' },
    [],
  ],
  [
    { format: { type: 'schema', schema: { type: 'object' } } },
    modelWith(),
    { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } } },
    [],
  ],
  [
    { format: { type: 'json' } },
    modelWith({ capabilities: { structuredOutput: false } }),
    {
      messages: [
        { role: 'system', content: 'Answer with one valid JSON object and nothing else.' },
        { role: 'user', content: 'Ahoy' },
      ],
    },
    ['format'],
  ],
  [
    { tools: [{ type: 'function', name: 'f' }], toolChoice: { mode: 'required' } },
    modelWith({ capabilities: { tools: false } }),
    {},
    ['tools'],
  ],
  [
    {
      tools: [{ type: 'hosted', protocol: 'responses', kind: 'other', value: {} }],
      toolChoice: { mode: 'auto' },
      parallelToolCalls: true,
    },
    modelWith(),
    {},
    ['tools[0]'],
  ],
  [
    { tools: [{ type: 'hosted', protocol: 'messages', kind: 'web-search', value: {} }] },
    modelWith({ supportedParameters: ['web_search_options'] }),
    { web_search_options: {} },
    [],
  ],
  [
    { tools: [{ type: 'function', name: 'f', namespace: 'n', cache: {} }] },
    modelWith(),
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    ['tools[0].namespace.name', 'tools[0].cache'],
  ],
  [
    {
      tools: [
        {
          type: 'custom',
          name: 'patch',
          description: 'Applies',
          format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: x' } },
        },
      ],
      toolChoice: { mode: 'one', names: ['patch'] },
    },
    plainModel,
    {
      tools: [
        {
          type: 'function',
          function: {
            name: 'patch',
            description: 'Applies\n\nThe input follows this grammar (lark):\nstart: x',
            parameters: {
              type: 'object',
              properties: { input: { type: 'string' } },
              required: ['input'],
              additionalProperties: false,
            },
          },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'patch' } },
    },
    ['tools[0].format'],
  ],
  [{ outputLimit: 9 }, modelWith(), { max_completion_tokens: 9 }, []],
  [
    { outputLimit: 9 },
    modelWith({ capabilities: { wire: { 'chat-completions': { outputLimitField: 'max_tokens' } } } }),
    { max_tokens: 9 },
    [],
  ],
  [{ stream: true }, modelWith(), { stream: true, stream_options: { include_usage: true } }, []],
  [{ vendor: { responses: { truncation: 'auto', store: null } } }, modelWith(), {}, ['truncation']],
  [
    { turns: [{ ...user, vendor: { messages: { citations: {} } } }] },
    modelWith(),
    {},
    ['turns[0].citations'],
  ],
  [
    { turns: [{ role: 'user', blocks: [{ type: 'text', text: 'Ahoy', cache: { ttl: '1h' } }] }] },
    plainModel,
    {},
    ['turns[0].blocks[0].cache'],
  ],
];

describe('a request fitted to its model', () => {
  it.each(fitted)(
    'has the fields that the model takes, and reports the others: %j',
    (asked, model, sent, lost) => {
      const read = encode(asked, model);
      expect(read.body).toEqual({
        model: 'gpt-5.5-upstream',
        messages: [{ role: 'user', content: 'Ahoy' }],
        ...sent,
      });
      expect(read.lost).toEqual(lost);
    },
  );

  it('has the lowered limit in place of the requested one', () => {
    expect(encode({ outputLimit: 900 }, modelWith(), 50).body.max_completion_tokens).toBe(50);
  });

  it('has a cache mark, with a lifetime this protocol has, if the model takes marks', () => {
    const marked = (ttl?: '1h' | '30m'): Partial<CanonicalRequest> => ({
      turns: [{ role: 'user', blocks: [{ type: 'text', text: 'a', cache: ttl ? { ttl } : {} }] }],
    });
    const model = modelWith({
      capabilities: { wire: { 'chat-completions': { extras: true, cacheMarks: true } } },
    });
    expect(encode(marked('1h'), model)).toMatchObject({
      body: {
        messages: [{ content: [{ type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } }] }],
      },
      lost: ['turns[0].blocks[0].cache.ttl'],
    });
    expect(encode(marked('30m'), model)).toMatchObject({
      body: { messages: [{ content: [{ prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } }] }] },
      lost: [],
    });
  });

  it('has the mark of a result on its last part, and reports one on a call or on an empty result', () => {
    const model = modelWith({
      capabilities: { wire: { 'chat-completions': { extras: true, cacheMarks: true } } },
    });
    const turns: Turn[] = [
      { role: 'assistant', blocks: [{ type: 'tool-call', id: 'c', name: 'f', arguments: '{}', cache: {} }] },
      {
        role: 'user',
        blocks: [
          {
            type: 'tool-result',
            callId: 'c',
            content: [
              { type: 'text', text: 'a' },
              { type: 'text', text: 'b' },
            ],
            cache: {},
          },
        ],
      },
      { role: 'user', blocks: [{ type: 'tool-result', callId: 'c', content: [], cache: {} }] },
    ];
    const { body, lost } = encode({ turns }, model);
    expect(body.messages).toMatchObject([
      {},
      {
        role: 'tool',
        content: [{ text: 'a' }, { text: 'b', prompt_cache_breakpoint: { mode: 'explicit' } }],
      },
      { role: 'tool', content: '' },
    ]);
    expect(lost).toEqual(['turns[0].blocks[0].cache', 'turns[2].blocks[0].cache']);
  });

  it('leaves out an item of another protocol, and reports it', () => {
    const foreign = { type: 'foreign', protocol: 'responses', value: {} } as const;
    expect(
      encode({ turns: [{ role: 'user', blocks: [foreign, { type: 'text', text: 'a' }] }] }),
    ).toMatchObject({ body: { messages: [{ content: 'a' }] }, lost: ['turns[0].blocks[0]'] });
  });

  it('leaves out a choice among tools that are not offered, and reports it', () => {
    const hosted = {
      type: 'hosted',
      protocol: 'messages',
      kind: 'other',
      value: { type: 'computer_20250124', name: 'computer' },
    } as const;
    const tools = [{ type: 'function' as const, name: 'f' }, hosted];
    const chosen = (
      toolChoice: CanonicalRequest['toolChoice'],
      offered: CanonicalRequest['tools'] = tools,
    ): unknown[] => {
      const { body, lost } = encode({ tools: offered, toolChoice });
      return [body.tool_choice, lost.filter((path) => path === 'toolChoice').length];
    };
    expect(chosen({ mode: 'one', names: ['computer'] })).toEqual([undefined, 1]);
    expect(chosen({ mode: 'subset', names: ['computer', 'f'] })).toEqual([
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
      1,
    ]);
    expect(chosen({ mode: 'required' }, [hosted])).toEqual([undefined, 1]);
    expect(chosen({ mode: 'none' }, [hosted])).toEqual([undefined, 0]);
  });

  it('sends the result of a failed tool as a plain result, and reports it', () => {
    const turns: Turn[] = [
      {
        role: 'tool',
        blocks: [
          { type: 'tool-result', callId: 'c', content: [{ type: 'text', text: 'no' }], isError: true },
        ],
      },
    ];
    expect(encode({ turns })).toMatchObject({
      body: { messages: [{ role: 'tool', tool_call_id: 'c', content: 'no' }] },
      lost: ['turns[0].blocks[0].isError'],
    });
  });

  it("leaves out the client's own sampling fields too if the model does not take any", () => {
    const request = callWith({ temperature: 1, logit_bias: { 1: 5 }, top_logprobs: 0 }).decode();
    expect(encode(request, modelWith({ capabilities: { sampling: false } }))).toMatchObject({
      lost: ['logit_bias', 'temperature', 'logprobs.top'],
    });
  });

  it('has all digits of a seed that is too large for a double', () => {
    const { body } = protocol.upstream.encodeRequest(
      { model: 'a/b', stream: false, turns: [user], seed: '9223372036854775807' },
      modelWith(),
      undefined,
    );
    expect(JSON.stringify(body)).toContain('"seed":9223372036854775807');
  });

  it('is encoded as it was edited, not as it was read', () => {
    const request = callWith({
      stop: 'x',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }],
    }).decode();
    const [turn] = request.turns;
    if (!turn) throw new Error('no turn');
    const { body } = encode({
      ...request,
      stop: ['y', 'z'],
      turns: [{ ...turn, blocks: [{ type: 'text', text: 'b' }] }],
    });
    expect(body).toMatchObject({
      stop: ['y', 'z'],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'b' }] }],
    });
  });
});

describe('audio', () => {
  const speaking = modelWith({ output: ['text', 'audio'] });

  it('is requested with a voice, in samples and with text, as this protocol requires', () => {
    const { body, lost } = encode({ modalities: ['audio'] }, speaking);
    expect(body).toMatchObject({ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } });
    expect(lost).toEqual(['modalities']);
    expect(encode({ modalities: ['text', 'audio'] })).toMatchObject({
      body: expect.not.objectContaining({ audio: expect.anything() }),
      lost: ['modalities'],
    });
  });

  it.each([
    [{ type: 'base64', data: 'AA' }, 'audio/flac'],
    [{ type: 'url', url: 'https://x.example/a.wav' }, 'audio/wav'],
  ] as const)('of another kind, or by address, refuses the call: %j', (source, mediaType) => {
    expect(() =>
      encode({
        turns: [
          { role: 'user', blocks: [{ type: 'media', kind: 'audio', source: { ...source }, mediaType }] },
        ],
      }),
    ).toThrow(/WAV or MP3/);
  });

  it.each([
    [{ audio: { voice: 'ash', format: 'mp3' }, modalities: ['text', 'audio'] }, 'audio/mpeg'],
    [{}, undefined],
  ] as const)('of a reply to %j is %s', (fields, mediaType) => {
    const reply = {
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, audio: { id: 'a1', data: 'AAAA', transcript: 'Hi.' } },
          finish_reason: 'stop',
        },
      ],
    };
    const events = protocol.upstream.decodeReply(reply, callWith(fields));
    expect(events.find((event) => event.type === 'block-start')).toMatchObject({
      kind: 'audio',
      id: 'a1',
      ...(mediaType === undefined ? {} : { mediaType }),
    });
    expect(JSON.stringify(events).includes('mediaType')).toBe(mediaType !== undefined);
  });

  it('of a reply in parts is merged without touching the prototype of objects', () => {
    const decoder = protocol.upstream.decodeEvents(callWith({ stream: true }));
    const chunks = ['{"id":"a1","data":"AA"}', '{"data":"AA","__proto__":{"polluted":true}}'].map(
      (audio) => `{"choices":[{"index":0,"delta":{"audio":${audio}},"finish_reason":null}]}`,
    );
    const events = decodeAll(
      decoder,
      [...chunks, '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', '[DONE]'].map((data) => ({
        event: undefined,
        data,
      })),
    );
    const reply = protocol.client.encodeReply(events, {
      id: 'k',
      model: 'openai/gpt-audio',
      created: 1,
      call: callWith(),
    });
    expect(reply).toMatchObject({ choices: [{ message: { audio: { id: 'a1', data: 'AAAA' } } }] });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
});
