/** A call that is answered twice has one result: the last of them, in the place of the first. */
import { expect, it } from 'vitest';
import { completeToolResults, dedupeToolResults } from '../../core/crossing/tool-results.ts';
import type { Block, Turn } from '../../core/index.ts';

const call = (id: string): Turn => ({
  role: 'assistant',
  blocks: [{ type: 'tool-call', id, name: 'look', arguments: '{}' }],
});
const result = (callId: string, text: string, at = text): Block => ({
  type: 'tool-result',
  callId,
  content: [{ type: 'text', text }],
  at,
});
const user = (...blocks: Block[]): Turn => ({ role: 'user', blocks });

function dedupeTurns(...turns: Turn[]): { results: unknown[]; roles: string[]; lost: string[] } {
  const { request, losses } = dedupeToolResults({ model: 'a/b', stream: false, turns });
  const results = request.turns.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.type === 'tool-result' ? block.at : [])),
  );
  return { results, roles: request.turns.map(({ role }) => role), lost: losses.map(({ path }) => path) };
}

it('the last of several results of a call takes the place of the first; others are reported', () => {
  expect(
    dedupeTurns(
      call('a'),
      user(result('a', 'one')),
      user(result('a', 'two')),
      user({ type: 'text', text: 'Well?' }, result('a', 'three')),
    ),
  ).toEqual({
    results: ['three'],
    roles: ['assistant', 'user', 'user'],
    lost: ['one', 'two'],
  });
});

it('a call id that a later reply uses again is another call, also among parallel calls', () => {
  const turns = [
    call('a'),
    call('a'),
    user(result('a', 'one'), result('a', 'two')),
    call('a'),
    user(result('a', 'three')),
  ];
  expect(dedupeTurns(...turns)).toMatchObject({ results: ['one', 'two', 'three'], lost: [] });
  expect(dedupeTurns(...turns, user(result('a', 'four')))).toMatchObject({
    results: ['one', 'two', 'four'],
    lost: ['three'],
  });
});

it('a request without duplicate results is returned unchanged', () => {
  const request = {
    model: 'a/b',
    stream: false,
    turns: [call('a'), user(result('a', 'one'), result('b', 'two')), { role: 'user' as const, blocks: [] }],
  };
  expect(dedupeToolResults(request).request).toBe(request);
});

const say = (text: string): Block => ({ type: 'text', text });
const listKinds = (...turns: Turn[]): unknown => {
  const { request, losses } = completeToolResults({ model: 'a/b', stream: false, turns });
  return [
    request.turns.map(({ role, blocks }) => [
      role,
      ...blocks.map((block) =>
        block.type === 'tool-result' ? `${block.callId}${block.custom ? ' custom' : ''}` : block.type,
      ),
    ]),
    losses.length,
  ];
};

it('another protocol gets a result for each unanswered call, before the existing results', () => {
  const custom: Turn = {
    role: 'assistant',
    blocks: [{ type: 'tool-call', id: 'c', name: 'patch', arguments: '', custom: true }],
  };
  expect(listKinds(call('a'), call('b'), custom, user(result('b', 'one')), user(say('Well?')))).toEqual([
    [
      ['assistant', 'tool-call'],
      ['assistant', 'tool-call'],
      ['assistant', 'tool-call'],
      ['tool', 'a', 'c custom'],
      ['user', 'b'],
      ['user', 'text'],
    ],
    2,
  ]);
});

it('another protocol gets a call for each result without one, in its own turn or in its step', () => {
  expect(listKinds(user(result('x', 'lost')), user(say('Well?')))).toEqual([
    [
      ['assistant', 'tool-call'],
      ['user', 'x'],
      ['user', 'text'],
    ],
    1,
  ]);
  const step = [call('a'), user(result('a', 'one')), user(result('x', 'lost')), user(result('b', 'two'))];
  expect(listKinds(...step, call('b'))).toEqual([
    [
      ['assistant', 'tool-call', 'tool-call', 'tool-call'],
      ['user', 'a'],
      ['user', 'x'],
      ['user', 'b'],
      ['assistant', 'tool-call'],
    ],
    2,
  ]);
  expect(listKinds(call('a'), user(result('a', 'one')), user(say('So?')), user(result('x', 'lost')))).toEqual(
    [
      [
        ['assistant', 'tool-call'],
        ['user', 'a'],
        ['user', 'text'],
        ['assistant', 'tool-call'],
        ['user', 'x'],
      ],
      1,
    ],
  );
});

it('another protocol gets results outside the model turn that contained them', () => {
  const turn: Turn = {
    role: 'assistant',
    blocks: [...call('a').blocks, result('a', 'one'), say('Done.')],
  };
  expect(listKinds(turn, user(say('And?')))).toEqual([
    [
      ['assistant', 'tool-call'],
      ['tool', 'a'],
      ['assistant', 'text'],
      ['user', 'text'],
    ],
    0,
  ]);
});

it('another protocol gets two ids for two calls with one id', () => {
  expect(
    listKinds(call('a'), call('a'), user(result('a', 'one'), result('a', 'two')), user(say('x'))),
  ).toMatchObject({ 1: 0 });
  expect(listKinds(call('a'), user(result('a', 'one')), call('a'), user(say('x')))).toMatchObject({ 1: 1 });
});

it('another protocol gets a request unchanged if nothing is missing or the call comes last', () => {
  const request = {
    model: 'a/b',
    stream: false,
    turns: [call('a'), user(result('a', 'one')), user(say('x'))],
  };
  expect(completeToolResults(request).request).toBe(request);
  expect(listKinds(user(say('x')), call('a'))).toEqual([
    [
      ['user', 'text'],
      ['assistant', 'tool-call'],
    ],
    0,
  ]);
});
