/**
 * A web search, or a tool that makes pictures, that the provider lacks. Claude Code searches in a call that
 * offers no other tool.
 */
import { describe, expect, it } from 'vitest';
import { GatewayError, type Model } from '../../core/index.ts';
import { makeModel } from '../chat-completions/bodies.ts';
import { families, readCall, type Wire } from '../support/families.ts';

const search = { type: 'web_search_20250305', name: 'web_search' };
const run = { name: 'run', input_schema: { type: 'object' } };
const messages = { model: 'a/b', max_tokens: 90, messages: [{ role: 'user', content: 'What is new?' }] };
const responses = { model: 'a/b', input: 'What is new?' };

/** The paths of what is lost, or the field by which the call is refused. */
function crossToChat(client: Wire, body: object): unknown {
  const { upstream } = families['chat-completions'].protocol;
  try {
    const { losses } = upstream.encodeRequest(readCall(client, body).decode(), makeModel(), undefined);
    return losses.map(({ path }) => path);
  } catch (error) {
    return error instanceof GatewayError ? [error.code, error.details.param] : error;
  }
}

it.each<[string, Wire, object]>([
  ['alone in messages', 'messages', { ...messages, tools: [search] }],
  ['alone in responses', 'responses', { ...responses, tools: [{ type: 'web_search' }] }],
  ['of Groq', 'responses', { ...responses, tools: [{ type: 'browser_search' }] }],
  [
    'that must be called',
    'messages',
    { ...messages, tools: [search, run], tool_choice: { type: 'tool', name: 'web_search' } },
  ],
])('a search that the provider lacks is refused by the name of its field: %s', (_case, client, body) => {
  expect(crossToChat(client, body)).toEqual(['unsupported_parameter', 'tools[0]']);
});

it.each<[string, Wire, object]>([
  ['beside other tools in messages', 'messages', { ...messages, tools: [search, run] }],
  [
    'beside other tools in responses',
    'responses',
    { ...responses, tools: [{ type: 'web_search' }, { type: 'function', name: 'run' }] },
  ],
  [
    'beside the tool that must be called',
    'messages',
    { ...messages, tools: [search, run], tool_choice: { type: 'tool', name: 'run' } },
  ],
])('a search that the provider lacks is reported as lost: %s', (_case, client, body) => {
  expect(crossToChat(client, body)).toEqual(['tools[0]']);
});

it('a search that the provider lacks is left out of a call that may call no tool', () => {
  const body = { ...messages, tools: [search], tool_choice: { type: 'none' } };
  expect(crossToChat('messages', body)).toEqual([]);
});

describe('a tool that makes pictures', () => {
  const paint = { type: 'image_generation' };
  const other = { type: 'function', name: 'run' };

  it.each<[string, object, string]>([
    ['alone', { tools: [paint] }, 'tools[0]'],
    ['that must be called', { tools: [other, paint], tool_choice: paint }, 'tools[1]'],
  ])('is refused by the name of its field where there is none: %s', (_case, fields, field) => {
    expect(crossToChat('responses', { ...responses, ...fields })).toEqual(['unsupported_parameter', field]);
  });

  it.each<[string, object, string[]]>([
    ['beside other tools', { tools: [paint, other] }, ['tools[0]']],
    ['in a call that may call no tool', { tools: [paint], tool_choice: 'none' }, []],
  ])('is left out and reported: %s', (_case, fields, lost) => {
    expect(crossToChat('responses', { ...responses, ...fields })).toEqual(lost);
  });

  it('is not needed by a model that makes pictures itself', () => {
    const { upstream } = families['generate-content'].protocol;
    const model: Model = { ...families['generate-content'].model, output: ['text', 'image'] };
    const request = readCall('responses', { ...responses, tools: [paint] }).decode();
    expect(upstream.encodeRequest(request, model, undefined).losses).toHaveLength(1);
  });
});

describe("Groq's search", () => {
  const body = {
    model: 'a/b',
    messages: [{ role: 'user', content: 'What is new?' }],
    tools: [{ type: 'browser_search' }],
  };

  it.each([
    ['responses', [{ type: 'web_search' }]],
    ['messages', [{ type: 'web_search_20250305', name: 'web_search' }]],
    ['generate-content', [{ googleSearch: {} }]],
  ] as const)('becomes the search of %s', (wire, tools) => {
    const { protocol, model } = families[wire];
    const request = readCall('chat-completions', body).decode();
    expect(protocol.upstream.encodeRequest(request, model, undefined)).toMatchObject({
      body: { tools },
      losses: [],
    });
  });
});
