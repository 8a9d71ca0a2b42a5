/** A client's web search or code execution becomes the current provider's own tool, if it has one. */
import { describe, expect, it } from 'vitest';
import { GatewayError, type Model } from '../../core/index.ts';
import { makeModel } from '../chat-completions/bodies.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';

const question = { role: 'user', content: 'What is new?' };
const oslo = { city: 'Oslo', country: 'NO' };
const searches: Readonly<Record<Wire, object>> = {
  'chat-completions': {
    model: 'a/b',
    messages: [question],
    web_search_options: {
      search_context_size: 'low',
      user_location: { type: 'approximate', approximate: oslo },
    },
  },
  responses: {
    model: 'a/b',
    input: 'What is new?',
    tools: [
      {
        type: 'web_search',
        search_context_size: 'low',
        user_location: { type: 'approximate', ...oslo },
        filters: { allowed_domains: ['a.no'] },
      },
    ],
  },
  messages: {
    model: 'a/b',
    max_tokens: 90,
    messages: [question],
    tools: [
      {
        type: 'web_search_20250305',
        name: 'web_search',
        max_uses: 2,
        allowed_domains: ['a.no'],
        user_location: { type: 'approximate', ...oslo },
      },
    ],
  },
  'generate-content': { contents: [{ parts: [{ text: 'What is new?' }] }], tools: [{ googleSearch: {} }] },
};
const coding: Readonly<Partial<Record<Wire, object>>> = {
  responses: {
    model: 'a/b',
    input: 'Add up.',
    tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
  },
  messages: {
    model: 'a/b',
    max_tokens: 90,
    messages: [question],
    tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
  },
  'generate-content': { contents: [{ parts: [{ text: 'Add up.' }] }], tools: [{ codeExecution: {} }] },
};
const searching = makeModel({ supportedParameters: ['web_search_options'] });
const targets: Readonly<Record<Wire, Model>> = {
  'chat-completions': searching,
  responses: families.responses.model,
  messages: families.messages.model,
  'generate-content': families['generate-content'].model,
};

function encodeTools(
  client: Wire,
  body: object,
  wire: Wire,
  model = targets[wire],
): { tools: unknown; options: unknown; lost: string[] } {
  const encoded = families[wire].protocol.upstream.encodeRequest(
    readCall(client, body).decode(),
    model,
    undefined,
  );
  const { tools, web_search_options: options }: { tools?: unknown; web_search_options?: unknown } =
    JSON.parse(JSON.stringify(encoded.body));
  return { tools, options, lost: encoded.losses.map(({ path }) => path).toSorted() };
}

it.each([
  [
    'chat-completions',
    'responses',
    [{ type: 'web_search', search_context_size: 'low', user_location: { type: 'approximate', ...oslo } }],
    [],
  ],
  [
    'chat-completions',
    'messages',
    [{ type: 'web_search_20250305', name: 'web_search', user_location: { type: 'approximate', ...oslo } }],
    ['tools[0].search_context_size'],
  ],
  [
    'chat-completions',
    'generate-content',
    [{ googleSearch: {} }],
    ['tools[0].search_context_size', 'tools[0].user_location'],
  ],
  [
    'responses',
    'messages',
    [
      {
        type: 'web_search_20250305',
        name: 'web_search',
        user_location: { type: 'approximate', ...oslo },
        allowed_domains: ['a.no'],
      },
    ],
    ['tools[0].search_context_size'],
  ],
  [
    'responses',
    'generate-content',
    [{ googleSearch: {} }],
    ['tools[0].filters.allowed_domains', 'tools[0].search_context_size', 'tools[0].user_location'],
  ],
  [
    'messages',
    'responses',
    [
      {
        type: 'web_search',
        filters: { allowed_domains: ['a.no'] },
        user_location: { type: 'approximate', ...oslo },
      },
    ],
    [],
  ],
  ['generate-content', 'responses', [{ type: 'web_search' }], []],
  ['generate-content', 'messages', [{ type: 'web_search_20250305', name: 'web_search' }], []],
] as const)('a search of %s becomes one of %s with the options it has', (client, wire, tools, lost) => {
  expect(encodeTools(client, searches[client], wire)).toEqual({ tools, options: undefined, lost });
});

it.each(['chat-completions', 'generate-content'] as const)(
  'a search is not requested of %s if no tool may be called, which does not concern it there',
  (wire) => {
    expect(encodeTools('messages', { ...searches.messages, tool_choice: { type: 'none' } }, wire)).toEqual({
      tools: undefined,
      options: undefined,
      lost: [],
    });
  },
);

function encodeLimits(client: Wire, more: object, wire: Wire): { limits: unknown[]; lost: string[] } {
  const encoded = families[wire].protocol.upstream.encodeRequest(
    readCall(client, { ...searches[client], ...more }).decode(),
    targets[wire],
    undefined,
  );
  const { tools = [], max_tool_calls: calls }: { tools?: { max_uses?: number }[]; max_tool_calls?: number } =
    JSON.parse(JSON.stringify(encoded.body));
  const lost = encoded.losses.flatMap(({ path }) => (/max_/.test(path) ? [path] : []));
  return { limits: [calls, ...tools.map(({ max_uses: uses }) => uses)], lost };
}

it('a search alone is limited as its client says, in the terms of either wire', () => {
  expect(encodeLimits('messages', {}, 'responses')).toEqual({ limits: [2, undefined], lost: [] });
  expect(encodeLimits('responses', { max_tool_calls: 3 }, 'messages')).toEqual({
    limits: [undefined, 3],
    lost: [],
  });
  expect(encodeLimits('responses', { max_tool_calls: 3 }, 'generate-content')).toEqual({
    limits: [undefined, undefined],
    lost: ['max_tool_calls'],
  });
});

it('a search beside other tools of the provider has no equivalent limit, and the loss is reported', () => {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 };
  expect(
    encodeLimits(
      'messages',
      { tools: [search, { type: 'code_execution_20250825', name: 'code_execution' }] },
      'responses',
    ),
  ).toEqual({ limits: [undefined, undefined, undefined], lost: ['tools[0].max_uses'] });
  const coder = { type: 'code_interpreter', container: { type: 'auto' } };
  expect(
    encodeLimits('responses', { tools: [{ type: 'web_search' }, coder], max_tool_calls: 3 }, 'messages'),
  ).toEqual({ limits: [undefined, undefined, undefined], lost: ['max_tool_calls'] });
});

it.each(['responses', 'messages', 'generate-content'] as const)(
  'a search of %s becomes one of chat-completions if the model is listed for it',
  (client) => {
    const { options } = encodeTools(client, searches[client], 'chat-completions');
    expect(options).toEqual(
      {
        responses: {
          search_context_size: 'low',
          user_location: { type: 'approximate', approximate: oslo },
        },
        messages: { user_location: { type: 'approximate', approximate: oslo } },
        'generate-content': {},
      }[client],
    );
  },
);

it('a search requested in two spellings is requested once', () => {
  const body = { ...searches['chat-completions'], tools: [{ type: 'openrouter:web_search' }] };
  expect(encodeTools('chat-completions', body, 'messages').tools).toHaveLength(1);
});

const coders = wires.filter((wire) => coding[wire]);

describe('code execution', () => {
  it.each(
    coders.flatMap((client) =>
      coders.filter((wire) => wire !== client).map((wire): [Wire, Wire] => [client, wire]),
    ),
  )('of %s becomes that of %s', (client, wire) => {
    expect(encodeTools(client, coding[client] ?? {}, wire)).toMatchObject({
      tools: {
        responses: [{ type: 'code_interpreter', container: { type: 'auto' } }],
        messages: [{ type: 'code_execution_20250825', name: 'code_execution' }],
        'generate-content': [{ codeExecution: {} }],
        'chat-completions': [],
      }[wire],
      lost: [],
    });
  });

  function catchRefusal(client: Wire, body: object, wire: Wire, model?: Model): unknown {
    try {
      return encodeTools(client, body, wire, model);
    } catch (error) {
      return error instanceof GatewayError ? [error.code, error.details.param] : error;
    }
  }

  it.each([
    ['generate-content', coding['generate-content'], 'tools[0].codeExecution'],
    ['responses', coding.responses, 'tools[0]'],
    ['generate-content', searches['generate-content'], 'tools[0].googleSearch'],
    [
      'generate-content',
      { ...searches['generate-content'], tools: [{ urlContext: {} }] },
      'tools[0].urlContext',
    ],
    [
      'generate-content',
      { ...searches['generate-content'], tools: [{ googleMaps: {} }] },
      'tools[0].googleMaps',
    ],
    [
      'generate-content',
      { ...searches['generate-content'], tools: [{ fileSearch: { fileSearchStoreNames: ['a'] } }] },
      'tools[0].fileSearch',
    ],
    [
      'responses',
      { model: 'a/b', input: 'a', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
      'tools[0]',
    ],
    [
      'generate-content',
      { ...searches['generate-content'], tools: [], cachedContent: 'cachedContents/1' },
      'cachedContent',
    ],
  ] as const)(
    'and whatever else a call of %s needs are refused where they do not exist, by the name of the field (%#)',
    (client, body, param) => {
      expect(catchRefusal(client, body ?? {}, 'chat-completions', makeModel())).toEqual([
        'unsupported_parameter',
        param,
      ]);
    },
  );

  it('on files that another provider stores is refused', () => {
    const kept = {
      ...coding.responses,
      tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file-1'] } }],
    };
    expect(catchRefusal('responses', kept, 'messages')).toEqual(['unsupported_parameter', 'tools[0]']);
  });
});
