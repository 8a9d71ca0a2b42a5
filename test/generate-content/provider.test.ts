import { describe, expect, it } from 'vitest';
import { urlPath } from '../../plugins/shared/wire-kit/url-path.ts';

describe('a model name in a URL path', () => {
  it.each(['gemini-3-pro', 'tunedModels/my-model', 'a.b_c~d'])('takes %s unchanged', (name) => {
    expect(urlPath(name)).toBe(name);
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
  ])('refuses %j', (name) => {
    expect(() => urlPath(name)).toThrow(/cannot be part of a URL/);
  });
});
