import { describe, expect, it } from 'vitest';
import type { CanonicalRequest, Turn } from '../../core/index.ts';
import { readMember, readObjects } from '../../plugins/shared/wire-kit/values.ts';
import { requireModel } from '../providers/catalogues.ts';
import { assistant, call, result, text, tool, user } from '../support/turns.ts';
import { makeCapable, encode, makeModel } from './bodies.ts';

describe('a request fitted to its model', () => {
  it('has a cache mark, with a lifetime this protocol has, if the model takes marks', () => {
    const markText = (ttl?: '1h' | '30m' | '12h'): Partial<CanonicalRequest> => ({
      turns: [user({ type: 'text', text: 'a', cache: ttl ? { ttl } : {} })],
    });
    const model = makeCapable({ wire: { 'chat-completions': { extras: true, cacheMarks: true } } });
    expect(encode(markText('1h'), model)).toMatchObject({
      body: {
        messages: [{ content: [{ type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } }] }],
      },
      lost: ['turns[0].blocks[0].cache.ttl'],
    });
    for (const ttl of ['30m', '12h'] as const)
      expect(encode(markText(ttl), model)).toMatchObject({
        body: { messages: [{ content: [{ prompt_cache_breakpoint: { mode: 'explicit', ttl } }] }] },
        lost: [],
      });
  });

  it('has the mark of a result on its last part, and reports one on a call or on an empty result', () => {
    const model = makeCapable({ wire: { 'chat-completions': { extras: true, cacheMarks: true } } });
    const turns: Turn[] = [
      assistant(call('c', 'f', { cache: {} })),
      user(result('c', [text('a'), text('b')], { cache: {} })),
      user(result('c', [], { cache: {} })),
    ];
    const { body, lost } = encode({ turns }, model);
    expect(body.messages).toMatchObject([
      {},
      {
        role: 'tool',
        content: [{ text: 'a' }, { text: 'b', prompt_cache_breakpoint: { mode: 'explicit' } }],
      },
      { role: 'tool', content: '' },
    ]);
    expect(lost).toEqual(['turns[0].blocks[0].cache', 'turns[2].blocks[0].cache']);
  });

  it('leaves out an item of another protocol, and reports it', () => {
    const foreign = { type: 'foreign', protocol: 'responses', value: {} } as const;
    expect(encode({ turns: [user(foreign, 'a')] })).toMatchObject({
      body: { messages: [{ content: 'a' }] },
      lost: ['turns[0].blocks[0]'],
    });
  });

  it('leaves out a choice among tools that are not offered, and reports it', () => {
    const hosted = {
      type: 'hosted',
      protocol: 'messages',
      kind: 'other',
      value: { type: 'computer_20250124', name: 'computer' },
    } as const;
    const tools = [{ type: 'function' as const, name: 'f' }, hosted];
    const encodeChoice = (
      toolChoice: CanonicalRequest['toolChoice'],
      offered: CanonicalRequest['tools'] = tools,
    ): unknown[] => {
      const { body, lost } = encode({ tools: offered, toolChoice });
      return [body.tool_choice, lost.filter((path) => path === 'toolChoice').length];
    };
    expect(encodeChoice({ mode: 'one', names: ['computer'] })).toEqual([undefined, 1]);
    expect(encodeChoice({ mode: 'subset', names: ['computer', 'f'] })).toEqual([
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
      1,
    ]);
    expect(encodeChoice({ mode: 'required' }, [hosted])).toEqual([undefined, 1]);
    expect(encodeChoice({ mode: 'none' }, [hosted])).toEqual([undefined, 0]);
  });

  it('offers the chosen tool alone and asks for it in words if no call can be forced, and reports it', () => {
    const model = makeModel({ capabilities: { wire: { 'chat-completions': { forcedTools: 'never' } } } });
    const tools = ['f', 'g'].map((name) => ({ type: 'function' as const, name }));
    const { body, lost } = encode({ tools, toolChoice: { mode: 'one', names: ['g'] } }, model);
    expect([body.tools, body.tool_choice, lost]).toMatchObject([
      [{ function: { name: 'g' } }],
      undefined,
      ['toolChoice'],
    ]);
    const any = encode({ tools, toolChoice: { mode: 'required' } }, model).body;
    expect(any.tools).toHaveLength(2);
    expect([body, any].map(({ messages }) => readObjects(messages)[0])).toEqual([
      { role: 'system', content: 'Do not answer in words: call the tool "g".' },
      { role: 'system', content: 'Do not answer in words: call one of the tools "f", "g".' },
    ]);
    expect(encode({ tools }, model).body.messages).toEqual(encode({}, model).body.messages);
  });

  const chosen: CanonicalRequest['toolChoice'] = { mode: 'one', names: ['g'] };
  const forbidden: CanonicalRequest['toolChoice'] = { mode: 'none' };
  const named = { type: 'function', function: { name: 'g' } };
  it.each<
    [vendor: string, upstream: string, choice: CanonicalRequest['toolChoice'], sent: object, lost?: string]
  >([
    ['moonshot', 'kimi-k3', chosen, { tools: ['g'], tool_choice: 'required' }],
    [
      'moonshot',
      'kimi-k2.6',
      chosen,
      { tools: ['f', 'g'], tool_choice: named, thinking: { type: 'disabled' } },
    ],
    ['alibaba', 'qwen3.7-max', chosen, { tools: ['f', 'g'], tool_choice: named, enable_thinking: false }],
    ['alibaba', 'qwen3.8-max', chosen, { tools: ['f', 'g'], tool_choice: named, reasoning_effort: 'none' }],
    ['zai', 'glm-5.3', chosen, { tools: ['g'], tool_choice: null }, 'toolChoice'],
    ['zai', 'glm-5.3', forbidden, { tools: [], tool_choice: null }],
  ])('has only a choice that %s takes of %s: %j', (vendor, upstream, toolChoice, sent, lost) => {
    const tools = ['f', 'g'].map((name) => ({ type: 'function' as const, name }));
    const { body, lost: losses } = encode({ tools, toolChoice }, requireModel(vendor, upstream));
    const offered = readObjects(body.tools).map((each) => readMember(each.function, 'name'));
    expect({ tool_choice: null, ...body, tools: offered }).toMatchObject(sent);
    expect(losses).toEqual(lost === undefined ? [] : [lost]);
  });

  it('sends the result of a failed tool as a plain result, and reports it', () => {
    const turns: Turn[] = [tool(result('c', 'no', { isError: true }))];
    expect(encode({ turns })).toMatchObject({
      body: { messages: [{ role: 'tool', tool_call_id: 'c', content: 'no' }] },
      lost: ['turns[0].blocks[0].isError'],
    });
  });
});
