import { describe, expect, it } from 'vitest';
import type { Block, Turn } from '../../core/index.ts';
import { readCases } from '../support/cases.ts';
import { call, assistant, file, result, text, tool, user } from '../support/turns.ts';
import { older, encode } from './bodies.ts';
import { encodeParts } from './encoded.ts';

const cases = readCases<readonly [block: Block, parts: unknown[], lost: string[]][]>(
  'translation-files.json',
  import.meta.url,
);

const image = file('image', 'iVBORw0KGgo=', { mediaType: 'image/png' });

describe('encoding files', () => {
  it.each(cases)('encodes the file %j', (block, parts, lost) => {
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
