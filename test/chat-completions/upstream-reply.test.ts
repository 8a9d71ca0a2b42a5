import { expect, it } from 'vitest';
import { fold, type Folded } from '../contract/replies.ts';
import { makeCall } from './bodies.ts';
import { upstream } from './upstream-events.ts';

it.each([[null], ['text'], [[]], [{}], [{ object: 'list', data: [] }], [{ error: null }]])(
  'a whole reply is refused if it is %j',
  (body) => {
    expect(() => upstream.decodeReply(body, makeCall())).toThrow(/not a chat completion/);
  },
);

it('a whole reply may be an error with status 200', () => {
  expect(upstream.decodeReply({ error: { code: 502, message: 'gone' } }, makeCall())).toMatchObject([
    { type: 'error', message: 'gone', code: '502', status: 502, meaning: 'upstream_failed' },
  ]);
});

it('a whole reply is complete without a finish reason if it has content', () => {
  const decodeWhole = (choice: object, more: object = {}): Folded =>
    fold(
      upstream.decodeReply(
        { choices: [{ index: 0, finish_reason: null, ...choice }], ...more },
        makeCall({ max_tokens: 9 }),
      ),
    );
  expect(decodeWhole({ message: { content: 'a' } })).toMatchObject({
    complete: true,
    candidates: { 0: { text: 'a', reason: 'stop' } },
  });
  expect(
    decodeWhole({ message: { content: 'a' } }, { usage: { prompt_tokens: 1, completion_tokens: 9 } })
      .candidates[0]?.reason,
  ).toBe('length');
  expect(
    decodeWhole({ message: { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] } })
      .candidates[0]?.reason,
  ).toBe('tool-calls');
  expect(decodeWhole({ message: { content: null } }).complete).toBe(false);
  expect(fold(upstream.decodeReply({ choices: [] }, makeCall())).complete).toBe(false);
});

it('a whole reply fails if a choice has no message, unless it was filtered', () => {
  const decodeWhole = (choice: object): Folded =>
    fold(upstream.decodeReply({ choices: [{ index: 0, ...choice }] }, makeCall()));
  expect(decodeWhole({ message: null, finish_reason: 'stop' })).toMatchObject({
    complete: false,
    error: 'it sent a choice without a message.',
  });
  expect(decodeWhole({ finish_reason: 'content_filter' })).toMatchObject({
    complete: true,
    candidates: { 0: { reason: 'content-filter' } },
  });
});
