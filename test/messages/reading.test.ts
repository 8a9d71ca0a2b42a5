import { describe, expect, it } from 'vitest';
import type { ClientCall, Match } from '../../core/index.ts';
import { createProtocol } from '../../plugins/protocols/messages/index.ts';
import { readCases } from '../support/cases.ts';
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

/** Fields to add to a valid request, the wrong field, and what the message says about it. */
const wrong: [fields: Record<string, unknown>, param: string, message: RegExp][] = [
  ...readCases<[fields: Record<string, unknown>, param: string, message: RegExp][]>(
    'reading-refusals.json',
    import.meta.url,
  ),
  [{ model: undefined }, 'model', /is missing/],
  [{ max_tokens: undefined }, 'max_tokens', /is missing/],
  [{ messages: undefined }, 'messages', /is missing/],
];

describe('a body of messages', () => {
  it.each(wrong)('with %j is refused, naming %s', (fields, param, expected) => {
    const error = expectRefusal(() => read({ ...least, ...fields }));
    expect(error.details.param).toBe(param);
    expect(error.message).toMatch(expected);
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
