/**
 * Several messages of an assistant, or text before and after something else, never run together into one
 * sentence.
 */
import { describe, expect, it } from 'vitest';
import { families, readCall, type Wire } from '../support/families.ts';

const model = 'a/b';
const hi = { role: 'user', content: 'Hi' };
const go = { role: 'user', content: 'Go' };
const tools = [{ type: 'function', name: 'look' }];
const called = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' };
const answered = { type: 'function_call_output', call_id: 'c1', output: 'Seen.' };

function encodeMessages(client: Wire, body: object, wire: Wire = 'chat-completions'): unknown {
  const { protocol, model: target } = families[wire];
  const plain: { messages?: unknown; input?: unknown } = JSON.parse(
    JSON.stringify(protocol.upstream.encodeRequest(readCall(client, body).decode(), target, undefined).body),
  );
  return plain.messages ?? plain.input;
}

describe('two messages of the assistant', () => {
  const two = [hi, { role: 'assistant', content: 'Hello.' }, { role: 'assistant', content: 'World' }, go];

  it('stay two on the other wires that have messages', () => {
    for (const wire of ['chat-completions', 'responses'] as const) {
      expect(encodeMessages('messages', { model, max_tokens: 90, messages: two }, wire)).toEqual(two);
      expect(encodeMessages('responses', { model, input: two }, wire)).toEqual(two);
    }
  });

  it('each keep the reasoning before them', () => {
    const thought = (text: string): object => ({
      type: 'reasoning',
      id: `rs_${text}`,
      summary: [{ type: 'summary_text', text }],
      encrypted_content: 'gAAAAAB',
    });
    const { turns } = readCall('responses', {
      model,
      input: [
        hi,
        thought('a'),
        { role: 'assistant', content: 'Hello.' },
        thought('b'),
        { role: 'assistant', content: 'World' },
        called,
      ],
    }).decode();
    expect(
      turns.map(({ blocks }) => blocks.map((block) => ('text' in block ? block.text : block.type))),
    ).toEqual([['Hi'], ['a', 'Hello.'], ['b', 'World', 'tool-call']]);
  });

  it('become one if the first calls a tool: only results may follow a call', () => {
    const call = { tool_calls: [{ id: 'c1' }] };
    const shown = [
      hi,
      { role: 'assistant', content: 'Hello.\n\nWorld', ...call },
      { role: 'tool', content: 'Seen.' },
    ];
    expect(
      encodeMessages('responses', {
        model,
        tools,
        input: [
          hi,
          { role: 'assistant', content: 'Hello.' },
          called,
          { role: 'assistant', content: 'World' },
          answered,
        ],
      }),
    ).toMatchObject(shown);
    const use = { type: 'tool_use', id: 'c1', name: 'look', input: {} };
    const messages = [
      hi,
      { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }, use] },
      { role: 'assistant', content: 'World' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'Seen.' }] },
    ];
    expect(encodeMessages('messages', { model, max_tokens: 90, messages })).toMatchObject(shown);
  });
});

it('texts between which a provider searched keep a break, and pieces of one text have none', () => {
  const text = (words: string): object => ({ type: 'text', text: words });
  const search = [
    { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
  ];
  const messages = [
    hi,
    { role: 'assistant', content: [text('I look.'), ...search, text('Sunny, '), text('it says.')] },
    go,
  ];
  expect(encodeMessages('messages', { model, max_tokens: 90, messages })).toEqual([
    hi,
    { role: 'assistant', content: 'I look.\n\nSunny, it says.' },
    go,
  ]);
  const contents = [
    { parts: [{ text: 'Hi' }] },
    { role: 'model', parts: [{ text: 'Hel' }] },
    { role: 'model', parts: [{ text: 'lo.' }] },
    { parts: [{ text: 'Go' }] },
  ];
  expect(encodeMessages('generate-content', { contents })).toEqual([
    hi,
    { role: 'assistant', content: 'Hello.' },
    go,
  ]);
});
