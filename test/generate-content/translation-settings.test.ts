import { describe, expect, it } from 'vitest';
import type { CanonicalRequest, Model } from '../../core/index.ts';
import { makeCapable, makeModel, older, encode } from './bodies.ts';
import { gemma } from './encoded.ts';

/** The settings that ask for thoughts of a level or within a budget. */
function requestThoughts(much: string | number, includeThoughts = true): Record<string, unknown> {
  const key = typeof much === 'string' ? 'thinkingLevel' : 'thinkingBudget';
  return { thinkingConfig: { [key]: much, includeThoughts } };
}

/** The request, the fields of `generationConfig` that it gets, the paths reported as lost, and the model. */
const fitted: [
  asked: Partial<CanonicalRequest>,
  sent: Record<string, unknown> | undefined,
  lost?: string[],
  model?: Model,
][] = [
  [
    {
      temperature: 0.5,
      topP: 0.1,
      topK: 3,
      frequencyPenalty: 1,
      presencePenalty: 1,
      seed: 3,
      stop: ['x'],
      candidates: 2,
      outputLimit: 9,
    },
    {
      temperature: 0.5,
      topP: 0.1,
      topK: 3,
      frequencyPenalty: 1,
      presencePenalty: 1,
      seed: 3,
      stopSequences: ['x'],
      candidateCount: 2,
      maxOutputTokens: 9,
    },
  ],
  [{ stop: ['1', '2', '3', '4', '5', '6'] }, { stopSequences: ['1', '2', '3', '4', '5'] }],
  [{ stop: ['', 'x'] }, { stopSequences: ['x'] }],
  [
    { candidates: 2 },
    { candidateCount: 1 },
    ['candidates'],
    makeModel({ capabilities: { wire: { 'generate-content': { oneCandidate: true } } } }),
  ],
  [{ seed: 2 ** 40 }, undefined, ['seed']],
  [{ seed: '12345678901234567890' }, undefined, ['seed']],
  [
    { frequencyPenalty: 1, topK: 2, seed: 1 },
    { topK: 2, seed: 1 },
    ['frequencyPenalty'],
    makeModel({ supportedParameters: ['seed'] }),
  ],
  [
    { temperature: 1, logprobs: {}, seed: 1 },
    { seed: 1 },
    ['temperature', 'logprobs'],
    makeCapable({ sampling: false }),
  ],
  [{ logprobs: { top: 4 } }, { responseLogprobs: true, logprobs: 4 }],
  [
    { modalities: ['text', 'image'] },
    { responseModalities: ['TEXT', 'IMAGE'] },
    [],
    makeModel({ output: ['text', 'image'] }),
  ],
  [{ modalities: ['text', 'image'] }, undefined, ['modalities']],
  [{ format: { type: 'json' } }, { responseMimeType: 'application/json' }],
  [{ format: { type: 'text' } }, undefined],
  [
    {
      format: {
        type: 'schema',
        name: 'town',
        description: 'A town.',
        schema: { type: 'object' },
        strict: true,
      },
    },
    {
      responseMimeType: 'application/json',
      responseJsonSchema: { title: 'town', description: 'A town.', type: 'object' },
    },
  ],
  [{ format: { type: 'json' } }, undefined, ['format'], makeCapable({ structuredOutput: false })],
  [{ reasoning: { effort: 'high' } }, requestThoughts('HIGH')],
  [{ reasoning: { effort: 'xhigh', display: 'none' } }, requestThoughts('HIGH', false), ['reasoning.effort']],
  [{ reasoning: { effort: 'none' } }, requestThoughts('LOW', false), ['reasoning.effort']],
  [{ reasoning: { budget: 5000, display: 'summary' } }, requestThoughts('MEDIUM'), ['reasoning.budget']],
  [{ reasoning: { budget: -1 } }, { thinkingConfig: { includeThoughts: true } }],
  [{ reasoning: { effort: 'odd' } }, requestThoughts('MEDIUM'), ['reasoning.effort']],
  [
    { reasoning: { effort: 'medium' } },
    requestThoughts('HIGH'),
    ['reasoning.effort'],
    makeCapable({ reasoning: { style: 'level', efforts: ['low', 'high'] } }),
  ],
  [{ reasoning: { display: 'full' } }, { thinkingConfig: { includeThoughts: true } }],
  [{ reasoning: { budget: 5000 } }, requestThoughts(5000), [], older],
  [{ reasoning: { budget: 99_999 } }, requestThoughts(24_576), ['reasoning.budget'], older],
  [{ reasoning: { budget: 5 } }, requestThoughts(128), ['reasoning.budget'], older],
  [{ reasoning: { budget: -1 } }, requestThoughts(-1), [], older],
  [{ reasoning: { effort: 'medium' } }, requestThoughts(8192), [], older],
  [{ reasoning: { effort: 'xhigh' } }, requestThoughts(24_576), ['reasoning.effort'], older],
  [{ reasoning: { effort: 'max' } }, requestThoughts(24_576), [], older],
  [{ reasoning: { effort: 'none' } }, requestThoughts(0, false), [], older],
  [
    { reasoning: { effort: 'none' } },
    requestThoughts(128, false),
    ['reasoning.effort'],
    makeModel({
      upstream: 'gemini-2.5-pro',
      capabilities: { reasoning: { style: 'budget', budget: { min: 128 }, canDisable: false } },
    }),
  ],
  [{ reasoning: { effort: 'low' } }, undefined, ['reasoning'], gemma],
  [{ reasoning: { display: 'summary' } }, undefined, ['reasoning'], gemma],
  [{ reasoning: { effort: 'none' } }, undefined, [], gemma],
  [
    {
      user: 'u',
      metadata: { a: 1 },
      cacheKey: 'k',
      verbosity: 'low',
      serviceTier: 'scale',
      parallelToolCalls: false,
    },
    undefined,
    ['serviceTier', 'user', 'metadata', 'cacheKey', 'verbosity'],
  ],
  [
    { metadata: {}, parallelToolCalls: false, tools: [{ type: 'function', name: 'f' }] },
    undefined,
    ['parallelToolCalls'],
  ],
];

describe('encoding settings', () => {
  it.each(fitted)('encodes the settings %j', (request, sent, lost = [], model = makeModel()) => {
    const encoded = encode(request, model);
    expect(encoded.body.generationConfig).toEqual(sent);
    expect(encoded.lost).toEqual(lost);
  });

  it('sends structured output together with functions only to Gemini 3', () => {
    const request: Partial<CanonicalRequest> = {
      format: { type: 'json' },
      tools: [{ type: 'function', name: 'f' }],
    };
    expect(encode(request).lost).toEqual([]);
    expect(encode(request, older)).toMatchObject({
      body: { tools: [{ functionDeclarations: [{ name: 'f' }] }] },
      lost: ['format'],
    });
  });

  it("sends the gateway's output limit in place of the client's", () => {
    expect(encode({ outputLimit: 100 }, makeModel(), 7).body.generationConfig).toEqual({
      maxOutputTokens: 7,
    });
  });

  it.each([
    ['default', 'standard'],
    ['flex', 'flex'],
    ['priority', 'priority'],
    ['auto', undefined],
  ])('sends the tier "%s" as "%s"', (serviceTier, sent) => {
    const rates = { input: '1', output: '2' };
    const { body, lost } = encode(
      { serviceTier },
      makeModel({ price: { ...rates, modes: { fast: rates } } }),
    );
    expect([body.serviceTier, lost]).toEqual([sent, []]);
  });

  it('omits a tier that has no known price', () => {
    const { body, lost } = encode(
      { serviceTier: 'priority' },
      makeModel({ price: { input: '1', output: '2' } }),
    );
    expect([body.serviceTier, lost]).toEqual([undefined, ['serviceTier']]);
  });
});

it('encoding sound asks a speaking model for audio only', () => {
  const { body } = encode({ modalities: ['text', 'audio'] }, makeModel({ output: ['audio'] }));
  expect(body.generationConfig).toEqual({ responseModalities: ['AUDIO'] });
});
