import { expect, it } from 'vitest';
import type { CanonicalRequest } from '../../core/index.ts';
import { toClientPath } from '../../core/loss.ts';
import { listForeignFields } from '../../plugins/shared/wire-kit/foreign-fields.ts';
import { ahoy, call, assistant } from '../support/turns.ts';
import { makeCall, makeCapable, older, protocol, encode } from './bodies.ts';
import { gemma, isRecord } from './encoded.ts';

it('encoding tools renames a tool that Google would refuse, and restores its name in the reply', () => {
  const names = ['get weather', 'get_weather', '1st', 'x'.repeat(70), 'ünïcode', 'mcp:a.b-c'];
  const request: CanonicalRequest = {
    model: 'a/b',
    stream: false,
    turns: [ahoy, assistant(call('c1', 'get weather'))],
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
  const foreign = { ...makeCall(), decode: () => request };
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
])('encoding tools sends the choice %j', (toolChoice, calling) => {
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

it('encoding tools omits a choice of tools that are not offered, and reports it', () => {
  const tools: CanonicalRequest['tools'] = [{ type: 'function', name: 'f' }];
  expect(encode({ toolChoice: { mode: 'one', names: ['g'] }, tools })).toEqual({
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }],
      tools: [{ functionDeclarations: [{ name: 'f' }] }],
    },
    lost: ['toolChoice'],
  });
  expect(encode({ toolChoice: { mode: 'subset', names: ['f', 'g'], required: false }, tools })).toMatchObject(
    {
      body: { toolConfig: { functionCallingConfig: { allowedFunctionNames: ['f'] } } },
      lost: ['toolChoice'],
    },
  );
  expect(encode({ toolChoice: { mode: 'required' } }).lost).toEqual(['toolChoice']);
});

it('encoding tools reports the mode VALIDATED as lost if it names no functions', () => {
  const { toolChoice } = makeCall({
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
    toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } },
  }).decode();
  expect(
    listForeignFields({ model: 'a/b', stream: false, turns: [], toolChoice }, 'responses').map(({ path }) =>
      toClientPath(path, { model: 'a/b', stream: false, turns: [] }, protocol.client.fieldNames),
    ),
  ).toEqual(['toolConfig.functionCallingConfig.mode']);
});

it('encoding tools treats `thought: false` like no field', () => {
  expect(
    listForeignFields(
      makeCall({ contents: [{ parts: [{ text: 'a', thought: false }] }] }).decode(),
      'responses',
    ),
  ).toEqual([]);
});

it("encoding tools translates another vendor's web search if both sides have one", () => {
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
  const mixed = { tools: [search, { type: 'function', name: 'f' } as const] };
  expect(encode(mixed).lost).toEqual(['tools[0]']);
  const able = makeCapable({
    hosted: ['web-search'],
    wire: { 'generate-content': { mixedTools: true } },
  });
  const tools = [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {} }];
  const includeServerSideToolInvocations = true;
  for (const mode of ['auto', 'required'] as const)
    expect(encode({ ...mixed, toolChoice: { mode } }, able)).toMatchObject({
      body: {
        tools,
        toolConfig:
          mode === 'auto'
            ? { includeServerSideToolInvocations }
            : { functionCallingConfig: { mode: 'ANY' }, includeServerSideToolInvocations },
      },
      lost: ['tools[0].max_uses'],
    });
  expect(encode({ ...mixed, toolChoice: { mode: 'none' } }, able).body.toolConfig).toEqual({
    functionCallingConfig: { mode: 'NONE' },
  });
  expect(
    encode({ tools: [{ type: 'hosted', protocol: 'responses', kind: 'other', value: {} }] }),
  ).toMatchObject({ lost: ['tools[0]'] });
});

it('encoding tools omits tools for a model without any', () => {
  expect(
    encode({ tools: [{ type: 'function', name: 'f' }], toolChoice: { mode: 'required' } }, gemma),
  ).toEqual({ body: { contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }] }, lost: ['tools'] });
});
