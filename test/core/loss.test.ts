import { expect, it } from 'vitest';
import {
  boundLosses,
  toClientPath,
  encodeInClientWords,
  formatPaths,
  toLossError,
  type Loss,
} from '../../core/loss.ts';
import { GatewayError } from '../../core/util/errors.ts';

it('a loss report names each lost field by its path', () => {
  expect(formatPaths(['tools[2].strict', 'messages[0].name'])).toBe('tools[2].strict,messages[0].name');
});

it('the loss header stops at 2 kB and counts the rest', () => {
  const losses = Array.from({ length: 300 }, (_, index) => ({
    path: `messages[${index}].name`,
    reason: 'no names',
    code: 'unsupported' as const,
  }));
  const header = formatPaths(losses.map(({ path }) => path));
  const named = header.split(',').length - 1;
  expect(Buffer.byteLength(header)).toBeLessThanOrEqual(2048 + 5);
  expect(header.endsWith(`,+${300 - named}`)).toBe(true);
});

it('a loss report lists each path once, at most a thousand, and counts the others', () => {
  const buildLoss = (path: string): Loss => ({ path, reason: 'no place for it', code: 'unsupported' });
  expect(boundLosses(['a', 'b', 'a'].map(buildLoss))).toEqual([buildLoss('a'), buildLoss('b')]);
  const many = boundLosses(Array.from({ length: 60_000 }, (_, index) => buildLoss(`x_${index}`)));
  expect(many.slice(999)).toEqual([
    buildLoss('x_999'),
    { path: '+59000', reason: '59000 more are not listed', code: 'unsupported' },
  ]);
  const header = formatPaths(many.map(({ path }) => path));
  expect(header.endsWith(`,+${60_000 - (header.split(',').length - 1)}`)).toBe(true);
});

it('the loss header has only the count if the first path is too long', () => {
  expect(formatPaths(['x'.repeat(3000), 'seed'])).toBe('+2');
});

it('the loss header escapes a path that would break it or look like two', () => {
  expect(formatPaths(['a\r\nset-cookie: b é'])).toBe('a??set-cookie:?b??');
  expect(formatPaths(['a,b'])).toBe('a?b');
});

it('a refusal for losses names the first lost field', () => {
  expect(toLossError([{ path: 'seed', reason: 'no seed there', code: 'unsupported' }], 'a/b')).toMatchObject({
    code: 'unsupported_parameter',
    details: { param: 'seed' },
  });
});

it("a loss report uses the client's own path", () => {
  const request = {
    model: 'a/b',
    stream: false,
    turns: [
      {
        role: 'user' as const,
        at: 'messages[4]',
        blocks: [
          { type: 'text' as const, text: '', at: 'messages[4].content[1]' },
          { type: 'text' as const, text: '' },
        ],
      },
    ],
  };
  const names = { topP: 'top_p', outputLimit: 'max_tokens', 'logprobs.top': 'top_logprobs' };
  const messages = [
    'turns[0].blocks[0].cache',
    'turns[0].blocks[1].cache',
    'turns[0].name',
    'topP',
    'logprobs.top',
    'seed',
  ].map((path) => toClientPath(path, request, names));
  expect(messages).toEqual([
    'messages[4].content[1].cache',
    'messages[4].blocks[1].cache',
    'messages[4].name',
    'top_p',
    'top_logprobs',
    'seed',
  ]);
});

it("a refused field has the client's own name", () => {
  const refuse = (param: string) => (): never => {
    throw new GatewayError('unsupported_parameter', 'no', { param });
  };
  const names = { candidates: 'n', tools: 'offers' };
  expect(() => encodeInClientWords(refuse('candidates'), names)).toThrow(
    expect.objectContaining({
      code: 'unsupported_parameter',
      details: expect.objectContaining({ param: 'n' }),
    }),
  );
  expect(() => encodeInClientWords(refuse('tools[0].x'), names)).toThrow(
    expect.objectContaining({ details: { param: 'tools[0].x' } }),
  );
  expect(encodeInClientWords(() => 1, names)).toBe(1);
});
