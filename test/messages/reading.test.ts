import { describe, expect, it } from 'vitest';
import type { ClientCall, Match } from '../../core/index.ts';
import { createProtocol } from '../../plugins/protocols/messages/index.ts';
import { expectRefusal } from '../support/refusals.ts';
import { makeCall, protocol, version } from './bodies.ts';

function read(
  body: object,
  headers: Record<string, string> = version,
  match: Match = { operation: 'generate' },
): ClientCall {
  const text = JSON.stringify(body);
  return protocol.client.read(JSON.parse(text), text, match, headers);
}

const least = { model: 'anthropic/claude-test', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] };
const content = (...blocks: object[]): object => ({ messages: [{ role: 'user', content: blocks }] });
const tool = { name: 'look', input_schema: { type: 'object' } };
/** A message that offers one more tool from here on. */
const addition = (definition: object): { readonly role: string; readonly content: object[] } => ({
  role: 'system',
  content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition } }],
});

describe('the paths of messages', () => {
  it.each([
    ['POST', '/alpha/v1/messages', { operation: 'generate' }],
    ['POST', '/alpha/v1/messages/count_tokens', { operation: 'count' }],
    ['GET', '/alpha/v1/messages', undefined],
    ['POST', '/v1/messages', { operation: 'generate' }],
    ['POST', '/messages/count_tokens', { operation: 'count' }],
    ['POST', '/alpha/messages', { operation: 'generate' }],
    ['POST', '/alpha/alpha/v1/messages', undefined],
    ['POST', '/v2/messages', undefined],
    ['POST', '/alpha/v1/messages/batches', undefined],
  ])('%s %s is matched as %j', (method, path, match) => {
    expect(protocol.client.match(method, path)).toEqual(match);
  });

  it('can be served below another mount, and below none', () => {
    expect(createProtocol('/claude').client.match('POST', '/claude/v1/messages')).toEqual({
      operation: 'generate',
    });
    expect(createProtocol('').client.match('POST', '/v1/messages')).toEqual({ operation: 'generate' });
  });
});

describe('the version header', () => {
  it.each(['anthropic-version', 'partner-version'])('%s of either version is accepted', (name) => {
    for (const known of ['2023-06-01', '2026-10-21'])
      expect(read(least, { [name]: known }).model).toBe(least.model);
  });

  it('is required, on calls and on counts', () => {
    for (const operation of ['generate', 'count'] as const) {
      const { code, details, message } = expectRefusal(() => read(least, {}, { operation }));
      expect([code, details.param, message]).toEqual([
        'invalid_request',
        'anthropic-version',
        'The header "anthropic-version" is missing: send 2023-06-01 or 2026-10-21.',
      ]);
    }
  });

  it.each(['anthropic-version', 'partner-version'])('%s with another date is refused by its name', (name) => {
    expect(expectRefusal(() => read(least, { [name]: '2023-01-01' })).message).toContain(
      `"${name}" is "2023-01-01"`,
    );
  });
});

describe('a body of messages', () => {
  it.each([
    [{ model: undefined }, 'model', 'is missing'],
    [{ model: '' }, 'model', 'a model id of the form <provider>/<model_name>'],
    [{ max_tokens: undefined }, 'max_tokens', 'is missing'],
    [{ max_tokens: -1 }, 'max_tokens', 'a whole number of tokens'],
    [{ max_tokens: 1.5 }, 'max_tokens', 'a whole number of tokens'],
    [{ messages: undefined }, 'messages', 'is missing'],
    [{ messages: [{ role: 'system' }] }, 'messages[0].content', 'is missing: send a string, or an array'],
    [{ messages: [{ role: 'system', output_config: {} }] }, 'messages[0].content', 'is missing'],
    [{ messages: [{ role: 'user', output_config: { effort: 'low' } }] }, 'messages[0].content', 'is missing'],
    [{ messages: [] }, 'messages', 'an array of 1 or more'],
    [{ messages: [{ role: 3, content: 'x' }] }, 'messages[0].role', 'the role of the author'],
    [{ system: [{ type: 'text' }] }, 'system[0].text', 'is missing'],
    [{ tools: [{ type: 3 }] }, 'tools[0].type', 'is 3'],
    [{ service_tier: 3 }, 'service_tier', 'a string'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content', 'a string, or an array of content blocks'],
    [
      { messages: [{ role: 'user', content: 7 }] },
      'messages[0].content',
      'a string, or an array of content blocks',
    ],
    [{ messages: [{ role: 'user', content: [null] }] }, 'messages[0].content[0]', 'is null: send an object.'],
    [{ messages: [{ role: 'user', content: ['x'] }] }, 'messages[0].content[0]', 'is "x": send an object.'],
    [
      content({ type: 'tool_result', tool_use_id: 'a', content: ['x'] }),
      'messages[0].content[0].content[0]',
      'is "x": send an object.',
    ],
    [{ tools: ['bash'] }, 'tools[0]', 'is "bash": send an object.'],
    [content({ type: 'text' }), 'messages[0].content[0].text', 'is missing'],
    [
      content({ type: 'image', source: { type: 'base64', media_type: 'image/png' } }),
      'messages[0].content[0].source.data',
      'is missing',
    ],
    [content({ type: 'tool_use', name: 'a', input: {} }), 'messages[0].content[0].id', 'is missing'],
    [
      content({ type: 'tool_use', id: 'a', name: 'a', input: '{}' }),
      'messages[0].content[0].input',
      'an object',
    ],
    [
      content({ type: 'tool_result', content: 'x' }),
      'messages[0].content[0].tool_use_id',
      'the id of the tool_use block that it belongs to',
    ],
    [content({ type: 'thinking' }), 'messages[0].content[0].thinking', 'is missing'],
    [{ system: 3 }, 'system', 'a string, or an array of text blocks'],
    [{ temperature: 1.1 }, 'temperature', 'a number from 0 to 1'],
    [{ top_p: -0.1 }, 'top_p', 'a number from 0 to 1'],
    [{ top_k: 0.5 }, 'top_k', 'a whole number, 0 or more'],
    [{ stop_sequences: 'x' }, 'stop_sequences', 'an array'],
    [{ stream: 'yes' }, 'stream', 'true or false'],
    [{ tools: [{ name: 'a' }] }, 'tools[0].input_schema', 'is missing'],
    [{ tools: [{ name: 'a', input_schema: { type: 'string' } }] }, 'tools[0].input_schema.type', '"object"'],
    [{ tools: [tool], tool_choice: 'auto' }, 'tool_choice', 'an object'],
    [
      { tools: [tool], tool_choice: { type: 'tool', name: 'see' } },
      'tool_choice.name',
      'is "see", which is not in "tools"',
    ],
    [{ tool_choice: { type: 'any' } }, 'tool_choice', '"tools" with it'],
    [{ thinking: { type: 'enabled', budget_tokens: 512 } }, 'thinking.budget_tokens', 'at least 1024'],
    [
      { thinking: { type: 'enabled', budget_tokens: 2048 }, max_tokens: 2048 },
      'thinking.budget_tokens',
      'fewer tokens of thinking than "max_tokens"',
    ],
    [{ metadata: { user_id: 7 } }, 'metadata.user_id', 'a string'],
  ])('with %j is refused, naming %s', (fields, param, expected) => {
    const error = expectRefusal(() => read({ ...least, ...fields }));
    expect(error.details.param).toBe(param);
    expect(error.message).toContain(expected);
    expect(error.code).toBe('invalid_request');
  });

  it.each([{ type: 'create' }, { type: 'continue', previous_message_id: 'msg_1' }])(
    'that leaves its conversation with the provider is refused: %j',
    (thread) => {
      const error = expectRefusal(() =>
        read({ ...least, thread }, { ...version, 'anthropic-beta': 'message-threads-2026-08-12' }),
      );
      expect(error).toMatchObject({
        code: 'unsupported_parameter',
        details: { param: 'thread', vendor: { code: 'thread_unsupported_request' } },
      });
      expect(read({ ...least, thread: null }).model).toBe(least.model);
    },
  );

  it.each([
    ['fallbacks', { fallbacks: [{ model: 'claude-opus-4-6' }] }, 'provider.fallback'],
    ['fallbacks', { fallbacks: 'default' }, 'provider.fallback'],
    [
      'tools[1].type',
      { tools: [tool, { type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-6' }] },
      'a second model',
    ],
    [
      'messages[1].content[0].tool.definition.type',
      { messages: [...least.messages, addition({ type: 'advisor_20260301', name: 'advisor' })] },
      'a second model',
    ],
  ])(
    'that lets other models answer, at other prices, is refused by the name of %s',
    (param, fields, expected) => {
      const error = expectRefusal(() =>
        read({ ...least, ...fields }, { ...version, 'anthropic-beta': 'server-side-fallback-2026-07-01' }),
      );
      expect(error).toMatchObject({ code: 'unsupported_parameter', details: { param } });
      expect(error.message).toContain(expected);
      expect(read({ ...least, fallbacks: null }).model).toBe(least.model);
    },
  );

  it('pays for a search that a message adds, or that a summary kept, like for one of its tools', () => {
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 };
    const kept = { type: 'compaction', content: 'x', tool_changes: addition(search).content };
    for (const [message, field] of [
      [addition(search), 'messages[1].content[0].tool.definition.type'],
      [{ role: 'assistant', content: [kept] }, 'messages[1].content[0].tool_changes[0].tool.definition.type'],
    ] as const)
      expect(read({ ...least, messages: [...least.messages, message] })).toMatchObject({
        fees: [{ name: 'webSearch', field, most: 2 }],
        size: { rounds: 2 },
      });
  });

  it('may contain unknown fields, at every depth', () => {
    const body = {
      ...least,
      x_new: 1,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x', x_new: 2 }], x_new: 3 }],
      tools: [{ ...tool, x_new: 4 }],
      thinking: { type: 'adaptive', x_new: 5 },
    };
    expect(read(body).model).toBe(least.model);
  });

  it("of a provider's tool may name that tool, and one inside a set", () => {
    expect(
      read({
        ...least,
        tools: [{ type: 'bash_20250124', name: 'bash' }],
        tool_choice: { type: 'tool', name: 'bash' },
      }).model,
    ).toBe(least.model);
    expect(
      read({
        ...least,
        tools: [{ type: 'browser_toolset_20260801' }],
        tool_choice: { type: 'tool', name: 'zoom' },
      }).model,
    ).toBe(least.model);
  });

  it('of a count needs no limit, and neither streams nor has one', () => {
    const { max_tokens: _limit, ...rest } = least;
    expect(read(rest, version, { operation: 'count' })).toMatchObject({
      outputLimit: undefined,
      stream: false,
    });
    expect(read({ ...least, stream: true }, version, { operation: 'count' })).toMatchObject({
      outputLimit: undefined,
      stream: false,
    });
  });

  it('with a limit of 0 only warms the cache', () => {
    expect(makeCall({ max_tokens: 0 }).outputLimit).toBe(0);
  });
});

it('a call that says that the model made it loses nothing on another wire', () => {
  const readCaller = (caller: object): unknown =>
    read({
      ...least,
      messages: [
        ...least.messages,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {}, caller }] },
      ],
    }).decode().turns[1]?.blocks;
  expect(readCaller({ type: 'direct' })).toEqual([
    {
      type: 'tool-call',
      id: 'a',
      name: 'look',
      arguments: '{}',
      at: 'messages[1].content[0]',
    },
  ]);
  expect(readCaller({ type: 'code_execution_20250825', tool_id: 'srvtoolu_1' })).toMatchObject([
    { vendor: { messages: { caller: { tool_id: 'srvtoolu_1' } } } },
  ]);
});

describe('the size of a call', () => {
  it.each([
    ['a search', [{ type: 'web_search_20250305', name: 'web_search' }], undefined],
    ["the client's tools", [tool, { ...tool, name: 'go', type: 'custom' }], 500],
    [
      "tools of Anthropic's",
      [tool, { type: 'bash_20250124', name: 'bash' }, { type: 'memory_20250818', name: 'memory' }],
      8500,
    ],
  ])('counts what Anthropic adds to explain %s', (_, tools, added) => {
    expect(read({ ...least, tools }).size.added).toBe(added);
  });

  it('counts media separately, inside tool results too', () => {
    const image = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'AAAA'.repeat(10) },
    };
    const pdf = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA'.repeat(20) },
    };
    const body = {
      ...least,
      ...content(image, pdf, { type: 'tool_result', tool_use_id: 'a', content: [image, pdf] }),
    };
    const bytes = Buffer.byteLength(JSON.stringify(body));
    expect(read(body).size).toEqual({
      textBytes: bytes - 2 * 40 - 2 * 80,
      brief: true,
      images: 2,
      mediaBytes: 120,
      uncached: true,
    });
  });
});
