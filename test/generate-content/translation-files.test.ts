import { describe, expect, it } from 'vitest';
import type { Block, Turn } from '../../core/index.ts';
import { call, assistant, file, result, text, tool, user } from '../support/turns.ts';
import { older, encode } from './bodies.ts';
import { encodeParts } from './encoded.ts';

const image = file('image', 'iVBORw0KGgo=', { mediaType: 'image/png' });

describe('encoding files', () => {
  it.each<[block: Block, parts: unknown[], lost: string[]]>([
    [
      { ...image, detail: 'low' },
      [
        {
          inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' },
          mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' },
        },
      ],
      [],
    ],
    [
      { ...image, detail: 'original' },
      [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
      ['turns[0].blocks[0].detail'],
    ],
    [{ ...image, detail: 'auto' }, [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }], []],
    [
      file('image', 'https://x.example/a.JPG?b'),
      [{ fileData: { mimeType: 'image/jpeg', fileUri: 'https://x.example/a.JPG?b' } }],
      [],
    ],
    [
      file('document', 'JVBE', { mediaType: 'application/pdf', filename: 'tides.pdf' }),
      [{ text: 'tides.pdf:' }, { inlineData: { mimeType: 'application/pdf', data: 'JVBE' } }],
      [],
    ],
    [file('document', text('2 m'), { title: 'Tides' }), [{ text: 'Tides:\n\n2 m' }], []],
    [
      file('video', { type: 'file', vendor: 'google', id: 'gs://b/v.mp4' }, { mediaType: 'video/mp4' }),
      [{ fileData: { mimeType: 'video/mp4', fileUri: 'gs://b/v.mp4' } }],
      [],
    ],
    [
      { ...image, cache: {} },
      [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
      ['turns[0].blocks[0].cache'],
    ],
  ])('encodes the file %j', (block, parts, lost) => {
    const encoded = encode({ turns: [user(block)] });
    expect(encoded).toEqual({ body: { contents: [{ role: 'user', parts }] }, lost });
  });

  it('sends a resolution only to models that take one', () => {
    expect(encode({ turns: [user({ ...image, detail: 'low' })] }, older).lost).toEqual([
      'turns[0].blocks[0].detail',
    ]);
  });

  it('refuses the call if a file is stored at another vendor', () => {
    expect(() =>
      encode({
        turns: [user({ ...image, source: { type: 'file', vendor: 'openai', id: 'file-1' } })],
      }),
    ).toThrow(/kept by openai/);
  });

  it("puts a tool's files in its result, or after all results if the model takes none there", () => {
    const turns: Turn[] = [
      user('Draw.'),
      assistant(call('c1'), call('c2')),
      tool(result('c1', 'A chart:', { content: [text('A chart:'), image] })),
      tool(result('c2')),
    ];
    const inline = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
    expect(encodeParts(turns).slice(3)).toEqual([
      { functionResponse: { id: 'c1', name: 'f', response: { output: 'A chart:' }, parts: [inline] } },
      { functionResponse: { id: 'c2', name: 'f', response: { output: 'ok' } } },
    ]);
    expect(encodeParts(turns, older).slice(3)).toEqual([
      { functionResponse: { id: 'c1', name: 'f', response: { output: 'A chart:\n\nSee file 1.' } } },
      { functionResponse: { id: 'c2', name: 'f', response: { output: 'ok' } } },
      { text: 'This is file 1:' },
      inline,
    ]);
  });

  it('leaves out how finely to look at a file in a result, and reports that', () => {
    const chart = { ...image, detail: 'high' };
    const { body, lost } = encode({
      turns: [user('Draw.'), assistant(call('c1')), tool(result('c1', '', { content: [chart] }))],
    });
    expect([JSON.stringify(body).includes('mediaResolution'), lost]).toEqual([
      false,
      ['turns[2].blocks[0].content[0].detail'],
    ]);
  });
});
