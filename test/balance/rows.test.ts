import { describe, expect, it } from 'vitest';
import { namedTexts, texts } from '../../plugins/meters/balance/rows.ts';

describe('texts kept as JSON', () => {
  it('are read as they were written', () => {
    expect(texts({ models: '["demo/*","openai/gpt-5"]' }, 'models')).toEqual(['demo/*', 'openai/gpt-5']);
    expect(namedTexts({ headers: '{"content-type":"text/plain"}' }, 'headers')).toEqual({
      'content-type': 'text/plain',
    });
  });

  it.each(['{}', '"demo/*"', '[1]', '["demo/*",null]'])('are no list where %s stands', (models) => {
    expect(() => texts({ models }, 'models')).toThrow('column models');
  });

  it.each(['[1]', 'null', '"text"', '{"age":1}'])('have no names where %s stands', (headers) => {
    expect(() => namedTexts({ headers }, 'headers')).toThrow('column headers');
  });
});
