import { describe, expect, it } from 'vitest';
import type { CanonicalRequest, Model } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { sendOwn } from '../support/families.ts';
import { ahoy, user } from '../support/turns.ts';
import { makeCapable, makeCall, makeModel, encode, plainModel } from './bodies.ts';

const thinker = makeModel({
  id: 'deepseek/deepseek-v4-flash',
  capabilities: {
    reasoning: { style: 'effort', efforts: ['high', 'max'], canDisable: true },
    wire: { 'chat-completions': { thinkingMode: true } },
  },
});

/** The request, the fields that reach the model, the paths reported as lost, and the model. */
const fitted: [
  asked: Partial<CanonicalRequest>,
  sent: Record<string, unknown>,
  lost?: string[],
  model?: Model,
][] = [
  [{ topK: 40 }, {}, ['topK']],
  [
    { temperature: 0.5, topP: 0.1, frequencyPenalty: 1, presencePenalty: 1, logprobs: { top: 2 }, seed: 3 },
    { seed: 3 },
    ['temperature', 'topP', 'frequencyPenalty', 'presencePenalty', 'logprobs', 'logprobs.top'],
    makeCapable({ sampling: false }),
  ],
  [
    { stop: ['x'], seed: 1, temperature: 1 },
    { temperature: 1 },
    ['seed'],
    makeModel({ supportedParameters: ['temperature', 'tools'] }),
  ],
  [{ stop: ['a', 'b', 'c', 'd', 'e'] }, { stop: ['a', 'b', 'c', 'd'] }],
  [{ stop: [] }, {}],
  [{ reasoning: { budget: 2000 } }, { reasoning_effort: 'low' }, ['reasoning.budget']],
  [
    { reasoning: { effort: 'xhigh' } },
    { reasoning_effort: 'high' },
    ['reasoning.effort'],
    makeCapable({ reasoning: { style: 'effort', efforts: ['low', 'medium', 'high'] } }),
  ],
  [
    { reasoning: { effort: 'minimal' } },
    { reasoning_effort: 'low' },
    ['reasoning.effort'],
    makeCapable({ reasoning: { style: 'effort', efforts: ['max', 'low', 'high'] } }),
  ],
  [
    { reasoning: { effort: 'xhigh' } },
    { reasoning_effort: 'high' },
    ['reasoning.effort'],
    makeCapable({ reasoning: { style: 'effort', efforts: ['max', 'low', 'high'] } }),
  ],
  [{ reasoning: { effort: 'low' } }, {}, ['reasoning'], plainModel],
  [{ reasoning: { effort: 'none' } }, {}, [], plainModel],
  [{ reasoning: { budget: 0, display: 'none' } }, { thinking: { type: 'disabled' } }, [], thinker],
  [{ reasoning: { effort: 'low' } }, { reasoning_effort: 'high' }, ['reasoning.effort'], thinker],
  [{ reasoning: { display: 'none' } }, {}, [], plainModel],
  [{ reasoning: { display: 'none' } }, {}, ['reasoning.display']],
  [
    { verbosity: 'low', metadata: { a: 'b' }, serviceTier: 'flex', cacheKey: 'k', user: 'u' },
    { user: 'u' },
    ['verbosity', 'metadata', 'serviceTier', 'cacheKey'],
    plainModel,
  ],
  [
    { verbosity: 'low', metadata: { a: 'b' }, serviceTier: 'flex', cacheKey: 'k' },
    { verbosity: 'low', metadata: { a: 'b' }, service_tier: 'flex', prompt_cache_key: 'k' },
  ],
  [
    { format: { type: 'schema', schema: { type: 'object' } } },
    { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } } },
  ],
  [
    { format: { type: 'json' } },
    {
      messages: [
        { role: 'system', content: 'Answer with one valid JSON object and nothing else.' },
        { role: 'user', content: 'Ahoy' },
      ],
    },
    ['format'],
    makeCapable({ structuredOutput: false }),
  ],
  [
    { tools: [{ type: 'function', name: 'f' }], toolChoice: { mode: 'required' } },
    {},
    ['tools'],
    makeCapable({ tools: false }),
  ],
  [
    {
      tools: [{ type: 'hosted', protocol: 'responses', kind: 'other', value: {} }],
      toolChoice: { mode: 'auto' },
      parallelToolCalls: true,
    },
    {},
    ['tools[0]'],
  ],
  [
    { tools: [{ type: 'hosted', protocol: 'messages', kind: 'web-search', value: {} }] },
    { web_search_options: {} },
    [],
    makeModel({ supportedParameters: ['web_search_options'] }),
  ],
  [
    { tools: [{ type: 'function', name: 'f', namespace: 'n', cache: {} }] },
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
    plainModel,
  ],
  [{ outputLimit: 9 }, { max_completion_tokens: 9 }],
  [
    { outputLimit: 9 },
    { max_tokens: 9 },
    [],
    makeCapable({ wire: { 'chat-completions': { outputLimitField: 'max_tokens' } } }),
  ],
  [{ stream: true }, { stream: true, stream_options: { include_usage: true } }],
  [{ vendor: { responses: { truncation: 'auto', store: null } } }, {}, ['truncation']],
  [{ turns: [{ ...ahoy, vendor: { messages: { citations: {} } } }] }, {}, ['turns[0].citations']],
  [
    { turns: [user({ type: 'text', text: 'Ahoy', cache: { ttl: '1h' } })] },
    {},
    ['turns[0].blocks[0].cache'],
    plainModel,
  ],
];

describe('a request fitted to its model', () => {
  it.each(fitted)(
    'has the fields that the model takes, and reports the others: %j',
    (asked, sent, lost = [], model = makeModel()) => {
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
    expect(encode({ outputLimit: 900 }, makeModel(), 50).body.max_completion_tokens).toBe(50);
  });

  it("leaves out the client's own sampling fields too if the model does not take any", () => {
    const request = makeCall({ temperature: 1, logit_bias: { 1: 5 } }).decode();
    expect(encode(request, makeCapable({ sampling: false }))).toMatchObject({
      lost: ['logit_bias', 'temperature'],
    });
  });

  it('has all digits of a seed that is too large for a double', () => {
    const { body } = protocol.upstream.encodeRequest(
      { model: 'a/b', stream: false, turns: [ahoy], seed: '9223372036854775807' },
      makeModel(),
      undefined,
    );
    expect(JSON.stringify(body)).toContain('"seed":9223372036854775807');
  });

  it('is encoded as it was edited, not as it was read', () => {
    const content = [{ type: 'text', text: 'a' }];
    const wire = { model: 'a/b', stop: 'x', messages: [{ role: 'user', content }] };
    const { body } = sendOwn('chat-completions', wire, {
      change: (request) => ({
        ...request,
        stop: ['y', 'z'],
        turns: request.turns.map((turn) => ({
          ...turn,
          blocks: turn.blocks.map((block) => (block.type === 'text' ? { ...block, text: 'b' } : block)),
        })),
      }),
    });
    expect(body).toMatchObject({
      stop: ['y', 'z'],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'b' }] }],
    });
  });
});
