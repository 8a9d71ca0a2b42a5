import { describe, expect, it } from 'vitest';
import { checkUrlPath } from '../../plugins/shared/cloud/address.ts';

describe('a model name in a URL path', () => {
  it.each(['gemini-3-pro', 'tunedModels/my-model', 'a.b_c~d'])('takes %s unchanged', (name) => {
    expect(checkUrlPath(name)).toBe(name);
  });

  it.each([
    '../files',
    'a/../b',
    'a//b',
    '/a',
    'a/',
    '',
    '.',
    'a?b',
    'a#b',
    'a%2fb',
    'a:b',
    'a b',
    'a\\b',
    'ü',
  ])('refuses the name %j', (name) => {
    expect(() => checkUrlPath(name)).toThrow(/cannot be part of a URL/);
  });
});
