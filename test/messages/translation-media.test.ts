import { describe, expect, it } from 'vitest';
import type { Block } from '../../core/index.ts';
import { sendOwn } from '../support/families.ts';
import { file, text, user } from '../support/turns.ts';
import { send, turns } from './bodies.ts';

describe('a conversation from another protocol', () => {
  it.each<[Block, object]>([
    [
      file('image', 'https://a.example/x'),
      { type: 'image', source: { type: 'url', url: 'https://a.example/x' } },
    ],
    [
      file('document', 'JVBERi0x', { filename: 'a.pdf' }),
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' },
        title: 'a.pdf',
      },
    ],
    [
      file('document', 'YWhveQ==', { mediaType: 'text/csv' }),
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ahoy' } },
    ],
    [
      file('document', { type: 'file', vendor: 'anthropic', id: 'f1' }),
      { type: 'document', source: { type: 'file', file_id: 'f1' } },
    ],
    [{ type: 'refusal', text: 'No.' }, text('No.')],
  ])("sends %j in this wire's form", (block, wire) => {
    expect(send(turns(user(block))).body.messages).toEqual([{ role: 'user', content: [wire] }]);
  });

  it.each<[Block, RegExp]>([
    [file('video', 'https://a.example/x', { at: 'contents[0].parts[1]' }), /accepts no video/],
    [file('audio', 'x', { at: 'contents[0].parts[1]' }), /accepts no audio/],
    [file('image', 'Qk0=', { mediaType: 'image/bmp', at: 'contents[0].parts[1]' }), /JPEG, PNG, GIF or WebP/],
    [file('image', 'gs://x', { at: 'contents[0].parts[1]' }), /https URLs/],
    [
      file('document', { type: 'file', vendor: 'openai', id: 'f1' }, { at: 'contents[0].parts[1]' }),
      /kept by openai/,
    ],
    [file('document', 'UEs=', { mediaType: 'application/zip', at: 'contents[0].parts[1]' }), /PDF or text/],
  ])("refuses %j by the client's name for it", (block, message) => {
    expect(() => send(turns(user(block)))).toThrow(
      expect.objectContaining({
        code: 'unsupported_parameter',
        message: expect.stringMatching(message),
        details: { param: 'contents[0].parts[1]' },
      }),
    );
  });
});

describe('a conversation from this protocol', () => {
  const texts = [text('Ann wrote this.'), text('Bob did not.')];

  it.each([
    { type: 'search_result', source: 'https://a.example', title: 'Letters', content: texts },
    { type: 'document', source: { type: 'content', content: texts }, title: 'Letters' },
  ])('sends a $type of several texts as it came, or as a plugin changed it', (document) => {
    const wire = { model: 'a/b', max_tokens: 90, messages: [{ role: 'user', content: [document] }] };
    const sendChanged = (change: (written: string) => string): unknown =>
      sendOwn('messages', wire, {
        change: (request) => ({
          ...request,
          turns: request.turns.map((turn) => ({
            ...turn,
            blocks: turn.blocks.map((block) =>
              block.type === 'media' && block.source.type === 'text'
                ? { ...block, source: { type: 'text' as const, text: change(block.source.text) } }
                : block,
            ),
          })),
        }),
      }).body.messages;
    expect(sendChanged((written) => written)).toEqual([{ role: 'user', content: [document] }]);
    const changed = JSON.stringify(sendChanged((written) => written.replace('Ann', 'Somebody')));
    expect(changed).toContain('Somebody wrote this.');
    expect(changed).not.toContain('Ann');
  });
});
