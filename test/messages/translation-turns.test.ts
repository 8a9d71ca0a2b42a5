import { describe, expect, it } from 'vitest';
import type { Block } from '../../core/index.ts';
import { sendOwn } from '../support/families.ts';
import { assistant, developer, file, result, system, text, tool, user } from '../support/turns.ts';
import { makeCapable, makeModel, protocol, send, look, callLook, turns } from './bodies.ts';

const older = makeCapable({ reasoning: { style: 'budget' }, wire: { messages: { midSystem: false } } });

const png = 'iVBORw0KGgoAAAANSUhEUg==';

describe('a conversation from another protocol', () => {
  it('sends leading instructions as the system prompt, in blocks only if they are marked or several', () => {
    expect(send(turns(system('Be brief.'), user('Hi'))).body.system).toBe('Be brief.');
    const cached: Block = { type: 'text', text: 'Be brief.', cache: {} };
    expect(send(turns(developer(cached), system('And kind.'), user('Hi'))).body.system).toEqual([
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'And kind.' },
    ]);
  });

  it("sends later instructions before an answer or at the end, or marked within the user's text", () => {
    const list = turns(user('Hi'), assistant('Yes?'), developer('Be brief.'), user('Well'));
    const spoken = [
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Yes?' }] },
      { role: 'user', content: [{ type: 'text', text: 'Well' }] },
    ];
    const brief = { type: 'text', text: 'Be brief.' };
    expect(send(list).body.messages).toEqual([...spoken, { role: 'system', content: [brief] }]);
    const two = turns(user('Hi'), system('A.'), user('Well'), system('B.'), assistant('Yes?'), user('So'));
    expect(send(two).body.messages).toMatchObject([
      { role: 'user', content: [{ text: 'Hi' }, { text: 'Well' }] },
      { role: 'system', content: [{ text: 'A.' }, { text: 'B.' }] },
      { role: 'assistant' },
      { role: 'user' },
    ]);
    // Anthropic accepts none directly after an answer.
    const after = turns(user('Hi'), assistant('Yes?'), system('A.'), assistant('Go on.'), user('So'));
    expect(send(after).body.messages).toMatchObject([
      {},
      { role: 'assistant' },
      { role: 'user', content: [{ text: '<system>\nA.\n</system>' }] },
      { role: 'assistant' },
      { role: 'user' },
    ]);
    const { body, lost } = send(list, older);
    expect(body.messages).toMatchObject([
      {},
      {},
      { role: 'user', content: [{ text: '<system>\nBe brief.\n</system>' }, { text: 'Well' }] },
    ]);
    expect(lost).toEqual(['turns[2].role']);
  });

  it('with an image by URL is refused if the provider fetches none', () => {
    const shown = turns(
      user('What is it?', file('image', 'https://x.example/a.png', { at: 'messages[0].content[1]' })),
    );
    expect(send(shown).body.messages).toMatchObject([{ content: [{}, { source: { type: 'url' } }] }]);
    expect(() => send(shown, makeCapable({ imageUrls: false }))).toThrow(
      expect.objectContaining({
        code: 'unsupported_parameter',
        details: expect.objectContaining({ param: 'messages[0].content[1]' }),
      }),
    );
  });

  it('never contains empty text or a turn that is empty without it, but keeps calls beside it', () => {
    const { body } = send({
      ...turns(
        user('Go'),
        assistant(' \n', callLook('a')),
        tool(result('a', '')),
        assistant(''),
        user('Well?'),
      ),
      tools: [look],
    });
    expect(body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Go' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a' },
          { type: 'text', text: 'Well?' },
        ],
      },
    ]);
  });

  it('gives tool calls ids and arguments that this wire accepts, digit for digit', () => {
    const odd = 'functions.look:0';
    const { body, lost } = send({
      ...turns(
        user('Go'),
        assistant(
          callLook(odd, '{"id":12345678901234567890,"x":1.0}'),
          callLook('b', 'not json'),
          callLook('c', ''),
        ),
        tool(result(odd)),
      ),
      tools: [look],
    });
    const json = JSON.stringify(
      protocol.upstream.encodeRequest(
        {
          model: 'm',
          stream: false,
          turns: [assistant(callLook(odd, '{"id":12345678901234567890,"x":1.0}'))],
        },
        makeModel(),
        undefined,
      ).body,
    );
    expect(json).toContain('{"id":12345678901234567890,"x":1.0}');
    expect(body.messages).toMatchObject([
      {},
      { content: [{ id: 'toolu_ec0002042636dd8a' }, { input: { _raw: 'not json' } }, { input: {} }] },
      { content: [{ tool_use_id: 'toolu_ec0002042636dd8a' }] },
    ]);
    expect(lost).toEqual(['turns[1].blocks[1].arguments']);
  });

  it('marks failed results, and keeps pictures in results', () => {
    const image: Block = file('image', png, { mediaType: 'image/jpeg' });
    const { body } = send(
      turns(user('Go'), assistant(callLook('a')), tool(result('a', [text('x'), image], { isError: true }))),
    );
    // The type follows from the data: the provider refuses a wrong one.
    expect(body.messages).toMatchObject([
      {},
      {},
      {
        content: [
          {
            is_error: true,
            content: [
              { type: 'text', text: 'x' },
              { type: 'image', source: { media_type: 'image/png' } },
            ],
          },
        ],
      },
    ]);
  });

  it('keeps the last four cache marks, and reports the others and lifetimes this wire lacks', () => {
    const markText = (ttl?: '5m' | '30m' | '1h' | '12h'): Block => ({
      type: 'text',
      text: 'x',
      cache: { ttl },
    });
    const { body, lost } = send(
      turns(user(markText('1h'), markText(), markText('5m'), markText('30m'), markText('12h'))),
    );
    const marks = [
      {},
      { cache_control: { type: 'ephemeral' } },
      ...['5m', '5m', '1h'].map((ttl) => ({ cache_control: { type: 'ephemeral', ttl } })),
    ];
    expect(body.messages).toEqual([
      { role: 'user', content: marks.map((mark) => ({ type: 'text', text: 'x', ...mark })) },
    ]);
    expect(lost).toEqual([
      'turns[0].blocks[0].cache',
      'turns[0].blocks[3].cache.ttl',
      'turns[0].blocks[4].cache.ttl',
    ]);
  });
});

describe('a blank text of a client of this protocol', () => {
  const said = (content: unknown): Record<string, unknown>[] => [
    { role: 'user', content: 'Ahoy' },
    { role: 'assistant', content },
    {
      role: 'user',
      content: [
        { type: 'text', text: ' ' },
        { type: 'text', text: 'Go on.' },
      ],
    },
  ];

  it.each<[unknown, string[]]>([
    [[{ type: 'text', text: 'Ahoy' }], ['messages[2].content[0]']],
    [
      [
        { type: 'text', text: '' },
        { type: 'text', text: 'Ahoy' },
      ],
      ['messages[1].content[0]', 'messages[2].content[0]'],
    ],
    [' ', ['messages[1].content', 'messages[2].content[0]']],
  ])('is left out, since the provider refuses it, and reported: %j', (content, lost) => {
    const sent = sendOwn('messages', { model: 'a/b', max_tokens: 90, messages: said(content) });
    expect(JSON.stringify(sent.body)).not.toMatch(/"text":" ?"/);
    expect(sent.lost).toEqual(lost);
  });
});
