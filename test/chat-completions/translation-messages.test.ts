import { expect, it } from 'vitest';
import type { Turn } from '../../core/index.ts';
import { assistant, call, developer, file, result, system, text, tool, user } from '../support/turns.ts';
import { makeModel, encode, plainModel } from './bodies.ts';

function encodeMessages(...turns: Turn[]): unknown {
  return encode({ turns }).body.messages;
}

it('messages hold plain text as one string, however many blocks it has', () => {
  expect(encodeMessages(system('a', 'b'), assistant('c', 'd'))).toEqual([
    { role: 'system', content: 'a\n\nb' },
    { role: 'assistant', content: 'cd' },
  ]);
});

it('messages turn a developer into a system for providers without that role', () => {
  const turn: Turn = developer('a');
  expect(encodeMessages(turn)).toEqual([{ role: 'developer', content: 'a' }]);
  expect(encode({ turns: [turn] }, plainModel).body.messages).toEqual([{ role: 'system', content: 'a' }]);
});

it('messages hold documents as data, and text documents as text', () => {
  const document = (
    source: Extract<Turn['blocks'][number], { type: 'media' }>['source'],
    mediaType?: string,
  ): Turn => user(file('document', source, { mediaType, title: 'Tides' }));
  expect(encodeMessages(document({ type: 'base64', data: 'JVBE' }, 'application/pdf'))).toMatchObject([
    {
      content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'Tides' } }],
    },
  ]);
  expect(
    encodeMessages(document({ type: 'base64', data: Buffer.from('2 m').toString('base64') }, 'text/plain')),
  ).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
  expect(
    encodeMessages(
      document({ type: 'base64', data: Buffer.from('2 m').toString('base64') }, 'application/json'),
    ),
  ).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
  expect(encodeMessages(document(text('2 m')))).toMatchObject([{ content: 'Tides:\n\n2 m' }]);
});

it('messages let the user show the media of the assistant, after the results of its calls', () => {
  const image = file('image', 'iVBORw0KGgo=', { mediaType: 'image/png' });
  const { body, lost } = encode({
    turns: [
      assistant('Look.', { ...image, source: { ...image.source } }, call('c1')),
      tool(result('c1', 'r')),
    ],
  });
  expect(body.messages).toMatchObject([
    { role: 'assistant', content: 'Look.', tool_calls: [{ id: 'c1' }] },
    { role: 'tool', content: 'r' },
    {
      role: 'user',
      content: [
        { text: 'What the assistant showed:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      ],
    },
  ]);
  expect(lost).toEqual(['turns[0].blocks[1]']);
});

it('messages are refused if they lack content that the answer depends on', () => {
  const encodeTurn =
    (block: Turn['blocks'][number]): (() => unknown) =>
    () =>
      encodeMessages(user(block));
  expect(encodeTurn(file('video', 'https://x'))).toThrow(/no video/);
  expect(encodeTurn(file('document', { type: 'file', vendor: 'anthropic', id: 'file_1' }))).toThrow(
    /kept by anthropic/,
  );
});

it('messages hold a file id of OpenAI only for OpenAI', () => {
  const turns: Turn[] = [user(file('document', { type: 'file', vendor: 'openai', id: 'file-1' }))];
  expect(encode({ turns }).body.messages).toEqual([
    { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] },
  ]);
  expect(() =>
    encode(
      { turns },
      makeModel({
        id: 'mistralai/mistral-large',
        capabilities: { wire: { 'chat-completions': { extras: false } } },
      }),
    ),
  ).toThrow(/kept by openai/);
});
