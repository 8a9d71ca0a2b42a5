import { describe, expect, it } from 'vitest';
import type { CanonicalRequest, ClientCall } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { isObject } from '../support/json.ts';
import { ahoy, assistant, call, result, tool } from '../support/turns.ts';
import { makeCall, encode } from './bodies.ts';

describe('names and ids that this protocol does not take', () => {
  const long = 'x'.repeat(80);
  const request: Partial<CanonicalRequest> = {
    tools: [
      { type: 'function', name: 'mcp.files/read' },
      { type: 'function', name: long },
      { type: 'function', name: 'plain-1' },
    ],
    toolChoice: { mode: 'one', names: ['mcp.files/read'] },
    turns: [assistant(call(long, 'mcp.files/read')), tool(result(long, []))],
  };
  const sent = encode(request).body;

  it('are replaced consistently everywhere, and no others are', () => {
    const [first, second, third] = Array.isArray(sent.tools)
      ? sent.tools.map((tool: unknown) =>
          isObject(tool) && isObject(tool.function) ? String(tool.function.name) : '',
        )
      : [];
    expect(first).toMatch(/^mcp_files_read_[0-9a-f]{16}$/);
    expect(second).toMatch(/^x{47}_[0-9a-f]{16}$/);
    expect(third).toBe('plain-1');
    expect(sent.tool_choice).toEqual({ type: 'function', function: { name: first } });
    const id = expect.stringMatching(/^call_[0-9a-f]{16}$/);
    expect(sent.messages).toMatchObject([
      { tool_calls: [{ id, function: { name: first } }] },
      { tool_call_id: id },
    ]);
  });

  it('come back to the client as it wrote them', () => {
    const [tool]: unknown[] = Array.isArray(sent.tools) ? sent.tools : [];
    const name = isObject(tool) && isObject(tool.function) ? tool.function.name : undefined;
    const client: ClientCall = {
      ...makeCall(),
      decode: () => ({ model: 'a/b', stream: false, turns: [ahoy], ...request }),
    };
    const reply = {
      choices: [
        {
          index: 0,
          message: { tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: '{}' } }] },
          finish_reason: 'tool_calls',
        },
      ],
    };
    expect(protocol.upstream.decodeReply(reply, client)).toContainEqual(
      expect.objectContaining({ type: 'block-start', name: 'mcp.files/read' }),
    );
  });
});
