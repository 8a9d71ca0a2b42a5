import { describe, expect, it } from 'vitest';
import type { Opaque, Turn } from '../../core/index.ts';
import { isObject } from '../support/json.ts';
import { ahoy, assistant, file, result, system, text, tool, user } from '../support/turns.ts';
import { makeModel, encode, called } from './bodies.ts';

function encodeInput(...turns: Turn[]): unknown {
  return encode({ turns }).body.input;
}

const seal = (vendor: string): Opaque => ({ vendor, kind: 'encrypted', value: 'c2VhbA==' });

it('the encoder of turns writes a turn as messages, calls and results, in order', () => {
  expect(
    encodeInput(
      system('Be brief.'),
      user('a', 'b'),
      assistant('c', called, 'd'),
      user(result('c1', '1'), 'Well?'),
    ),
  ).toEqual([
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'a' },
        { type: 'input_text', text: 'b' },
      ],
    },
    { role: 'assistant', content: 'c' },
    { type: 'function_call', name: 'f', call_id: 'c1', arguments: '{"n":1.0}' },
    { role: 'assistant', content: 'd' },
    { type: 'function_call_output', call_id: 'c1', output: '1' },
    { role: 'user', content: 'Well?' },
  ]);
});

it('the encoder of turns puts nothing between a call and its result if the assistant wrote no text', () => {
  const empty = user(result('c1', []));
  expect(encodeInput(assistant(called, ''), empty)).toMatchObject([
    { type: 'function_call' },
    { type: 'function_call_output' },
  ]);
  expect(encodeInput(ahoy, assistant(''), ahoy)).toMatchObject([{ role: 'user' }, { role: 'user' }]);
});

it("the encoder of turns keeps media inside a tool's result", () => {
  const chart = tool(
    result('c1', [
      text('A chart:'),
      file('image', 'AAAA', { mediaType: 'image/png' }),
      file('document', 'BBBB', { mediaType: 'application/pdf' }),
    ]),
  );
  expect(encodeInput(chart)).toEqual([
    {
      type: 'function_call_output',
      call_id: 'c1',
      output: [
        { type: 'input_text', text: 'A chart:' },
        { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AAAA' },
        { type: 'input_file', file_data: 'data:application/pdf;base64,BBBB', filename: 'document.pdf' },
      ],
    },
  ]);
});

it('the encoder of turns sends documents as data, as a URL, or as text if they are text', () => {
  const encodeDocument = (
    source: Extract<Turn['blocks'][number], { type: 'media' }>['source'],
    mediaType?: string,
  ): unknown => encodeInput(user(file('document', source, { mediaType, title: 'Tides' })));
  expect(encodeDocument({ type: 'url', url: 'https://a.example/t.pdf' })).toMatchObject([
    { content: [{ type: 'input_file', file_url: 'https://a.example/t.pdf' }] },
  ]);
  expect(
    encodeDocument({ type: 'base64', data: Buffer.from('2 m').toString('base64') }, 'text/plain'),
  ).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
  expect(
    encodeDocument({ type: 'base64', data: Buffer.from('2 m').toString('base64') }, 'application/json'),
  ).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
  expect(
    encodeDocument(
      { type: 'base64', data: Buffer.from('\ufeff2 m', 'utf16le').toString('base64') },
      'text/csv',
    ),
  ).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
  expect(encodeDocument(text('2 m'))).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
});

it("the encoder of turns sends an assistant's media as the user's, and reports it", () => {
  const { body, lost } = encode({
    turns: [ahoy, assistant('Here.', file('image', 'AAAA', { mediaType: 'image/png' })), ahoy],
  });
  expect(body.input).toMatchObject([
    {},
    { role: 'assistant', content: 'Here.' },
    {
      role: 'user',
      content: [{ type: 'input_text' }, { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }],
    },
    {},
  ]);
  expect(lost).toEqual(['turns[1].blocks[1]']);
});

it("the encoder of turns puts a document's context before the document", () => {
  const { body, lost } = encode({
    turns: [user(file('document', 'https://a.example/t.pdf', { context: 'Of May.' }))],
  });
  expect(body.input).toEqual([
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Of May.' },
        { type: 'input_file', file_url: 'https://a.example/t.pdf' },
      ],
    },
  ]);
  expect(lost).toEqual(['turns[0].blocks[0].context']);
});

it('the encoder of turns refuses a call if the answer would be worthless without lost content', () => {
  const encodeTurn =
    (block: Turn['blocks'][number]): (() => unknown) =>
    () =>
      encodeInput(user(block));
  expect(encodeTurn(file('video', 'https://x'))).toThrow(/no video/);
  expect(encodeTurn(file('document', { type: 'file', vendor: 'anthropic', id: 'file_1' }))).toThrow(
    /kept by anthropic/,
  );
});

it('the encoder of turns sends an OpenAI file to OpenAI, and to no other provider of this protocol', () => {
  const turns: Turn[] = [user(file('document', { type: 'file', vendor: 'openai', id: 'file-1' }))];
  expect(encode({ turns }).body.input).toEqual([
    { role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] },
  ]);
  expect(() => encode({ turns }, makeModel({ id: 'xai/grok-4.3' }))).toThrow(/kept by openai/);
});

it('the encoder of turns shortens a long call id in the same way on the call and its result', () => {
  const id = `toolu_${'x'.repeat(100)}`;
  const read = encodeInput(assistant({ ...called, id }), tool(result(id, [])));
  const [first, second]: unknown[] = Array.isArray(read) ? read : [];
  const ids = [first, second].map((item) => (isObject(item) ? String(item.call_id) : ''));
  expect(ids[0]).toBe(ids[1]);
  expect(ids[0]?.length).toBeLessThanOrEqual(64);
});

it('the encoder of turns writes the call and the result of a custom tool as items of their own types', () => {
  expect(
    encodeInput(assistant({ ...called, custom: true, arguments: 'free text' }), tool(result('c1', 'x'))),
  ).toEqual([
    { type: 'custom_tool_call', name: 'f', call_id: 'c1', input: 'free text' },
    { type: 'custom_tool_call_output', call_id: 'c1', output: 'x' },
  ]);
});

describe('sealed reasoning', () => {
  const turns = (...opaque: Opaque[]): Turn[] => [
    ahoy,
    assistant({ type: 'reasoning', text: 'hm', ...(opaque.length > 0 ? { opaque } : {}) }, 'a'),
    ahoy,
  ];

  it('goes back byte for byte to the vendor that wrote it', () => {
    const { body, lost } = encode({ turns: turns(seal('openai')) });
    expect(body.input).toEqual([
      { role: 'user', content: 'Ahoy' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'c2VhbA==' },
      { role: 'assistant', content: 'a' },
      { role: 'user', content: 'Ahoy' },
    ]);
    expect(lost).toEqual([]);
  });

  it.each([[[seal('anthropic')]], [[]]])(
    'is dropped and reported if another vendor sealed it, or none did: %j',
    (opaque) => {
      const { body, lost } = encode({ turns: turns(...opaque) });
      expect(JSON.stringify(body)).not.toContain('hm');
      expect(lost).toEqual(['turns[1].blocks[0]']);
    },
  );

  it('does not go back without the item that followed it', () => {
    const { body, lost } = encode({
      turns: [
        ahoy,
        assistant(
          'a',
          { type: 'reasoning', text: '', opaque: [seal('openai')] },
          { type: 'foreign', protocol: 'messages', value: {} },
        ),
        ahoy,
      ],
    });
    expect(body.input).toEqual([
      { role: 'user', content: 'Ahoy' },
      { role: 'assistant', content: 'a' },
      { role: 'user', content: 'Ahoy' },
    ]);
    expect(lost).toEqual(['turns[1].blocks[2]', 'turns[1].blocks[1]']);
  });

  it('is reported as lost if it is the signature of a call', () => {
    const { body, lost } = encode({
      turns: [ahoy, assistant({ ...called, opaque: [{ vendor: 'google', kind: 'signature', value: 'x' }] })],
    });
    expect(body.input).toMatchObject([{}, { type: 'function_call' }]);
    expect(lost).toEqual(['turns[1].blocks[0].opaque']);
  });
});
