import { expect, it } from 'vitest';
import { readNamedTexts, readTexts } from '../../plugins/meters/balance/rows.ts';

it('texts stored as JSON are read as they were written', () => {
  expect(readTexts({ models: '["demo/*","openai/gpt-5"]' }, 'models')).toEqual(['demo/*', 'openai/gpt-5']);
  expect(readNamedTexts({ headers: '{"content-type":"text/plain"}' }, 'headers')).toEqual({
    'content-type': 'text/plain',
  });
});

it.each(['{}', '"demo/*"', '[1]', '["demo/*",null]'])(
  'texts stored as JSON throw if the column holds %s instead of a list',
  (models) => {
    expect(() => readTexts({ models }, 'models')).toThrow('column models');
  },
);

it.each(['[1]', 'null', '"text"', '{"age":1}'])(
  'texts stored as JSON throw if the column holds %s instead of an object of texts',
  (headers) => {
    expect(() => readNamedTexts({ headers }, 'headers')).toThrow('column headers');
  },
);
