import { describe, expect, it } from 'vitest';
import type { Block, CanonicalRequest, Model, Turn } from '../../core/index.ts';
import { clientPath } from '../../core/loss.ts';
import { seal } from '../../plugins/shared/wire-kit/envelope.ts';
import { listForeignFields } from '../../plugins/shared/wire-kit/foreign-fields.ts';
import { isObject } from '../support/json.ts';
import { callWith, modelWith, older, protocol } from './bodies.ts';

const user: Turn = { role: 'user', blocks: [{ type: 'text', text: 'Ahoy' }] };
const gemma = modelWith({
  id: 'google/gemma-3',
  upstream: 'gemma-3-27b',
  capabilities: { reasoning: { style: 'none' }, tools: false },
});

/** A request as another protocol's client may have made it, encoded for a model. */
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

function contents(turns: Turn[], model?: Model): unknown {
  return encode({ turns }, model).body.contents;
}

function call(id: string, name = 'f', more: Partial<Extract<Block, { type: 'tool-call' }>> = {}): Block {
  return { type: 'tool-call', id, name, arguments: '{}', ...more };
}

function result(
  callId: string,
  text = 'ok',
  more: Partial<Extract<Block, { type: 'tool-result' }>> = {},
): Block {
  return { type: 'tool-result', callId, content: [{ type: 'text', text }], ...more };
}

function isRecord(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value);
}

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

/** The parts of all contents in a row. */
function partsOf(turns: Turn[], model?: Model): Record<string, unknown>[] {
  const all = contents(turns, model);
  return isRecord(all) ? all.flatMap(({ parts }) => (isRecord(parts) ? parts : [])) : [];
}

describe('encoding turns', () => {
  it.each([
    { role: 'system' as const, blocks: [{ type: 'text' as const, text: '' }] },
    { role: 'system' as const, blocks: [] },
  ])('omits empty instructions: %j', (turn) => {
    expect(encode({ turns: [turn, user] }).body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }],
    });
  });

  it('moves leading instructions to systemInstruction, and marks later ones in place', () => {
    const { body, lost } = encode({
      turns: [
        { role: 'system', blocks: [{ type: 'text', text: 'a' }] },
        { role: 'developer', blocks: [{ type: 'text', text: 'b' }] },
        user,
        { role: 'system', blocks: [{ type: 'text', text: 'c' }] },
      ],
    });
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'a' }, { text: 'b' }] },
      contents: [{ role: 'user', parts: [{ text: 'Ahoy' }, { text: '<system>\nc\n</system>' }] }],
    });
    expect(lost).toEqual(['turns[3].role']);
  });

  it('sends instructions alone as contents, because Gemini needs some', () => {
    expect(encode({ turns: [{ role: 'system', blocks: [{ type: 'text', text: 'Say hi.' }] }] }).body).toEqual(
      { contents: [{ role: 'user', parts: [{ text: 'Say hi.' }] }] },
    );
  });

  it('puts the results of a step in one content after its calls, with the names of the functions', () => {
    const turns: Turn[] = [
      user,
      { role: 'assistant', blocks: [call('c1', 'f')] },
      { role: 'assistant', blocks: [call('c2', 'g', { arguments: '{"n":1.0,"big":12345678901234567890}' })] },
      { role: 'tool', blocks: [result('c1', 'one')] },
      { role: 'tool', blocks: [result('c2', 'two', { isError: true })] },
      { role: 'user', blocks: [{ type: 'text', text: 'Well?' }] },
    ];
    expect(contents(turns, older)).toEqual([
      { role: 'user', parts: [{ text: 'Ahoy' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'c1', name: 'f', args: {} } },
          { functionCall: { id: 'c2', name: 'g', args: { n: 1, big: Number('12345678901234567890') } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c1', name: 'f', response: { output: 'one' } } },
          { functionResponse: { id: 'c2', name: 'g', response: { error: 'two' } } },
        ],
      },
      { role: 'user', parts: [{ text: 'Well?' }] },
    ]);
    const { body } = protocol.upstream.encodeRequest(
      { model: 'a/b', stream: false, turns },
      older,
      undefined,
    );
    expect(JSON.stringify(body)).toContain('"args":{"n":1.0,"big":12345678901234567890}');
  });

  it('wraps the object of a result, because Google could read meaning into its field names', () => {
    expect(partsOf([{ role: 'tool', blocks: [result('c9', '{"$ref":"x"}', { name: 'f' })] }])).toEqual([
      { functionResponse: { id: 'c9', name: 'f', response: { output: '{"$ref":"x"}' } } },
    ]);
  });

  it('sends arguments that are no JSON object as text', () => {
    expect(
      partsOf(
        [
          {
            role: 'assistant',
            blocks: [call('c1', 'f', { arguments: '{"cut' }), call('c2', 'f', { arguments: '' })],
          },
        ],
        older,
      ),
    ).toMatchObject([{ functionCall: { args: { _raw: '{"cut' } } }, { functionCall: { args: {} } }]);
  });

  it('omits empty texts', () => {
    expect(contents([user, { role: 'assistant', blocks: [{ type: 'text', text: '' }] }, user])).toEqual([
      { role: 'user', parts: [{ text: 'Ahoy' }, { text: 'Ahoy' }] },
    ]);
  });
});

const image = {
  type: 'media',
  kind: 'image',
  source: { type: 'base64', data: 'iVBORw0KGgo=' },
  mediaType: 'image/png',
} as const;

describe('encoding files', () => {
  it.each<[block: Block, parts: unknown[], lost: string[]]>([
    [
      { ...image, detail: 'low' },
      [
        {
          inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' },
          mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' },
        },
      ],
      [],
    ],
    [
      { ...image, detail: 'original' },
      [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
      ['turns[0].blocks[0].detail'],
    ],
    [{ ...image, detail: 'auto' }, [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }], []],
    [
      { type: 'media', kind: 'image', source: { type: 'url', url: 'https://x.example/a.JPG?b' } },
      [{ fileData: { mimeType: 'image/jpeg', fileUri: 'https://x.example/a.JPG?b' } }],
      [],
    ],
    [
      {
        type: 'media',
        kind: 'document',
        source: { type: 'base64', data: 'JVBE' },
        mediaType: 'application/pdf',
        filename: 'tides.pdf',
      },
      [{ text: 'tides.pdf:' }, { inlineData: { mimeType: 'application/pdf', data: 'JVBE' } }],
      [],
    ],
    [
      { type: 'media', kind: 'document', source: { type: 'text', text: '2 m' }, title: 'Tides' },
      [{ text: 'Tides:\n\n2 m' }],
      [],
    ],
    [
      {
        type: 'media',
        kind: 'video',
        source: { type: 'file', vendor: 'google', id: 'gs://b/v.mp4' },
        mediaType: 'video/mp4',
      },
      [{ fileData: { mimeType: 'video/mp4', fileUri: 'gs://b/v.mp4' } }],
      [],
    ],
    [
      { ...image, cache: {} },
      [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
      ['turns[0].blocks[0].cache'],
    ],
  ])('encodes %j', (block, parts, lost) => {
    const encoded = encode({ turns: [{ role: 'user', blocks: [block] }] });
    expect(encoded).toEqual({ body: { contents: [{ role: 'user', parts }] }, lost });
  });

  it('sends a resolution only to models that take one', () => {
    expect(encode({ turns: [{ role: 'user', blocks: [{ ...image, detail: 'low' }] }] }, older).lost).toEqual([
      'turns[0].blocks[0].detail',
    ]);
  });

  it('refuses the call if a file is stored at another vendor', () => {
    expect(() =>
      encode({
        turns: [
          { role: 'user', blocks: [{ ...image, source: { type: 'file', vendor: 'openai', id: 'file-1' } }] },
        ],
      }),
    ).toThrow(/kept by openai/);
  });

  it("puts a tool's files in its result, or after all results if the model takes none there", () => {
    const turns: Turn[] = [
      { role: 'assistant', blocks: [call('c1'), call('c2')] },
      {
        role: 'tool',
        blocks: [result('c1', 'A chart:', { content: [{ type: 'text', text: 'A chart:' }, image] })],
      },
      { role: 'tool', blocks: [result('c2')] },
    ];
    const inline = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
    expect(partsOf(turns).slice(2)).toEqual([
      { functionResponse: { id: 'c1', name: 'f', response: { output: 'A chart:' }, parts: [inline] } },
      { functionResponse: { id: 'c2', name: 'f', response: { output: 'ok' } } },
    ]);
    expect(partsOf(turns, older).slice(2)).toEqual([
      { functionResponse: { id: 'c1', name: 'f', response: { output: 'A chart:\n\nSee file 1.' } } },
      { functionResponse: { id: 'c2', name: 'f', response: { output: 'ok' } } },
      { text: 'This is file 1:' },
      inline,
    ]);
  });
});

const seal1 = { vendor: 'google', kind: 'signature', value: 'c2VhbA==' };
const claudes = { vendor: 'anthropic', kind: 'signature', value: 'Y2xhdWRl' };
const placeholder = 'context_engineering_is_the_way_to_go';

describe('encoding sealed state', () => {
  it("returns Google's signature to its part, byte for byte", () => {
    const blocks: Block[] = [
      { type: 'reasoning', text: 'hm', opaque: [seal1] },
      { type: 'text', text: 'a', opaque: [seal1] },
      call('c1', 'f', { opaque: [seal1] }),
    ];
    const { body, lost } = encode({ turns: [user, { role: 'assistant', blocks }] });
    expect(body.contents).toMatchObject([
      {},
      {
        parts: [
          { text: 'hm', thought: true, thoughtSignature: seal1.value },
          { text: 'a', thoughtSignature: seal1.value },
          { functionCall: { id: 'c1' }, thoughtSignature: seal1.value },
        ],
      },
    ]);
    expect(lost).toEqual([]);
  });

  it("reports another vendor's state as lost, with the reasoning it seals, and never makes up any", () => {
    const blocks: Block[] = [
      { type: 'reasoning', text: 'hm', opaque: [claudes] },
      { type: 'reasoning', text: 'unsealed' },
      { type: 'text', text: 'a' },
      call('c1', 'f', { opaque: [claudes] }),
    ];
    const { body, lost } = encode({ turns: [user, { role: 'assistant', blocks }] }, older);
    expect(body.contents).toEqual([
      { role: 'user', parts: [{ text: 'Ahoy' }] },
      { role: 'model', parts: [{ text: 'a' }, { functionCall: { id: 'c1', name: 'f', args: {} } }] },
    ]);
    expect(lost).toEqual(['turns[1].blocks[0]', 'turns[1].blocks[1]', 'turns[1].blocks[3].opaque']);
  });

  it("does not send Google's signature to models of other vendors", () => {
    const blocks: Block[] = [
      { type: 'reasoning', text: 'hm', opaque: [seal1] },
      { type: 'text', text: 'a', opaque: [seal1] },
    ];
    expect(
      encode({ turns: [{ role: 'assistant', blocks }] }, modelWith({ id: 'acme/gemini-clone' })).lost,
    ).toEqual(['turns[0].blocks[0]', 'turns[0].blocks[1].opaque']);
  });

  it('puts the placeholder on the first call of each step of the current turn, if the model checks', () => {
    const turns: Turn[] = [
      user,
      { role: 'assistant', blocks: [call('old')] },
      { role: 'tool', blocks: [result('old')] },
      { role: 'user', blocks: [{ type: 'text', text: 'Go on.' }] },
      { role: 'assistant', blocks: [{ type: 'text', text: 'Two.' }, call('a1'), call('a2')] },
      { role: 'tool', blocks: [result('a1'), result('a2')] },
      { role: 'assistant', blocks: [call('b1', 'f', { opaque: [seal1] })] },
      { role: 'tool', blocks: [result('b1')] },
      { role: 'assistant', blocks: [call('c1', 'f', { opaque: [claudes] })] },
      { role: 'tool', blocks: [result('c1')] },
    ];
    const signatures = (model?: Model): unknown[] =>
      partsOf(turns, model).flatMap((part) => (part.functionCall ? [part.thoughtSignature ?? null] : []));
    expect(signatures()).toEqual([null, placeholder, null, seal1.value, placeholder]);
    expect(signatures(older)).toEqual([null, null, null, seal1.value, null]);
    expect(signatures(modelWith({ id: 'acme/gemini-4' }))).toEqual([null, null, null, null, null]);
    expect(signatures(modelWith({ upstream: 'gemini-flash-latest' }))).toEqual([
      null,
      placeholder,
      null,
      seal1.value,
      placeholder,
    ]);
  });

  it("gives a client's call with another vendor's state the placeholder, if the model checks it", () => {
    const turn = (thoughtSignature?: string): unknown => ({
      role: 'model',
      parts: [{ functionCall: { name: 'f' }, thoughtSignature }],
    });
    const sent = (thoughtSignature?: string, model?: Model): unknown =>
      encode(callWith({ contents: [{ parts: [{ text: 'x' }] }, turn(thoughtSignature)] }).decode(), model)
        .body.contents;
    expect(sent(seal(claudes))).toMatchObject([{}, { parts: [{ thoughtSignature: placeholder }] }]);
    expect(sent()).toMatchObject([{}, { parts: [{ thoughtSignature: placeholder }] }]);
    expect(sent(undefined, older)).toEqual([
      { parts: [{ text: 'x' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
    ]);
  });
});

describe('a client that stores a stream chunk by chunk', () => {
  it("gets one turn of its chunks, with whole reasoning under the vendor's seal", () => {
    const model = (part: unknown): unknown => ({ role: 'model', parts: [part] });
    const { turns } = callWith({
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        model({ text: 'Let me', thought: true }),
        model({ text: ' think.', thought: true }),
        model({ text: '', thought: true, thoughtSignature: seal(claudes) }),
        model({ functionCall: { id: 'c1', name: 'f', args: {} } }),
        model({ functionCall: { id: 'c2', name: 'f', args: {} } }),
        model({ text: '' }),
      ],
    }).decode();
    expect(turns).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        blocks: [
          { type: 'reasoning', text: 'Let me think.', opaque: [claudes] },
          { type: 'tool-call', id: 'c1' },
          { type: 'tool-call', id: 'c2' },
          { type: 'text', text: '' },
        ],
      },
    ]);
  });
});

describe('decoding calls without ids', () => {
  it('makes stable ids, and matches results by name and order', () => {
    const body = {
      contents: [
        {
          role: 'model',
          parts: [
            { functionCall: { name: 'f' } },
            { functionCall: { name: 'g' } },
            { functionCall: { name: 'f' } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'f', response: { output: '1' } } },
            { functionResponse: { id: 'theirs', name: 'f', response: { output: '2' } } },
            { functionResponse: { name: 'g', response: { output: '3' } } },
          ],
        },
      ],
    };
    const pairs = (): unknown[] => {
      const [model, answers] = callWith(body).decode().turns;
      const ids = model?.blocks.map((block) => (block.type === 'tool-call' ? block.id : ''));
      return (
        answers?.blocks.map((block) => (block.type === 'tool-result' ? ids?.indexOf(block.callId) : -1)) ?? []
      );
    };
    expect(pairs()).toEqual([0, 2, 1]);
    expect(callWith(body).decode()).toEqual(callWith(body).decode());
  });
});

/** The request; the model; the fields of `generationConfig` that it gets; the paths reported as lost. */
const fitted: [
  asked: Partial<CanonicalRequest>,
  model: Model,
  sent: Record<string, unknown> | undefined,
  lost: string[],
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
    modelWith(),
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
    [],
  ],
  [{ stop: ['1', '2', '3', '4', '5', '6'] }, modelWith(), { stopSequences: ['1', '2', '3', '4', '5'] }, []],
  [{ stop: ['', 'x'] }, modelWith(), { stopSequences: ['x'] }, []],
  [{ seed: 2 ** 40 }, modelWith(), undefined, ['seed']],
  [{ seed: '12345678901234567890' }, modelWith(), undefined, ['seed']],
  [
    { frequencyPenalty: 1, topK: 2, seed: 1 },
    modelWith({ supportedParameters: ['seed'] }),
    { topK: 2, seed: 1 },
    ['frequencyPenalty'],
  ],
  [
    { temperature: 1, logprobs: {}, seed: 1 },
    modelWith({ capabilities: { sampling: false } }),
    { seed: 1 },
    ['temperature', 'logprobs'],
  ],
  [{ logprobs: { top: 4 } }, modelWith(), { responseLogprobs: true, logprobs: 4 }, []],
  [
    { modalities: ['text', 'image'] },
    modelWith({ output: ['text', 'image'] }),
    { responseModalities: ['TEXT', 'IMAGE'] },
    [],
  ],
  [{ modalities: ['text', 'image'] }, modelWith(), undefined, ['modalities']],
  [{ format: { type: 'json' } }, modelWith(), { responseMimeType: 'application/json' }, []],
  [{ format: { type: 'text' } }, modelWith(), undefined, []],
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
    modelWith(),
    {
      responseMimeType: 'application/json',
      responseJsonSchema: { title: 'town', description: 'A town.', type: 'object' },
    },
    [],
  ],
  [
    { format: { type: 'json' } },
    modelWith({ capabilities: { structuredOutput: false } }),
    undefined,
    ['format'],
  ],
  [
    { reasoning: { effort: 'high' } },
    modelWith(),
    { thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true } },
    [],
  ],
  [
    { reasoning: { effort: 'xhigh', display: 'none' } },
    modelWith(),
    { thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: false } },
    ['reasoning.effort'],
  ],
  [
    { reasoning: { effort: 'none' } },
    modelWith(),
    { thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: false } },
    ['reasoning.effort'],
  ],
  [
    { reasoning: { budget: 5000, display: 'summary' } },
    modelWith(),
    { thinkingConfig: { thinkingLevel: 'MEDIUM', includeThoughts: true } },
    ['reasoning.budget'],
  ],
  [{ reasoning: { budget: -1 } }, modelWith(), { thinkingConfig: { includeThoughts: true } }, []],
  [
    { reasoning: { effort: 'odd' } },
    modelWith(),
    { thinkingConfig: { thinkingLevel: 'MEDIUM', includeThoughts: true } },
    ['reasoning.effort'],
  ],
  [
    { reasoning: { effort: 'medium' } },
    modelWith({ capabilities: { reasoning: { style: 'level', efforts: ['low', 'high'] } } }),
    { thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true } },
    ['reasoning.effort'],
  ],
  [{ reasoning: { display: 'full' } }, modelWith(), { thinkingConfig: { includeThoughts: true } }, []],
  [
    { reasoning: { budget: 5000 } },
    older,
    { thinkingConfig: { thinkingBudget: 5000, includeThoughts: true } },
    [],
  ],
  [
    { reasoning: { budget: 99_999 } },
    older,
    { thinkingConfig: { thinkingBudget: 24_576, includeThoughts: true } },
    ['reasoning.budget'],
  ],
  [
    { reasoning: { budget: 5 } },
    older,
    { thinkingConfig: { thinkingBudget: 128, includeThoughts: true } },
    ['reasoning.budget'],
  ],
  [
    { reasoning: { budget: -1 } },
    older,
    { thinkingConfig: { thinkingBudget: -1, includeThoughts: true } },
    [],
  ],
  [
    { reasoning: { effort: 'medium' } },
    older,
    { thinkingConfig: { thinkingBudget: 8192, includeThoughts: true } },
    [],
  ],
  [
    { reasoning: { effort: 'xhigh' } },
    older,
    { thinkingConfig: { thinkingBudget: 24_576, includeThoughts: true } },
    ['reasoning.effort'],
  ],
  [
    { reasoning: { effort: 'max' } },
    older,
    { thinkingConfig: { thinkingBudget: 24_576, includeThoughts: true } },
    [],
  ],
  [
    { reasoning: { effort: 'none' } },
    older,
    { thinkingConfig: { thinkingBudget: 0, includeThoughts: false } },
    [],
  ],
  [
    { reasoning: { effort: 'none' } },
    modelWith({
      upstream: 'gemini-2.5-pro',
      capabilities: { reasoning: { style: 'budget', budget: { min: 128 }, canDisable: false } },
    }),
    { thinkingConfig: { thinkingBudget: 128, includeThoughts: false } },
    ['reasoning.effort'],
  ],
  [{ reasoning: { effort: 'low' } }, gemma, undefined, ['reasoning']],
  [{ reasoning: { display: 'summary' } }, gemma, undefined, ['reasoning']],
  [{ reasoning: { effort: 'none' } }, gemma, undefined, []],
  [
    {
      user: 'u',
      metadata: { a: 1 },
      cacheKey: 'k',
      verbosity: 'low',
      serviceTier: 'scale',
      parallelToolCalls: false,
    },
    modelWith(),
    undefined,
    ['serviceTier', 'user', 'metadata', 'cacheKey', 'verbosity'],
  ],
  [
    { metadata: {}, parallelToolCalls: false, tools: [{ type: 'function', name: 'f' }] },
    modelWith(),
    undefined,
    ['parallelToolCalls'],
  ],
];

describe('a request that Google cannot fulfil', () => {
  it.each<[string, Partial<CanonicalRequest>, string]>([
    ['sound alone of a model that writes', { modalities: ['audio'] }, 'modalities'],
    [
      'a conversation without text',
      { turns: [{ role: 'user', blocks: [{ type: 'text', text: '' }], at: 'messages[0]' }] },
      'messages[0]',
    ],
    [
      'a file of no known kind',
      {
        turns: [
          {
            role: 'user',
            blocks: [
              {
                type: 'media',
                kind: 'document',
                source: { type: 'base64', data: 'AAAA' },
                at: 'input[0].content[0]',
              },
            ],
          },
        ],
      },
      'input[0].content[0]',
    ],
    [
      'maps',
      {
        tools: [
          {
            type: 'hosted',
            protocol: 'responses',
            kind: 'other',
            value: { type: 'file_search' },
            at: 'tools[0]',
          },
        ],
      },
      'tools[0]',
    ],
  ])('is refused: %s', (_, asked, param) => {
    expect(thrownBy(() => encode(asked))).toMatchObject({
      code: 'unsupported_parameter',
      details: { param },
    });
  });

  it('reports losses: arguments that are no object, a namespace', () => {
    const called: Turn = {
      role: 'assistant',
      blocks: [call('c1', 'f', { arguments: 'not json', namespace: 'charts' })],
    };
    const { body, lost } = encode({
      turns: [user, called],
      tools: [{ type: 'function', name: 'f', namespace: 'charts' }],
    });
    expect(body.contents).toMatchObject([
      {},
      { parts: [{ functionCall: { name: 'f', args: { _raw: 'not json' } } }] },
    ]);
    expect(lost).toEqual([
      'turns[1].blocks[0].arguments',
      'turns[1].blocks[0].namespace',
      'tools[0].namespace.name',
    ]);
  });

  it("reports a schema in Google's own form by its own field name", () => {
    const request = callWith({
      generationConfig: { responseMimeType: 'application/json', responseSchema: { type: 'ARRAY' } },
    }).decode();
    expect(clientPath('format.schema', request, protocol.client.fieldNames)).toBe(
      'generationConfig.responseSchema',
    );
  });

  it('reports fields that the client wrote in snake_case in snake_case', () => {
    const request = callWith({
      system_instruction: { parts: [{ text: 'a' }] },
      contents: [
        {
          parts: [
            {
              inline_data: { mime_type: 'image/png', data: 'AAAA' },
              media_resolution: { level: 'MEDIA_RESOLUTION_LOW' },
            },
          ],
        },
      ],
      tools: [{ function_declarations: [{ name: 'f', parameters_json_schema: {} }] }],
      generation_config: { top_p: 0.5, topK: 3, media_resolution: 'MEDIA_RESOLUTION_LOW' },
      safety_settings: [],
      service_tier: 'flex',
    }).decode();
    const paths = [
      'topP',
      'topK',
      'turns[0].blocks[0].cache',
      'turns[1].blocks[0].detail',
      'tools[0].schema',
      'generationConfig.mediaResolution',
      'safetySettings',
      'serviceTier',
    ].map((path) => clientPath(path, request, protocol.client.fieldNames));
    expect(paths).toEqual([
      'generation_config.top_p',
      'generation_config.topK',
      'system_instruction.parts[0].cache',
      'contents[0].parts[0].media_resolution',
      'tools[0].function_declarations[0].parameters_json_schema',
      'generation_config.media_resolution',
      'safety_settings',
      'service_tier',
    ]);
  });

  it.each(['googleSearch', 'codeExecution', 'urlContext', 'googleMaps', 'fileSearch'])(
    'recognises the hosted tool %s in either spelling',
    (name) => {
      const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const [spelt, usual] = [snake, name].map(
        (each) => callWith({ tools: [{ [each]: {} }] }).decode().tools?.[0],
      );
      expect(spelt).toEqual({ ...usual, at: `tools[0].${snake}` });
    },
  );

  it('finds the type of a picture in its bytes', () => {
    const picture: Block = {
      type: 'media',
      kind: 'image',
      source: { type: 'base64', data: 'iVBORw0KGgoAAAANSUhEUg==' },
    };
    expect(contents([{ role: 'user', blocks: [picture] }])).toMatchObject([
      { parts: [{ inlineData: { mimeType: 'image/png' } }] },
    ]);
  });

  it('puts the context of a document before it, and its text inside the result that holds it', () => {
    const document: Block = {
      type: 'media',
      kind: 'document',
      source: { type: 'text', text: '2 m' },
      title: 'Tides',
      context: 'Of May.',
    };
    const { body, lost } = encode(
      {
        turns: [
          { role: 'user', blocks: [document] },
          { role: 'assistant', blocks: [call('c1')] },
          { role: 'tool', blocks: [{ type: 'tool-result', callId: 'c1', content: [document] }] },
        ],
      },
      older,
    );
    expect(body.contents).toMatchObject([
      { parts: [{ text: 'Of May.' }, { text: 'Tides:\n\n2 m' }] },
      { parts: [{ functionCall: { name: 'f' } }] },
      { parts: [{ functionResponse: { response: { output: 'Of May.\n\nTides:\n\n2 m' } } }] },
    ]);
    expect(lost).toEqual(['turns[0].blocks[0].context', 'turns[2].blocks[0].content[0].context']);
  });
});

describe('encoding settings', () => {
  it.each(fitted)('encodes %j', (asked, model, sent, lost) => {
    const encoded = encode(asked, model);
    expect(encoded.body.generationConfig).toEqual(sent);
    expect(encoded.lost).toEqual(lost);
  });

  it('sends structured output together with functions only to Gemini 3', () => {
    const asked: Partial<CanonicalRequest> = {
      format: { type: 'json' },
      tools: [{ type: 'function', name: 'f' }],
    };
    expect(encode(asked).lost).toEqual([]);
    expect(encode(asked, older)).toMatchObject({
      body: { tools: [{ functionDeclarations: [{ name: 'f' }] }] },
      lost: ['format'],
    });
  });

  it("sends the gateway's output limit in place of the client's", () => {
    expect(encode({ outputLimit: 100 }, modelWith(), 7).body.generationConfig).toEqual({
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
      modelWith({ price: { ...rates, modes: { fast: rates } } }),
    );
    expect([body.serviceTier, lost]).toEqual([sent, []]);
  });

  it('omits a tier that has no known price', () => {
    const { body, lost } = encode(
      { serviceTier: 'priority' },
      modelWith({ price: { input: '1', output: '2' } }),
    );
    expect([body.serviceTier, lost]).toEqual([undefined, ['serviceTier']]);
  });
});

describe('encoding tools', () => {
  it('inlines the references of a schema and makes its root an object', () => {
    const schema = {
      $defs: { side: { enum: ['port', '$ref'] }, both: { items: { $ref: '#/$defs/side' } } },
      properties: { a: { $ref: '#/$defs/side', description: 'A side.' }, $ref: { $ref: '#/$defs/both' } },
    };
    const { body, lost } = encode({
      tools: [
        { type: 'function', name: 'f', description: 'd', schema },
        { type: 'function', name: 'g', strict: true },
      ],
    });
    expect(body.tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'f',
            description: 'd',
            parametersJsonSchema: {
              type: 'object',
              properties: {
                a: { enum: ['port', '$ref'], description: 'A side.' },
                $ref: { items: { enum: ['port', '$ref'] } },
              },
            },
          },
          { name: 'g' },
        ],
      },
    ]);
    expect(lost).toEqual(['tools[1].strict']);
  });

  it('keeps references of a schema to itself, and reports those that lead nowhere', () => {
    const tree = {
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
      type: 'object',
      properties: { root: { $ref: '#/$defs/node' }, lost: { $ref: 'https://x.example/schema' } },
    };
    const { body, lost } = encode({ tools: [{ type: 'function', name: 'f', schema: tree }] });
    expect(body.tools).toMatchObject([
      {
        functionDeclarations: [
          {
            parametersJsonSchema: {
              $defs: tree.$defs,
              properties: {
                root: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } },
                lost: {},
              },
            },
          },
        ],
      },
    ]);
    expect(lost).toEqual(['tools[0].schema']);
  });

  /** The parameters that we send for a tool with this schema. */
  const parametersOf = (schema: Record<string, unknown>): unknown => {
    const { tools } = encode({ tools: [{ type: 'function', name: 'f', schema }] }).body;
    const [tool]: unknown[] = Array.isArray(tools) ? tools : [];
    const [declared]: unknown[] =
      isObject(tool) && Array.isArray(tool.functionDeclarations) ? tool.functionDeclarations : [];
    return isObject(declared) ? declared.parametersJsonSchema : undefined;
  };

  it('turns references to the whole schema or a path into definitions: Gemini takes no others', () => {
    const folder = {
      type: 'object',
      properties: { name: { type: 'string' }, inner: { type: 'array', items: { $ref: '#' } } },
    };
    const named = {
      type: 'object',
      properties: { name: { type: 'string' }, inner: { type: 'array', items: { $ref: '#/$defs/self' } } },
    };
    expect(parametersOf(folder)).toEqual({ ...named, $defs: { self: named } });
    const byPath = {
      type: 'object',
      properties: { top: { type: 'object', properties: { next: { $ref: '#/properties/top' } } } },
    };
    const top = { type: 'object', properties: { next: { $ref: '#/$defs/top' } } };
    expect(parametersOf(byPath)).toEqual({
      type: 'object',
      properties: { top: { type: 'object', properties: { next: top } } },
      $defs: { top },
    });
  });

  it('leaves no keyword next to a reference in definitions either', () => {
    const $defs = {
      'a/node': { $ref: '#/$defs/node' },
      node: {
        type: 'object',
        properties: { next: { $ref: '#/$defs/node', description: 'The next.' }, all: { $ref: '#' } },
      },
    };
    const node = {
      type: 'object',
      properties: { next: { $ref: '#/$defs/node' }, all: { $ref: '#/$defs/self' } },
    };
    expect(
      parametersOf({ $defs, type: 'object', properties: { root: { $ref: '#/$defs/a~1node' } } }),
    ).toMatchObject({
      properties: { root: node },
      $defs: { node, self: { type: 'object', properties: { root: expect.anything() } } },
    });
  });

  it('keeps references that would grow the schema without limit', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        {
          type: 'object',
          properties: { a: { $ref: `#/$defs/d${index + 1}` }, b: { $ref: `#/$defs/d${index + 1}` } },
        },
      ]),
    );
    const { body } = encode({
      tools: [
        {
          type: 'function',
          name: 'f',
          schema: { $defs: { ...$defs, d40: {} }, type: 'object', properties: { x: { $ref: '#/$defs/d0' } } },
        },
      ],
    });
    expect(JSON.stringify(body).length).toBeLessThan(2_000_000);
  });

  it('keeps long chains of references as definitions', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [
        `d${index}`,
        { properties: { next: { $ref: `#/$defs/d${index + 1}` } } },
      ]),
    );
    const json = JSON.stringify(
      parametersOf({
        $defs: { ...$defs, d5000: { enum: ['the end'] } },
        properties: { first: { $ref: '#/$defs/d0' } },
      }),
    );
    expect(json.split('the end').length).toBe(2);
    const references = new Set(json.match(/(?<=#\/\$defs\/)\w+/g));
    expect(references.size).toBeGreaterThan(50);
    expect([...references].filter((name) => !json.includes(`"${name}":`))).toEqual([]);
  });

  it('sends a free-text tool as a function with one text', () => {
    const format = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: x' } };
    const turns: Turn[] = [
      { role: 'assistant', blocks: [call('c1', 'patch', { custom: true, arguments: '*** Begin' })] },
    ];
    const { body, lost } = encode(
      {
        turns,
        tools: [{ type: 'custom', name: 'patch', description: 'Applies.', format }],
        toolChoice: { mode: 'one', names: ['patch'] },
      },
      older,
    );
    expect(lost).toEqual(['tools[0].format']);
    expect(body).toMatchObject({
      contents: [{ parts: [{ functionCall: { name: 'patch', args: { input: '*** Begin' } } }] }],
      tools: [
        {
          functionDeclarations: [
            {
              name: 'patch',
              description: 'Applies.\n\nThe input follows this grammar (lark):\nstart: x',
              parametersJsonSchema: {
                type: 'object',
                properties: { input: { type: 'string' } },
                required: ['input'],
              },
            },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['patch'] } },
    });
  });

  it('renames a tool that Google would refuse, and restores its name in the reply', () => {
    const names = ['get weather', 'get_weather', '1st', 'x'.repeat(70), 'ünïcode', 'mcp:a.b-c'];
    const request: CanonicalRequest = {
      model: 'a/b',
      stream: false,
      turns: [user, { role: 'assistant', blocks: [call('c1', 'get weather')] }],
      tools: names.map((name) => ({ type: 'function', name })),
      toolChoice: { mode: 'subset', required: true, names },
    };
    const { body } = encode(request, older);
    const [group] = isRecord(body.tools) ? body.tools : [];
    const declared = isRecord(group?.functionDeclarations)
      ? group.functionDeclarations.map(({ name }) => String(name))
      : [];
    for (const name of declared) expect(name).toMatch(/^[A-Za-z_][\w.:-]{0,63}$/);
    expect(new Set(declared).size).toBe(names.length);
    expect(declared.slice(1, 2)).toEqual(['get_weather']);
    expect(body.toolConfig).toEqual({
      functionCallingConfig: { mode: 'ANY', allowedFunctionNames: declared },
    });
    expect(JSON.stringify(body.contents)).toContain(declared[0]);
    const foreign = { ...callWith(), decode: () => request };
    const parts = declared.map((name) => ({ functionCall: { name, args: {} } }));
    const events = protocol.upstream.decodeReply(
      { candidates: [{ content: { parts }, finishReason: 'STOP' }], responseId: 'x' },
      foreign,
    );
    expect(events.flatMap((event) => (event.type === 'block-start' ? [event.name] : []))).toEqual(names);
  });

  it.each<[CanonicalRequest['toolChoice'], unknown]>([
    [{ mode: 'auto' }, { mode: 'AUTO' }],
    [{ mode: 'none' }, { mode: 'NONE' }],
    [{ mode: 'required' }, { mode: 'ANY' }],
    [
      { mode: 'one', names: ['f'] },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
    [
      { mode: 'subset', names: ['f', 'g'], required: true },
      { mode: 'ANY', allowedFunctionNames: ['f', 'g'] },
    ],
    [
      { mode: 'subset', names: ['f', 'g'], required: false },
      { mode: 'VALIDATED', allowedFunctionNames: ['f', 'g'] },
    ],
  ])('sends the choice %j', (toolChoice, calling) => {
    expect(
      encode({
        toolChoice,
        tools: [
          { type: 'function', name: 'f' },
          { type: 'function', name: 'g' },
        ],
      }).body.toolConfig,
    ).toEqual({ functionCallingConfig: calling });
    expect(encode({ toolChoice }).body.toolConfig).toBeUndefined();
  });

  it('omits a choice of tools that are not offered, and reports it', () => {
    const tools: CanonicalRequest['tools'] = [{ type: 'function', name: 'f' }];
    expect(encode({ toolChoice: { mode: 'one', names: ['g'] }, tools })).toEqual({
      body: {
        contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }],
        tools: [{ functionDeclarations: [{ name: 'f' }] }],
      },
      lost: ['toolChoice'],
    });
    expect(
      encode({ toolChoice: { mode: 'subset', names: ['f', 'g'], required: false }, tools }),
    ).toMatchObject({
      body: { toolConfig: { functionCallingConfig: { allowedFunctionNames: ['f'] } } },
      lost: ['toolChoice'],
    });
    expect(encode({ toolChoice: { mode: 'required' } }).lost).toEqual(['toolChoice']);
  });

  it('reports the mode VALIDATED as lost if it names no functions', () => {
    const { toolChoice } = callWith({
      tools: [{ functionDeclarations: [{ name: 'f' }] }],
      toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } },
    }).decode();
    expect(
      listForeignFields({ model: 'a/b', stream: false, turns: [], toolChoice }, 'responses').map(({ path }) =>
        clientPath(path, { model: 'a/b', stream: false, turns: [] }, protocol.client.fieldNames),
      ),
    ).toEqual(['toolConfig.functionCallingConfig.mode']);
  });

  it('treats `thought: false` like no field', () => {
    expect(
      listForeignFields(
        callWith({ contents: [{ parts: [{ text: 'a', thought: false }] }] }).decode(),
        'responses',
      ),
    ).toEqual([]);
  });

  it("translates another vendor's web search if both sides have one", () => {
    const search = {
      type: 'hosted',
      protocol: 'messages',
      kind: 'web-search',
      value: { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
    } as const;
    expect(encode({ tools: [search] })).toEqual({
      body: { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }], tools: [{ googleSearch: {} }] },
      lost: ['tools[0].max_uses'],
    });
    expect(encode({ tools: [search, { type: 'function', name: 'f' }] }).lost).toEqual(['tools[0]']);
    expect(
      encode({ tools: [{ type: 'hosted', protocol: 'responses', kind: 'other', value: {} }] }),
    ).toMatchObject({ lost: ['tools[0]'] });
  });

  it('omits tools for a model without any', () => {
    expect(
      encode({ tools: [{ type: 'function', name: 'f' }], toolChoice: { mode: 'required' } }, gemma),
    ).toEqual({ body: { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }] }, lost: ['tools'] });
  });
});

describe('decoding a request of this protocol', () => {
  const decoded = callWith({
    systemInstruction: { parts: [{ text: 'a' }] },
    contents: [
      {
        parts: [
          { text: 'x' },
          {
            inlineData: { mimeType: 'image/png', data: '_-8' },
            mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' },
            videoMetadata: { fps: 1 },
          },
        ],
      },
    ],
    tools: [
      {
        functionDeclarations: [
          {
            name: 'f',
            parameters: {
              type: 'OBJECT',
              properties: { b: { type: 'STRING' }, a: { type: 'INTEGER', nullable: true } },
              propertyOrdering: ['a', 'b'],
            },
          },
        ],
      },
      { googleSearch: {} },
    ],
    toolConfig: {
      functionCallingConfig: { mode: 'VALIDATED', allowedFunctionNames: ['f'] },
      retrievalConfig: { languageCode: 'pt' },
    },
    generationConfig: {
      maxOutputTokens: 5,
      responseMimeType: 'application/json',
      responseSchema: { type: 'ARRAY', items: { type: 'STRING' }, minItems: '2' },
      thinkingConfig: { thinkingLevel: 'HIGH' },
      imageConfig: { aspectRatio: '1:1' },
    },
    safetySettings: [],
    cachedContent: 'cachedContents/x',
    serviceTier: 'standard',
  }).decode();

  it('gives the canonical names', () => {
    expect(decoded).toMatchObject({
      turns: [
        {
          role: 'system',
          at: 'systemInstruction',
          blocks: [{ text: 'a', at: 'systemInstruction.parts[0]' }],
        },
        {
          role: 'user',
          at: 'contents[0]',
          blocks: [
            { text: 'x' },
            {
              kind: 'image',
              detail: 'low',
              source: { type: 'base64', data: '/+8=' },
              at: 'contents[0].parts[1]',
            },
          ],
        },
      ],
      tools: [
        {
          type: 'function',
          name: 'f',
          schema: { type: 'object', properties: { a: { type: ['integer', 'null'] }, b: { type: 'string' } } },
          at: 'tools[0].functionDeclarations[0]',
        },
        { type: 'hosted', kind: 'web-search', at: 'tools[1].googleSearch' },
      ],
      toolChoice: { mode: 'subset', names: ['f'], required: false },
      format: { type: 'schema', schema: { type: 'array', items: { type: 'string' }, minItems: 2 } },
      reasoning: { effort: 'high' },
      serviceTier: 'default',
      outputLimit: 5,
    });
  });

  it('does not report the role of instructions as lost', () => {
    const { turns } = callWith({ systemInstruction: { role: 'user', parts: [{ text: 'a' }] } }).decode();
    expect(turns[0]?.vendor).toBeUndefined();
  });

  it("reports losses by the client's own path", () => {
    const { fieldNames } = protocol.client;
    const asWritten = (path: string): string => clientPath(path, decoded, fieldNames);
    expect(
      [
        'turns[1].blocks[1].detail',
        'turns[1].blocks[1].videoMetadata',
        'topK',
        'reasoning.effort',
        'tools[0].strict',
        'generationConfig.imageConfig',
        'cachedContent',
        'toolConfig.retrievalConfig',
      ].map(asWritten),
    ).toEqual([
      'contents[0].parts[1].mediaResolution',
      'contents[0].parts[1].videoMetadata',
      'generationConfig.topK',
      'generationConfig.thinkingConfig.thinkingLevel',
      'tools[0].functionDeclarations[0].strict',
      'generationConfig.imageConfig',
      'cachedContent',
      'toolConfig.retrievalConfig',
    ]);
  });

  it('does not restore values that a plugin changed', () => {
    const [first, second] = decoded.tools ?? [];
    if (first?.type !== 'function' || !second) throw new Error('no tools');
    const { body } = encode({
      ...decoded,
      tools: [{ ...first, schema: { type: 'object' } }, second],
      modalities: ['text'],
    });
    expect(body).toMatchObject({
      tools: [
        { functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] },
        { googleSearch: {} },
      ],
      generationConfig: { responseModalities: ['TEXT'] },
    });
  });
});

describe('encoding sound', () => {
  it('asks a speaking model for audio only', () => {
    const { body } = encode({ modalities: ['text', 'audio'] }, modelWith({ output: ['audio'] }));
    expect(body.generationConfig).toEqual({ responseModalities: ['AUDIO'] });
  });
});
