import { describe, expect, it } from 'vitest';
import { readNamedTexts, readTexts } from '../../plugins/meters/balance/rows.ts';

describe('texts stored as JSON', () => {
  it('are read as they were written', () => {
    expect(readTexts({ models: '["demo/*","openai/gpt-5"]' }, 'models')).toEqual(['demo/*', 'openai/gpt-5']);
    expect(readNamedTexts({ headers: '{"content-type":"text/plain"}' }, 'headers')).toEqual({
      'content-type': 'text/plain',
    });
  });

  it.each(['{}', '"demo/*"', '[1]', '["demo/*",null]'])(
    'throw if the column holds %s instead of a list',
    (models) => {
      expect(() => readTexts({ models }, 'models')).toThrow('column models');
    },
  );

  it.each(['[1]', 'null', '"text"', '{"age":1}'])(
    'throw if the column holds %s instead of an object of texts',
    (headers) => {
      expect(() => readNamedTexts({ headers }, 'headers')).toThrow('column headers');
    },
  );
});
