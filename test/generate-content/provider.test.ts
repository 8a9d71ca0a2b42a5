import { describe, expect, it } from 'vitest';
import { urlPath } from '../../plugins/shared/wire-kit/url-path.ts';

describe('a name that becomes part of an address', () => {
  it.each(['gemini-3-pro', 'tunedModels/my-model', 'a.b_c~d'])('%s may be one', (name) => {
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
  ])('%j may not', (name) => {
    expect(() => urlPath(name)).toThrow(/cannot be part of a URL/);
  });
});
