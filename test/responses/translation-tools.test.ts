import { expect, it } from 'vitest';
import type { CanonicalRequest, Turn } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { ahoy, assistant, result, tool } from '../support/turns.ts';
import { makeCapable, makeCall, encode, called } from './bodies.ts';

it('tools are not strict by default', () => {
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

it('tools get a valid name if OpenAI would refuse theirs, which is translated back in replies', () => {
  const tools = [{ type: 'function' as const, name: 'weather.at:sea' }];
  const { body } = encode({
    tools,
    toolChoice: { mode: 'one', names: ['weather.at:sea'] },
    turns: [ahoy, assistant({ ...called, name: 'weather.at:sea' })],
  });
  const written = /"name":"(weather_at_sea_[0-9a-f]{16})"/.exec(JSON.stringify(body.tools))?.[1];
  expect(body.tool_choice).toEqual({ type: 'function', name: written });
  expect(body.input).toMatchObject([{}, { name: written }]);
  const call2 = {
    ...makeCall(),
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

it("tools become web_search if another protocol's search; other hosted tools are reported as lost", () => {
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

it('tools must be called if another protocol demands its search by name', () => {
  const { body, lost } = encode({
    tools: [{ type: 'hosted', protocol: 'messages', kind: 'web-search', value: { name: 'web_search' } }],
    toolChoice: { mode: 'one', names: ['web_search'] },
  });
  expect(body).toMatchObject({ tools: [{ type: 'web_search' }], tool_choice: 'required' });
  expect(lost).toEqual([]);
});

it('tools lose a choice among no tools, which is reported if it required a call', () => {
  const encodeChoice = (request: Partial<CanonicalRequest>): unknown[] => {
    const { body, lost } = encode(request);
    return [body.tool_choice, lost];
  };
  expect(encodeChoice({ toolChoice: { mode: 'auto' }, parallelToolCalls: false })).toEqual([undefined, []]);
  expect(encodeChoice({ toolChoice: { mode: 'required' } })).toEqual([undefined, ['toolChoice']]);
  const tools: CanonicalRequest['tools'] = [{ type: 'function', name: 'f' }];
  expect(encodeChoice({ toolChoice: { mode: 'one', names: ['bash'] }, tools })).toEqual([
    undefined,
    ['toolChoice'],
  ]);
  expect(
    encodeChoice({ toolChoice: { mode: 'subset', names: ['f', 'bash'], required: true }, tools }),
  ).toEqual([
    { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
    ['toolChoice'],
  ]);
});

it("tools keep a Gemini client's search allowed next to a choice of functions", () => {
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

it('tools keep a cache breakpoint on a result, and report one on a call as lost', () => {
  const turns: Turn[] = [assistant({ ...called, cache: {} }), tool(result('c1', '1', { cache: {} }))];
  const { body, lost } = encode({ turns }, makeCapable({ wire: { responses: { cacheMarks: true } } }));
  expect(body.input).toMatchObject([
    {},
    { output: [{ type: 'input_text', text: '1', prompt_cache_breakpoint: { mode: 'explicit' } }] },
  ]);
  expect(lost).toEqual(['turns[0].blocks[0].cache']);
});

it('tools have a flat grammar that is nested in the canonical form', () => {
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' };
  const { tools } = makeCall({ tools: [{ type: 'custom', name: 'p', format }] }).decode();
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
