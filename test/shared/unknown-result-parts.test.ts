/**
 * A part of a tool's result that only its protocol has stays where it is, beside parts that a plugin may
 * change.
 */
import { expect, it } from 'vitest';
import type { CanonicalRequest } from '../../core/index.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';

const hologram = { type: 'hologram', data: 'h' };
const call = { name: 'look', arguments: '{}' };

/** A conversation in which a tool answers with a text and a part of an unknown type. */
const bodies: Readonly<Record<Wire, object>> = {
  'chat-completions': {
    model: 'a/b',
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: call }] },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'secret' }, hologram] },
    ],
  },
  responses: {
    model: 'a/b',
    input: [
      { role: 'user', content: 'Go' },
      { type: 'function_call', call_id: 'c1', ...call },
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [{ type: 'input_text', text: 'secret' }, hologram],
      },
    ],
  },
  messages: {
    model: 'a/b',
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'secret' }, hologram] },
        ],
      },
    ],
  },
  'generate-content': {
    contents: [
      { role: 'user', parts: [{ text: 'Go' }] },
      { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] },
      {
        role: 'user',
        parts: [{ functionResponse: { name: 'look', response: { output: 'secret' }, parts: [hologram] } }],
      },
    ],
  },
};

function redactResults(request: CanonicalRequest): CanonicalRequest {
  const turns = request.turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.map((block) =>
      block.type === 'tool-result'
        ? {
            ...block,
            content: block.content.map((part) => (part.type === 'text' ? { ...part, text: '***' } : part)),
          }
        : block,
    ),
  }));
  return { ...request, turns };
}

it.each(wires)('a plugin changes the text beside it on %s', (wire) => {
  const { protocol, model } = families[wire];
  const encode = (request: CanonicalRequest): string =>
    JSON.stringify(protocol.upstream.encodeRequest(request, model, undefined).body);
  const request = readCall(wire, bodies[wire]).decode();
  const whole = encode(request);
  expect(whole).toContain(JSON.stringify(hologram));
  expect(whole).toContain('"secret"');
  expect(encode(redactResults(request))).toBe(whole.replace('"secret"', '"***"'));
});
